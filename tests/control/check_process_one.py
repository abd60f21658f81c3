#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""A run that is process 1, as in a container, is stopped from outside of it, by `crochet stop` and by
SIGTERM; and after it was killed, `crochet why` knows that.

    check_process_one.py endless_trainer crochet --dir DIR

Exits with 77, which is "skipped", where no namespace of processes can be made.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

SKIPPED = 77
# The first process in a namespace of its own; ends with the one that waits for it.
ALONE = ["unshare", "--fork", "--pid", "--kill-child", "--mount-proc"]
LIMIT_SECS = 60


def until(condition, what):
    end = time.monotonic() + LIMIT_SECS
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"not within {LIMIT_SECS} s: {what}")
        time.sleep(0.02)


class Container:
    """A life of the run."""

    def __init__(self, arguments, life):
        self.run = arguments.dir / "run"
        self.crochet = arguments.crochet
        with (arguments.dir / f"log{life}").open("w") as log:
            self.process = subprocess.Popen([*ALONE, arguments.trainer, self.run], stderr=log)
        until(lambda: life in self.lives(), f"life {life}")

    def lives(self):
        journal = self.run / "events.jsonl"
        if not journal.exists():
            return {}
        starts = [json.loads(line) for line in journal.read_text().splitlines()
                  if line.startswith('{"event":"start"')]
        return {start["life"]: start["pid"] for start in starts}

    def trainer(self):
        """The number of the trainer outside of its namespace."""
        waiting = self.process.pid
        return int(pathlib.Path(f"/proc/{waiting}/task/{waiting}/children").read_text())

    def tool(self, *command):
        done = subprocess.run([self.crochet, *command, self.run], check=False, capture_output=True, text=True)
        return done.stdout + done.stderr

    def end(self):
        self.process.wait(timeout=LIMIT_SECS)
        return self.tool("why")


def check(text, pattern):
    if not re.search(pattern, text):
        sys.exit(f"found:\n{text}\nexpected: {pattern}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainer", type=pathlib.Path)
    parser.add_argument("crochet")
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode != 0:
        print("skipped: no namespace of processes can be made")
        sys.exit(SKIPPED)
    shutil.rmtree(arguments.dir, ignore_errors=True)
    arguments.dir.mkdir(parents=True)

    container = Container(arguments, 1)
    assert container.lives()[1] == 1, container.lives()
    check(container.tool("status"), r"^step \d+, ")
    check(container.tool("why"), "ended: +not yet: life 1, process 1 on ")
    check(container.tool("stop"), r"^the run ends after step \d+, with a checkpoint")
    check(container.end(), r"life 1, process 1 .*exit code 0\nwhy: +crochet: crochet stop")

    container = Container(arguments, 2)
    # Before its first step it has no handler, and the system keeps such a signal from process 1.
    check(container.tool("status"), "^step ")
    subprocess.run(["kill", "-TERM", str(container.trainer())], check=True)
    check(container.end(), r"life 2, process 1 .*exit code 143\nwhy: +SignalHook: SIGTERM")

    container = Container(arguments, 3)
    subprocess.run(["kill", "-KILL", str(container.trainer())], check=True)
    check(container.end(), r"life 3, process 1 .*\nwhy: +kill -9")
    print("process 1 stops when it is asked to")


if __name__ == "__main__":
    main()
