"""cmake/relink.cmake lists every object once, with filler between them, whatever the folder is called.

Usage: relink_test.py CMAKE COMPILER
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "cmake/relink.cmake"
COMPILER, CMAKE = (sys.argv.pop() for _ in range(2))
NAMES = [f"part_{i}.o" for i in range(8)]


class Relink(unittest.TestCase):
    def order(self, name, seed=1):
        """The names of the objects in the order that the script gives them in a folder called `name`."""
        with tempfile.TemporaryDirectory() as parent:
            folder = pathlib.Path(parent, name)
            out = folder / "out"
            out.mkdir(parents=True)
            objects = [folder / name for name in NAMES]
            (folder / "objects.txt").write_text("".join(f"{path}\n" for path in objects))
            subprocess.run([CMAKE, "-D", f"OBJECTS={folder}/objects.txt", "-D", f"ROOT={folder}", "-D", f"DIR={out}",
                            "-D", f"SEED={seed}", "-D", f"COMPILER={COMPILER}", "-P", SCRIPT],
                           check=True, capture_output=True, timeout=60)
            lines = (out / "order.rsp").read_text().splitlines()
            listed = [pathlib.Path(line.strip('"')) for line in lines]
            self.assertEqual(sorted(listed[0::2]), objects)
            self.assertEqual(listed[1::2], [out / f"filler_{i}.o" for i in range(len(NAMES))])
            for filler in listed[1::2]:
                self.assertTrue(filler.exists(), filler)
            return [path.name for path in listed[0::2]]

    def test_the_order_is_that_of_the_seed_in_every_folder(self):
        plain = self.order("plain")
        self.assertNotEqual(plain, NAMES)
        self.assertEqual(self.order("sp ace ü"), plain)
        self.assertNotEqual(self.order("plain", seed=2), plain)


if __name__ == "__main__":
    unittest.main()
