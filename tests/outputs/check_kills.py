#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Kills a program that writes files (kill -9) again and again at random moments, lets it continue, and compares all
that it has written with what an undisturbed run writes: byte for byte, no row twice or missing.

    check_kills.py csv|sqlite|ranks PROGRAM --dir DIRECTORY [--fast-dir DIRECTORY] [--kills 1000] [--seed N]
                   [--mpirun mpirun]

PROGRAM is writer, or trajectory_rank for `ranks`. With a fast directory, most lives save there; some begin after it was
emptied, as a machine that was started again does, and some do without it. Ends with a line of figures.
"""

import argparse
import gzip
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import time

LIMIT_SECS = 60
ENDLESS = 10**9
RANKS = 3
MASK = 2**64 - 1


def advance(x):
    return (x * 6364136223846793005 + 1442695040888963407) & MASK


def values(steps):
    x = 0
    for step in range(1, steps + 1):
        x = advance(x)
        yield step, x


def rows(steps):
    return "".join(f"{step},{x}\n" for step, x in values(steps))


def check_csv(directory, steps):
    expected = rows(steps)
    with_header = "step,x\n" + expected
    assert (directory / "rows.csv").read_text() == with_header, "rows.csv differs"
    with gzip.open(directory / "rows.csv.gz", "rt") as file:
        assert file.read() == with_header, "rows.csv.gz differs"
    parts = sorted(directory.glob("parts.*.csv"))
    assert "".join(part.read_text() for part in parts) == expected, "the parts differ"
    sizes = [part.stat().st_size for part in parts]
    assert all(10_000 <= size < 10_100 for size in sizes[:-1]), sizes


def check_sqlite(directory, steps):
    database = sqlite3.connect(directory / "results.db")
    found = database.execute("SELECT step, x FROM rows ORDER BY rowid").fetchall()
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    assert found == [(step, str(x)) for step, x in values(steps)], "results.db differs"


def check_ranks(directory, steps):
    assert (directory / "log.txt").read_text() == "".join(f"{step}\n" for step in range(1, steps + 1))
    for rank in range(RANKS):
        expected = bytearray()
        x = rank
        for _ in range(steps):
            x = advance(x)
            expected += struct.pack("<Q", x) * 100
        assert (directory / f"frames.rank-{rank}.bin").read_bytes() == expected, f"the frames of rank {rank} differ"


CHECKS = {"csv": check_csv, "sqlite": check_sqlite, "ranks": check_ranks}


def start(options, last_step, log, fast=False):
    arguments = [str(options.dir / "run"), str(last_step)] + ([str(options.fast_dir)] if fast else [])
    if options.kind != "ranks":
        return subprocess.Popen([options.program, options.kind, *arguments], stdout=log, stderr=subprocess.STDOUT)
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    return subprocess.Popen([options.mpirun, "-n", str(RANKS), options.program, *arguments], env=environment,
                            stdout=log, stderr=subprocess.STDOUT)


def victim_of(options, job, chance):
    """A rank: mpirun ends the others."""
    if options.kind != "ranks":
        return job.pid
    children = []
    while not children and job.poll() is None:
        children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text(encoding="utf-8").split()
        time.sleep(0.001)
    return int(chance.choice(children))


def newest_checkpoint(directory):
    """Not the parts of ranks, which may lack others."""
    found = [re.fullmatch(r"model\.ckpt-(\d+)\.index", path.name) for path in directory.glob("*.index")]
    return max((int(match[1]) for match in found if match), default=-1)


def prepare_fast(options, chance):
    """Whether this life saves in the fast directory, which it may find empty."""
    if options.fast_dir and chance.random() < 0.1:
        for path in options.fast_dir.glob("*/*"):
            path.unlink()
    return bool(options.fast_dir) and chance.random() < 0.85


def newest_anywhere(options):
    """The step from which the next life must continue, at least."""
    folders = [options.dir / "run", *(options.fast_dir.iterdir() if options.fast_dir else [])]
    return max(map(newest_checkpoint, folders))


def kill_once(options, chance, number):
    """Returns the step from which the program has started."""
    log_path = options.dir / "log"
    fast = prepare_fast(options, chance)
    expected = newest_anywhere(options)
    with open(log_path, "w", encoding="utf-8") as log:
        job = start(options, ENDLESS, log, fast)
    try:
        end = time.monotonic() + LIMIT_SECS
        # Every second one after a new checkpoint, and half of the others; some before they begin.
        before = newest_anywhere(options)
        when = chance.random() * (0.5 if number % 2 else 1)
        while (when < 0.9 and "from" not in log_path.read_text(encoding="utf-8")
               or when < 0.5 and newest_anywhere(options) <= before):
            assert job.poll() is None, f"kill {number}: ended: {log_path.read_text(encoding='utf-8')}"
            assert time.monotonic() < end, f"kill {number}: no progress"
            time.sleep(0.001)
        time.sleep(chance.random() * 0.05)
        os.kill(victim_of(options, job, chance), signal.SIGKILL)
        job.wait(timeout=LIMIT_SECS)
    finally:
        job.kill()
        job.wait()
    text = log_path.read_text(encoding="utf-8")
    started = re.findall(r"^from (\d+)$", text, re.MULTILINE)
    assert not started or int(started[-1]) >= expected, f"kill {number}: not from {expected}: {text}"
    unwanted = [line for line in text.splitlines() if "found" in line and "expected" in line]
    assert not unwanted, f"kill {number}: {text}"
    return int(started[-1]) if started else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=CHECKS)
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--fast-dir", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args()
    options.dir = options.dir.resolve()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    shutil.rmtree(options.dir, ignore_errors=True)
    options.dir.mkdir(parents=True)
    if options.fast_dir:
        shutil.rmtree(options.fast_dir, ignore_errors=True)
        options.fast_dir.mkdir(parents=True)
    begin = time.monotonic()
    steps = []
    for number in range(1, options.kills + 1):
        started = kill_once(options, chance, number)
        if started is not None:
            assert options.fast_dir or not steps or started >= steps[-1], f"kill {number}: {started} after {steps[-1]}"
            steps.append(started)
        if number % 100 == 0:
            print(f"{number} kills, step {steps[-1]}, {time.monotonic() - begin:.0f} s", flush=True)
    last = max(steps) + 100
    with open(options.dir / "log", "w", encoding="utf-8") as log:
        code = start(options, last, log, bool(options.fast_dir)).wait(timeout=4 * LIMIT_SECS)
    assert code == 0, (options.dir / "log").read_text(encoding="utf-8")
    CHECKS[options.kind](options.dir / "run", last)
    assert not options.fast_dir or not list(options.fast_dir.glob("*/*.index")), "the fast directory is not empty"
    assert len(set(steps)) > options.kills // 4, "hardly any start made progress before its kill"
    print(f"{options.kind}: {options.kills} kills, {last} steps: every output is that of an undisturbed run")


main()
