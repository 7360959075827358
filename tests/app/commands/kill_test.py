#!/usr/bin/env python3
"""Kills a bench without warning, again and again, and goes on with it: no record may be lost, no process stay behind,
and the run that comes out must be as whole as one that nobody killed.

Usage: kill_test.py PAGODA [SEED]     Exit 0: all fine, 1: not. The seed of the kills is printed; 2026 unless given.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

KILLS = 5
LAUNCHES = 4
SUITE = """
name = "tiny"
variants = ["gather", "spmd_paged_attention"]
epoch_ms = 0.1
[defaults]
heads = "4/2"
head_dim = 64
cache = "warm"
[[case]]
context = [40, 80]
"""


def require(holds, complaint):
    if not holds:
        sys.exit(f"kill_test: {complaint}")


class Bench:
    def __init__(self, pagoda, folder):
        self.pagoda = pagoda
        self.run = folder / "run"
        self.manifest = self.run / "manifest.json"
        self.records = self.run / "records.jsonl"
        self.suite = folder / "tiny.toml"
        self.suite.write_text(SUITE)
        # A lock of its own, which also marks every process that descends from the bench.
        self.mark = str(folder / "lock")
        self.environment = {**os.environ, "PAGODA_LOCK": self.mark}

    def start(self):
        command = [self.pagoda, "bench", self.suite, "--launches", str(LAUNCHES), "--threads", "1", "--wait", "0",
                   "--out", self.run]
        if self.manifest.exists():
            command.append("--resume")
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True)

    def lines(self):
        """The bytes of the records: the whole lines, and what a kill left of one more."""
        text = self.records.read_bytes() if self.records.exists() else b""
        end = text.rfind(b"\n") + 1
        return text[:end], text[end:]

    def processes(self):
        """Those of the bench that are still alive."""
        alive = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (process / "environ").read_bytes():
                    alive.append(process.name)
            except OSError:  # it has ended, or is someone else's
                pass
        return alive

    def report(self, form):
        return subprocess.run([self.pagoda, "report", self.run, "--format", form], capture_output=True, check=True,
                              timeout=60).stdout


def wait_for_a_moment(bench, process, moment):
    """Until the bench has written a random number of records, and a little longer: a launch is under way then."""
    have = bench.lines()[0].count(b"\n")
    wanted = have + moment.randint(0, 5)
    while process.poll() is None and bench.lines()[0].count(b"\n") < wanted:
        time.sleep(0.002)
    time.sleep(moment.uniform(0, 0.2))


def kill_once(bench, moment):
    """True if the bench was still at work."""
    process = bench.start()
    wait_for_a_moment(bench, process, moment)
    at_work = process.poll() is None
    if at_work:
        os.kill(process.pid, signal.SIGKILL)
    errors = process.communicate()[1]
    require(at_work or process.returncode == 0, f"a run ends with {process.returncode}: {errors.decode()}")
    end = time.monotonic() + 5
    while (left := bench.processes()) and time.monotonic() < end:
        time.sleep(0.05)
    require(not left, f"processes {left} outlive the bench that started them")
    return at_work


def require_whole(bench):
    records = [json.loads(line) for line in bench.lines()[0].splitlines()]
    launches = [r for r in records if r["kind"] == "launch"]
    keys = [(r["case"], r["launch"], r["attempt"]) for r in launches]
    require(len(keys) == len(set(keys)), "a launch stands in the records twice")
    cases = [c["name"] for c in json.loads(bench.manifest.read_text())["cases"]]
    for case in cases:
        # A busy machine leaves launches out; those were made too.
        done = {r["launch"] for r in launches if r["case"] == case and r["status"] in ("ok", "contaminated")}
        require(done == set(range(LAUNCHES)), f"{case} has the launches {sorted(done)} of {LAUNCHES}")
    gates = [(r["case"], r["variant"], r["seed"]) for r in records if r["kind"] == "gate"]
    require(len(gates) == len(set(gates)) == len(cases) * 2 * 3, f"{len(gates)} gate runs, some missing or twice")


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 2026
    print(f"seed {seed}", flush=True)
    moment = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], pathlib.Path(folder))
        kept, manifest, kills, torn = b"", None, 0, 0
        for number in range(KILLS):
            kills += kill_once(bench, moment)
            whole, rest = bench.lines()
            require(whole.startswith(kept), "a record that was on disk before a kill is gone or changed")
            kept = whole
            torn += rest != b""
            if manifest is None and bench.manifest.exists():
                manifest = bench.manifest.read_bytes()
            require(manifest is None or bench.manifest.read_bytes() == manifest, "the manifest has changed")
            if number == KILLS - 1 and not rest and bench.records.exists():
                # Such a moment is rare: half of a line, as a kill between two writes would leave it.
                with bench.records.open("ab") as file:
                    file.write(b'{"kind":"launch","case":"b1')
                require(json.loads(bench.report("json"))["warnings"] != [], "a torn line isn't mentioned")
                torn += 1
        process = bench.start()
        errors = process.communicate(timeout=600)[1]
        require(process.returncode == 0, f"the last run ends with {process.returncode}: {errors.decode()}")
        whole, rest = bench.lines()
        require(whole.startswith(kept) and rest == b"", "the last run lost a record or left a torn one")
        require(manifest is None or bench.manifest.read_bytes() == manifest, "the last run changed the manifest")
        require_whole(bench)
        for form, name in (("json", "report.json"), ("markdown", "report.md"), ("html", "report.html")):
            require(bench.report(form) == (bench.run / name).read_bytes(), f"{name} isn't what `report` prints")
        require(kills > 0, "every run had ended before its kill")
        print(f"{kills} kills, {torn} torn lines, {whole.count(10)} records")


if __name__ == "__main__":
    main()
