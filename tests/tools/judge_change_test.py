#!/usr/bin/env python3
"""scripts/judge-change refuses bad usage, and the workflow that calls it holds together. Builds and measures nothing.

Usage: judge_change_test.py
"""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/judge-change"
WORKFLOW = ROOT / "examples/ci/pagoda-bench.yml"


def judge_change(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=60)


class Usage(unittest.TestCase):
    def test_help_says_what_it_does_and_what_its_codes_mean(self):
        result = judge_change("--help")
        self.assertEqual(result.returncode, 0)
        for part in ("BASE", "--delta", "5 not judged"):
            self.assertIn(part, result.stdout)

    def test_bad_usage_is_code_2_with_the_mend(self):
        for arguments, says in (((), "BASE is required"), (("--delta",), "--delta needs a value"),
                                (("no-such-commit",), "no-such-commit is no commit of this repository")):
            result = judge_change(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(says, result.stderr)
            self.assertEqual(result.stdout, "")


class Workflow(unittest.TestCase):
    def setUp(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no python3-yaml here")
        self.steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["judge"]["steps"]

    def test_each_step_uses_or_runs_something(self):
        for step in self.steps:
            self.assertEqual(len({"uses", "run"} & step.keys()), 1, step)

    def test_what_it_runs_is_shell_and_calls_scripts_that_are_there(self):
        lines = "\n".join(step["run"] for step in self.steps if "run" in step)
        subprocess.run(["bash", "-n"], input=lines, text=True, check=True, timeout=60)
        called = set(re.findall(r"scripts/[\w-]+", lines))
        self.assertEqual(called, {"scripts/judge-change"})
        usage = judge_change("--help").stdout
        for option in re.findall(r"judge-change.*?(--\w+)", lines):
            self.assertIn(option, usage)


if __name__ == "__main__":
    unittest.main()
