#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Kills a random rank of a job (kill -9) again and again, at random moments of its saves, and starts the job with
another number of ranks: nothing that was published may be lost, and no checkpoint may be of different steps.

    check_kills.py PROGRAM --dir DIRECTORY [--kills 500] [--seed N] [--mpirun mpirun]

PROGRAM is sharded_rank, which checks what it restores. Ends with a line of figures.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

LIMIT_SECS = 60
ENDLESS = "1000000000"


def published(directory):
    path = directory / "published"
    return [int(line) for line in path.read_text(encoding="utf-8").split()] if path.exists() else []


def ranks_of(job):
    children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text(encoding="utf-8")
    return [int(pid) for pid in children.split()]


def start(options, ranks, last_step, log):
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    command = [options.mpirun, "-n", str(ranks), options.program, str(options.dir), str(last_step)]
    return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)


def started_from(text):
    return int(re.findall(r"^from (\d+)$", text, re.MULTILINE)[-1])


def kill_once(options, chance, number):
    """Returns the step from which the job has started."""
    before = published(options.dir)
    log_path = options.dir / "log"
    with open(log_path, "w", encoding="utf-8") as log:
        job = start(options, chance.choice([1, 2, 3, 4]), ENDLESS, log)
    try:
        # Every second job makes progress, whatever the seed.
        wanted = len(before) + chance.randint(number % 2, 5)
        end = time.monotonic() + LIMIT_SECS
        while len(published(options.dir)) < wanted or "from" not in log_path.read_text(encoding="utf-8"):
            assert job.poll() is None, f"kill {number}: the job has ended: {log_path.read_text(encoding='utf-8')}"
            assert time.monotonic() < end, f"kill {number}: no progress: {log_path.read_text(encoding='utf-8')}"
            time.sleep(0.001)
        time.sleep(chance.random() * 0.03)
        os.kill(chance.choice(ranks_of(job)), signal.SIGKILL)
        job.wait(timeout=LIMIT_SECS)
    finally:
        job.kill()
        job.wait()
    text = log_path.read_text(encoding="utf-8")
    assert "mixed" not in text and "not sound" not in text and "cannot be used" not in text, f"kill {number}: {text}"
    step = started_from(text)
    newest = max(before, default=0)
    assert step >= newest, f"kill {number}: step {newest} was published, but the job started from {step}"
    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    shutil.rmtree(options.dir, ignore_errors=True)
    options.dir.mkdir(parents=True)
    begin = time.monotonic()
    steps = []
    for number in range(1, options.kills + 1):
        steps.append(kill_once(options, chance, number))
        if number % 50 == 0:
            print(f"{number} kills, step {steps[-1]}, {time.monotonic() - begin:.0f} s", flush=True)
    last = steps[-1] + 1000
    with open(options.dir / "log", "w", encoding="utf-8") as log:
        job = start(options, 3, last, log)
        code = job.wait(timeout=4 * LIMIT_SECS)
    text = (options.dir / "log").read_text(encoding="utf-8")
    assert code == 0 and f"ended at {last}" in text, text
    rests = [each.name for each in options.dir.iterdir() if ".tempstate" in each.name]
    assert not rests, f"left over: {rests}"
    assert len(set(steps)) > options.kills // 4, "hardly any job made progress before its kill"
    print(f"{options.kills} kills: 0 published checkpoints lost, 0 mixed; {len(set(steps))} different steps resumed")


main()
