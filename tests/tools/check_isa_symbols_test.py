"""Compiles files for a wider instruction set with and without a leak; tools/check_isa_symbols must tell them apart.

Usage: check_isa_symbols_test.py COMPILER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "check_isa_symbols"
COMPILER = sys.argv.pop()

LEAKING = """
#include <algorithm>
namespace pagoda::PAGODA_ISA {
float Least(const float* x, int n) {
  float least = x[0];
  for (int i = 1; i < n; ++i) least = std::min(least, x[i]);
  return least;
}
}
"""
TIGHT = """
namespace pagoda::PAGODA_ISA {
struct Table { virtual ~Table() {} virtual float Least(const float* x, int n) const = 0; };
template <typename T> inline T Min(T a, T b) { static T bias = T(0) * a; return bias + (a < b ? a : b); }
struct Kernels : Table {
  float Least(const float* x, int n) const override {
    auto least = [&] { float m = x[0]; for (int i = 1; i < n; ++i) m = Min(m, x[i]); return m; };
    return least();
  }
};
Table* Make() { return new Kernels; }
}
"""


class IsaSymbols(unittest.TestCase):
    def check(self, source, *flags):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "x.cc").write_text(source)
            command = [COMPILER, "-std=c++20", "-O0", *flags, "-c", "x.cc", "-o", "x.o"]
            subprocess.run(command, cwd=build, check=True)
            entry = {"directory": folder, "file": "x.cc", "arguments": command}
            (build / "compile_commands.json").write_text(json.dumps([entry]))
            return subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True)

    def test_a_shared_inline_function_is_a_leak(self):
        run = self.check(LEAKING, "-mavx2", "-DPAGODA_ISA=avx2")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("_ZSt3minIfE", run.stdout)
        self.assertIn("outside pagoda::avx2", run.stdout)

    def test_what_stays_in_its_namespace_is_none(self):
        run = self.check(TIGHT, "-mavx2", "-DPAGODA_ISA=avx2")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("1 objects are built for a wider instruction set, 0 symbols leak", run.stdout)

    def test_another_isas_namespace_does_not_count(self):
        run = self.check(TIGHT.replace("PAGODA_ISA", "avx2"), "-mavx512f", "-DPAGODA_ISA=avx512")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)

    def test_without_a_namespace_every_weak_symbol_leaks(self):
        self.assertEqual(self.check(TIGHT.replace("::PAGODA_ISA", ""), "-mavx2").returncode, 1)

    def test_the_base_flags_may_share(self):
        run = self.check(LEAKING, "-DPAGODA_ISA=scalar")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("0 objects", run.stdout)


if __name__ == "__main__":
    unittest.main()
