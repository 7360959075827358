#!/usr/bin/env python3
"""Asks fish what it would complete: that must be what `pagoda completion fish` promises.

Usage: fish_completion_test.py PAGODA     Exit 0: all fine, 1: something is not completed, 77: no fish here.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# What is typed, what must be offered then, and what must not.
TYPED = (
    ("pagoda ben", {"bench"}, {"list"}),
    ("pagoda bench smo", {"smoke"}, {"list"}),
    ("pagoda bench my", {"my suite.toml"}, set()),
    ("pagoda bench smoke --dry", {"--dry-run"}, set()),
    ("pagoda list ", {"variants", "suites", "cases"}, {"smoke", "mine.so"}),
    ("pagoda list cases ", {"smoke", "mine.so"}, {"cases", "suites"}),
    ("pagoda bench smoke --variants gat", {"gather"}, {"smoke"}),
    ("pagoda bench smoke --variants gather,spmd_paged_attention_", {"gather,spmd_paged_attention_highperf"}, set()),
    ("pagoda bench smoke --variants ./", {"./mine.so"}, set()),
    ("pagoda bench smoke --variants=gat", {"--variants=gather"}, set()),
    ("pagoda bench smoke --lock ", {"wait", "refuse"}, {"mine.so", "smoke"}),
    ("pagoda bench smoke --fail-on loss,", {"loss,inconclusive"}, set()),
    ("pagoda bench smoke --out ru", {"runs/"}, set()),
    ("pagoda bench smoke --launches ", set(), {"mine.so", "smoke"}),
    ("pagoda report --format ", {"terminal", "markdown", "json", "html"}, {"mine.so"}),
    ("pagoda selftest --format ", {"terminal", "markdown", "json"}, {"html"}),
    ("pagoda completion ", {"bash", "zsh", "fish"}, {"mine.so"}),
)


def main():
    if shutil.which("fish") is None:
        print("no fish here")
        return 77
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "pagoda.fish"
        script.write_bytes(subprocess.run([sys.argv[1], "completion", "fish"], capture_output=True, check=True).stdout)
        here = pathlib.Path(folder) / "here"
        (here / "runs").mkdir(parents=True)
        for name in ("my suite.toml", "mine.so"):
            (here / name).touch()
        environment = {**os.environ, "HOME": folder}
        subprocess.run(["fish", "--no-execute", script], check=True, env=environment)
        for typed, wanted, unwanted in TYPED:
            asked = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, typed],
                                   capture_output=True, check=True, text=True, cwd=here, env=environment)
            offered = {line.split("\t")[0].replace("\\ ", " ") for line in asked.stdout.splitlines()}
            if wanted - offered or unwanted & offered or asked.stderr:
                print(f"{typed!r} offers {sorted(offered)}, wanted {wanted} and not {unwanted}; {asked.stderr}")
                fine = False
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
