"""Plants includes that break a rule of tools/check_includes, and some that don't."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "check_includes"
loader = importlib.machinery.SourceFileLoader("check_includes", str(TOOL))
check_includes = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_includes", loader))
sys.dont_write_bytecode = True
loader.exec_module(check_includes)


class Arrows(unittest.TestCase):
    def refuses(self, path, *includes):
        for included in includes:
            self.assertIsNotNone(check_includes.complaint(path, included), f"{path} -> {included}")

    def allows(self, path, *includes):
        for included in includes:
            self.assertIsNone(check_includes.complaint(path, included), f"{path} -> {included}")

    def test_public_headers_know_nothing_of_src(self):
        path = "include/pagoda/tensor.h"
        self.refuses(path, "base/buffer.h", "engine/kv/page_table.h", "fmt/format.h", "nlohmann/json.hpp")
        self.allows(path, "pagoda/status.h", "cstdint")

    def test_base_knows_only_itself(self):
        self.refuses("src/base/buffer.cc", "engine/simd/isa.h", "judge/stats/ranks.h", "app/subjects/attention_subject.h")
        self.allows("src/base/io/json.cc", "base/buffer.h", "pagoda/status.h", "nlohmann/json.hpp")

    def test_towers_never_meet(self):
        self.refuses("src/engine/attention/oracle.cc", "judge/stats/ranks.h", "app/subjects/attention_subject.h")
        self.refuses("src/judge/bench/protocol.cc", "engine/attention/variant.h", "app/subjects/attention_subject.h")
        self.allows("src/app/subjects/softmax.cc", "engine/attention/variant.h", "judge/bench/subject.h")

    def test_report_cannot_measure(self):
        self.refuses("src/judge/report/terminal.cc", "judge/bench/protocol.h", "judge/stats/ranks.h")
        self.allows("src/judge/report/terminal.cc", "judge/verdict/case.h")
        self.refuses("src/judge/verdict/case.cc", "judge/bench/suite.h", "judge/report/terminal.h")
        self.refuses("src/judge/stats/ranks.cc", "judge/record/record.h")
        self.refuses("src/judge/bench/gate.cc", "judge/verdict/case.h")

    def test_arrows_inside_the_engine(self):
        self.refuses("src/engine/graph/ring.cc", "engine/attention/variant.h")
        self.refuses("src/engine/kv/page_table.cc", "engine/simd/isa.h")
        self.refuses("src/engine/model/decoder.cc", "engine/ops/norm.h", "engine/attention/variant.h")
        self.allows("src/engine/attention/softmax/unroll.cc", "engine/graph/ring.h", "engine/attention/variant.h",
                    "base/sys/clock.h", "hwy/highway.h")
        self.allows("src/engine/model/decoder.cc", "engine/dispatch/table.h", "engine/kv/prefix_cache.h")

    def test_a_folder_without_arrows_is_told(self):
        self.refuses("src/engine/newcomer/x.cc", "engine/kv/page_table.h")

    def test_no_climbing(self):
        self.refuses("src/engine/kv/page_table.cc", "../simd/isa.h")
        self.refuses("tests/engine/kv/page_table_test.cc", "../../support.h")

    def test_heavy_and_system_headers_have_their_place(self):
        self.refuses("src/judge/record/record.h", "nlohmann/json.hpp", "fmt/format.h")
        self.allows("src/judge/record/record.h", "nlohmann/json_fwd.hpp")
        self.refuses("src/engine/attention/oracle.cc", "sys/mman.h", "unistd.h", "sched.h")
        self.allows("src/base/sys/affinity.cc", "sched.h")

    def test_public_tests_see_public_headers_only(self):
        self.refuses("tests/public/attention_subject_test.cc", "engine/attention/variant.h")
        self.allows("tests/public/attention_subject_test.cc", "pagoda/softmax.h", "gtest/gtest.h")


class Program(unittest.TestCase):
    def test_names_the_planted_line_and_fails(self):
        with tempfile.TemporaryDirectory() as root:
            folder = pathlib.Path(root, "src", "judge", "report")
            folder.mkdir(parents=True)
            (folder / "html.cc").write_text('// A page.\n#include <string>\n#  include "judge/bench/suite.h"\n')
            run = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1)
            self.assertIn("src/judge/report/html.cc:3: includes judge/bench/suite.h", run.stdout)
            (folder / "html.cc").write_text('#include "judge/verdict/case.h"\n')
            self.assertEqual(subprocess.run([sys.executable, TOOL, root]).returncode, 0)

    def test_a_folder_that_is_no_repository_is_an_error(self):
        with tempfile.TemporaryDirectory() as root:
            run = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1)
            self.assertIn("has no src/", run.stderr)


if __name__ == "__main__":
    unittest.main()
