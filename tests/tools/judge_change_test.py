#!/usr/bin/env python3
"""scripts/judge-change refuses bad usage, says what happened by its exit code and leaves the runs of others alone; the
workflow that calls it holds together. Builds and measures nothing: cmake and pagoda are stand-ins.

Usage: judge_change_test.py
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
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
        for part in ("BASE", "--delta", "4 undecided", "5 not judged", "7 not judged", "130 interrupted"):
            self.assertIn(part, result.stdout)

    def test_bad_usage_is_code_2_with_the_mend(self):
        for arguments, says in (((), "BASE is required"), (("",), "BASE is required"),
                                (("--delta",), "--delta needs a value"),
                                (("HEAD", "--delta", ""), "--delta needs a value"),
                                (("HEAD", "--out="), "--out needs a value"),
                                (("HEAD", "--out", str(ROOT / "scripts")), "holds something already"),
                                (("HEAD", "--variant", "gather,unroll"), "--variant gather,unroll: is none"),
                                (("HEAD", "--variants=gather"), "is what --variant says here"),
                                (("HEAD", "--baseline", "gather"), "is what BASE says here"),
                                (("--launches", "2", "HEAD"), "BASE comes before --launches"),
                                (("--", "--launches", "2"), "BASE comes before --"),
                                (("no-such-commit",), "no-such-commit is no commit of this repository")):
            result = judge_change(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(says, result.stderr)
            self.assertEqual(result.stdout, "")


# Builds by writing down what it was asked for, and leaves a pagoda that does what $PAGODA_DOES says.
CMAKE = r"""#!/bin/bash
case " $* " in
  *' --build '*) mkdir -p build/verdict; cp "$STAND_IN/pagoda" build/verdict/ ;;
esac
echo "cmake $*" >>"$STAND_IN/calls"
"""
PAGODA = r"""#!/bin/bash
echo "pagoda $*" >>"$STAND_IN/calls"
kind=run
case " $* " in *' --dry-run '*) kind=arguments ;; esac
case " $* " in *' --baseline-lib '*' --dry-run '*|*' --dry-run '*' --baseline-lib '*) kind=pair ;; esac
while [ $# -gt 0 ]; do if [ "$1" = --out ]; then out=$2; fi; shift; done
if [ $kind = run ]; then
  mkdir -p "$out"
  echo $$ >"$out/records"
  while [ -e "$STAND_IN/measuring" ]; do sleep 0.05; done
  [ "$(cat "$out/records")" = $$ ] || exit 99  # someone has taken the records away
fi
eval "exit \${${kind}_code-0}"
"""


class Run(unittest.TestCase):
    """A repository with two commits, whose name is no plain word, and stand-ins for what builds and measures."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name, "sp ace ü")
        self.stand_in = pathlib.Path(folder.name, "bin")
        self.stand_in.mkdir()
        for name, text in (("cmake", CMAKE), ("pagoda", PAGODA)):
            (self.stand_in / name).write_text(text)
            (self.stand_in / name).chmod(0o755)
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        (self.root / "CMakeLists.txt").write_text("")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "first")
        self.tree = self.root / "build/judge" / self.git("rev-parse", "--short=12", "HEAD")

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True,
                              text=True).stdout.strip()

    def start(self, *arguments, **codes):
        environment = {**os.environ, "PATH": f"{self.stand_in}:{os.environ['PATH']}", "STAND_IN": str(self.stand_in),
                       **{f"{kind}_code": str(code) for kind, code in codes.items()}}
        return subprocess.Popen([self.root / "scripts/judge-change", "--no-install", "HEAD", *arguments], text=True,
                                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True)

    def finish(self, process):
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def run_it(self, *arguments, **codes):
        return self.finish(self.start(*arguments, **codes))

    def calls(self):
        return (self.stand_in / "calls").read_text().splitlines()

    def wait_for(self, path):
        for _ in range(600):
            if path.exists():
                return
            time.sleep(0.05)
        self.fail(f"{path} did not come")

    def test_builds_both_and_judges_them(self):
        code, out, err = self.run_it("--", "--launches", "2")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("base: ", out)
        last = self.calls()[-1]
        self.assertIn("--launches 2", last)
        self.assertIn(f"--baseline-lib build/judge/{self.tree.name}/build/verdict/libpagoda_kernels.so", last)
        self.assertTrue((self.tree / "CMakeLists.txt").exists())
        self.assertTrue((self.root / "build/judge/result/records").exists())

    def test_code_5_is_the_interface_and_nothing_else(self):
        self.assertEqual(self.run_it(pair=5)[0], 5)
        code, out, _ = self.run_it(run=5)
        self.assertEqual(code, 7)
        self.assertIn("the message above says why", out)
        for kept in (1, 3, 4, 130):
            self.assertEqual(self.run_it(run=kept)[0], kept)

    def test_wrong_options_of_bench_are_said_before_the_second_build(self):
        self.assertEqual(self.run_it("--launches", "x", arguments=2)[0], 2)
        self.assertFalse(self.tree.exists())

    def test_an_interrupted_extraction_is_done_again(self):
        part = self.tree.with_name(self.tree.name + ".part")
        part.mkdir(parents=True)
        (part / "CMakeLists.txt").write_text("half a fi")
        self.assertEqual(self.run_it()[0], 0)
        self.assertEqual((self.tree / "CMakeLists.txt").read_text(), "")
        self.assertFalse(part.exists())

    def test_a_second_run_waits_and_touches_nothing_of_the_first(self):
        measuring = self.stand_in / "measuring"
        measuring.touch()
        first = self.start()
        records = self.root / "build/judge/result/records"
        self.wait_for(records)
        written = records.read_text()
        second = self.start()
        line = second.stdout.readline()
        self.assertIn("waiting: another judge-change runs in this tree", line)
        self.assertEqual(records.read_text(), written)
        measuring.unlink()
        self.assertEqual(self.finish(first)[0], 0)
        self.assertEqual(self.finish(second)[0], 0)
        self.assertNotEqual(records.read_text(), written)

    def test_one_that_was_killed_holds_up_nobody(self):
        (self.stand_in / "measuring").touch()
        first = self.start()
        self.wait_for(self.root / "build/judge/result/records")
        os.killpg(first.pid, signal.SIGKILL)
        self.finish(first)
        (self.stand_in / "measuring").unlink()
        code, out, _ = self.run_it()
        self.assertEqual(code, 0)
        self.assertNotIn("waiting", out)

    def test_a_run_to_go_on_with_is_not_replaced(self):
        self.run_it()
        marker = self.root / "build/judge/result/before"
        marker.touch()
        self.assertEqual(self.run_it("--resume")[0], 0)
        self.assertTrue(marker.exists())
        self.assertEqual(self.run_it()[0], 0)
        self.assertFalse(marker.exists())


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
