#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Kills trainings (kill -9) at random moments, and compares what they have in the end, bit by bit, with trainings in
one piece: for each optimizer of LibTorch's and one that crochet does not know.

    check_kills.py PROGRAM [--kills 20] [--threads 1 2] [--steps 400] [--seed N]
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

OPTIMIZERS = ["Adam", "AdamW", "SGD", "SGD, momentum", "RMSprop, centered", "Adagrad", "LBFGS", "SlowSgd"]
LIMIT_SECS = 120


def start(options, directory, optimizer, threads):
    return subprocess.Popen([options.program, str(directory), optimizer, str(threads), str(options.steps)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    output, errors = process.communicate(timeout=LIMIT_SECS)
    assert process.returncode == 0, (process.returncode, errors)
    first, *result = output.split()
    return int(first), result


def newest(directory):
    return max((int(each.name.split("-")[1].split(".")[0]) for each in directory.glob("model.ckpt-*.index")), default=0)


def check(options, optimizer, threads, folder):
    """Returns how many of the kills met a training that was running."""
    first, whole = finish(start(options, folder / "whole", optimizer, threads))
    assert first == 0, first
    killed = folder / "killed"
    hits = 0
    for _ in range(options.kills):
        # At any moment between two checkpoints, however fast the machine is.
        target = newest(killed) + random.randrange(options.steps // 4)
        process = start(options, killed, optimizer, threads)
        while process.poll() is None and newest(killed) < target:
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.02))  # The moment of the kill.
        process.kill()
        process.communicate(timeout=LIMIT_SECS)
        hits += process.returncode == -9
        if newest(killed) >= options.steps:  # It ended: begin again.
            shutil.rmtree(killed)
    before = newest(killed) if killed.exists() else 0
    first, resumed = finish(start(options, killed, optimizer, threads))
    assert first >= before, f"resumed at {first}, after a checkpoint of {before}"
    assert resumed == whole, f"{optimizer}, {threads} threads: found {resumed}, expected {whole}"
    print(f"{optimizer}, {threads} threads: {hits} kills, resumed last at step {first} of {options.steps}, equal",
          flush=True)
    return hits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    print(f"seed {options.seed}")
    random.seed(options.seed)
    hits = 0
    for threads in options.threads:
        for optimizer in OPTIMIZERS:
            with tempfile.TemporaryDirectory() as folder:
                hits += check(options, optimizer, threads, pathlib.Path(folder))
    total = options.kills * len(options.threads) * len(OPTIMIZERS)
    assert 2 * hits > total, f"only {hits} of {total} kills met a training that was running"
    print(f"{hits} of {total} kills met a training that was running")


main()
