#!/usr/bin/env python3
"""Types on a terminal of zsh and presses Tab: the completion must be what `pagoda completion zsh` promises.

Usage: zsh_completion_test.py PAGODA     Exit 0: all fine, 1: something is not completed, 77: no zsh here.
"""

import os
import pathlib
import pty
import select
import shutil
import sys
import tempfile
import time

TYPED = {  # and what must stand there after Tab
    "pagoda ben": "pagoda bench ",
    "pagoda bench smo": "smoke ",
    "pagoda bench smoke --dry": "--dry-run ",
    "pagoda list ca": "list cases ",
    "pagoda bench smoke --variants gather,paged_attention_unroll_": "gather,paged_attention_unroll_4dims ",
    "pagoda bench smoke --variants=gath": "gather ",
    "pagoda bench smoke --lock ref": "refuse ",
    "pagoda bench smoke --fail-on loss,inc": "loss,inconclusive ",
    "pagoda report --format mark": "markdown ",
    "pagoda completion fi": "fish ",
    "pagoda report /et": "/etc/",
}


class Shell:
    """zsh on a terminal of its own, without anyone's settings."""

    def __init__(self):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir("/")
            os.execve(shutil.which("zsh"), ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "PS1": "> "})

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, text, seconds=30):
        """What the terminal shows until it shows `text` or the time is over."""
        shown = ""
        end = time.monotonic() + seconds
        while text not in shown and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.2)[0]:
                shown += os.read(self.terminal, 65536).decode(errors="replace").replace("\a", "")
        return shown

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def is_completed(setup, typed, wanted):
    shell = Shell()
    try:
        shell.send(setup + "; echo rea''dy\n")
        shell.wait_for("ready\r")
        shell.send(typed + "\t")
        shown = shell.wait_for(wanted)
    finally:
        shell.close()
    if wanted not in shown:
        print(f"{typed!r} and Tab don't give {wanted!r} but {shown!r}")
    return wanted in shown


def main():
    if shutil.which("zsh") is None:
        print("no zsh here")
        return 77
    pagoda = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "_pagoda"
        with os.popen(f"{pagoda} completion zsh") as printed:
            script.write_text(printed.read())
        compinit = "autoload -Uz compinit; compinit -u -D"
        evaluated = f"{compinit}; eval \"$(<{script})\""
        in_fpath = f"fpath=({folder} $fpath); {compinit}"
        fine = [is_completed(evaluated, *pair) for pair in TYPED.items()]
        fine.append(is_completed(in_fpath, *next(iter(TYPED.items()))))
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
