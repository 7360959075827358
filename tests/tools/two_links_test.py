"""The two links of the kernel library hold the same functions, placed differently.

Usage: two_links_test.py NM LIBRARY RELINKED
"""

import subprocess
import sys
import unittest

RELINKED, LIBRARY, NM = (sys.argv.pop() for _ in range(3))


def exported(library):
    """name -> (kind, address, size) of each symbol that the library defines for others."""
    lines = subprocess.run([NM, "--dynamic", "--defined-only", "--format=posix", library],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    rows = (line.split() for line in lines)
    return {row[0]: (row[1], int(row[2], 16), int(row[3], 16) if len(row) > 3 else 0) for row in rows}


class TwoLinks(unittest.TestCase):
    def setUp(self):
        self.first, self.second = exported(LIBRARY), exported(RELINKED)
        self.functions = [name for name, (kind, _, _) in self.first.items() if kind in "TW"]
        self.assertGreater(len(self.functions), 10)

    def test_same_symbols_of_the_same_size(self):
        def without_address(symbols):
            return {name: (kind, size) for name, (kind, _, size) in symbols.items()}
        self.assertEqual(without_address(self.first), without_address(self.second))

    def test_functions_stand_in_another_order(self):
        def by_address(symbols):
            return sorted(self.functions, key=lambda name: (symbols[name][1], name))
        self.assertFalse(by_address(self.first) == by_address(self.second), "both links have one order")

    def test_code_has_moved_against_cache_lines_and_pages(self):
        shifts = {self.second[name][1] - self.first[name][1] for name in self.functions}
        self.assertGreater(len(shifts), 3, "the second link is the first, shifted as a whole")
        moved = sum(self.second[name][1] % 4096 != self.first[name][1] % 4096 for name in self.functions)
        self.assertGreater(moved, 0.9 * len(self.functions))


if __name__ == "__main__":
    unittest.main()
