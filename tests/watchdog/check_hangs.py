#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that hang, watched by WatchdogHook: the stacks that it writes must name the function, and a
training whose steps take any time must give no alarm.

    check_hangs.py <hung_program> <crochet> --dir DIR [--programs N] [--alarms]

--alarms makes the 10,000 steps of random length as well.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

FUNCTIONS = {"deadlock": "wait_in_deadlock", "loop": "loop_without_end", "read": "read_without_end"}


class Hung:
    """One program, in the directory of a run. Ranks of a run have a log each."""

    def __init__(self, arguments, name, mode, action, environment=(), rank=0):
        self.run = arguments.dir / name
        if rank == 0:
            shutil.rmtree(self.run, ignore_errors=True)
        self.log = arguments.dir / f"{name}-{rank}.log"
        self.process = subprocess.Popen(
            [arguments.program, self.run, arguments.crochet, mode, action],
            stderr=self.log.open("w"), stdout=subprocess.DEVNULL,
            env={**os.environ, **dict(environment)})

    def stacks(self, pattern="hung-1*.txt", seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = sorted(self.run.glob(pattern))
            if found and found[0].read_text().count("thread "):
                return found[0].read_text()
            time.sleep(0.02)
        raise TimeoutError(f"{self.run}: no {pattern}:\n{self.log.read_text()}")

    def end(self):
        self.process.kill()
        self.process.wait()


def check(arguments, number, mode, action, forbids):
    name = f"{number}-{mode}-{action}"
    hung = Hung(arguments, name, mode, action, {"FORBID_PTRACE": "1"} if forbids else {})
    try:
        text = hung.stacks()
        function = FUNCTIONS[mode]
        head = text.splitlines()[0]
        assert f"it may be hung in (anonymous namespace)::{function}" in head, text
        assert f"(hung_program.cc:" in head, head
        assert "step 100 has taken" in head, head
        assert "last values: loss = 49.5" in text, text
        events = [json.loads(line) for line in (hung.run / "events.jsonl").read_text().splitlines()]
        found = [event for event in events if event["event"] == "hung"]
        assert len(found) == 1 and function in found[0]["message"], events
        assert found[0]["life"] == 1 and found[0]["stacks"] == "hung-100.txt", found
        if action == "abort":
            assert hung.process.wait(20) == -signal.SIGABRT, hung.process.returncode
    finally:
        hung.end()


def free_port():
    """Below those of connections, of which one may be taken at any moment."""
    while True:
        port = random.randrange(10000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def check_ranks(arguments, number):
    """A rank that is stopped, and the one that waits for it."""
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ranks = []
    try:
        for rank in (0, 1):
            ranks.append(Hung(arguments, f"{number}-ranks", "rank", "warn",
                              {**common, "RANK": str(rank)}, rank))
        journal = ranks[0].run / "events.jsonl"
        end = time.monotonic() + 30
        # Not while the first checkpoint is written, for which there is more time.
        while not (journal.exists() and '"event":"saved"' in journal.read_text()):
            assert time.monotonic() < end, ranks[0].log.read_text()
            time.sleep(0.02)
        ranks[1].process.send_signal(signal.SIGSTOP)
        waiting = ranks[0].stacks("hung-[0-9]*.txt")
        stopped = ranks[0].stacks("hung-rank1-*.txt")
        assert "agree_after_step" in waiting, waiting
        assert "of rank 1 has taken" in stopped and "hung_program" in stopped, stopped
    finally:
        for rank in ranks:
            rank.end()


def check_alarms(arguments):
    quiet = Hung(arguments, "random", "random", "abort")
    assert quiet.process.wait(300) == 0, quiet.log.read_text()
    assert not list(quiet.run.glob("hung-*")), quiet.log.read_text()
    print("10,000 steps of random length: 0 alarms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("crochet", type=pathlib.Path)
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=int, default=8)
    parser.add_argument("--alarms", action="store_true")
    arguments = parser.parse_args()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    arguments.dir = arguments.dir.resolve()
    if arguments.alarms:
        check_alarms(arguments)
    kinds = [*FUNCTIONS, "ranks"]
    for number in range(arguments.programs):
        kind = kinds[number % len(kinds)]
        turn = number // len(kinds)
        if kind == "ranks":
            check_ranks(arguments, number)
        else:
            check(arguments, number, kind, ("warn", "abort")[turn % 2], forbids=turn % 4 >= 2)
    print(f"{arguments.programs} of {arguments.programs} hung programs named their function")


if __name__ == "__main__":
    main()
