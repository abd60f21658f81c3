#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Trains with several processes on this machine, and kills one of them (kill -9) on the way: the others end, all are
started again, and resume from the last checkpoint. Then trains undisturbed, and compares the checkpoints of the last
step, bit by bit.

    run_data_parallel.py PROGRAM --dir DIRECTORY [--ranks 4] [--steps 300] [--kill-after 100]

PROGRAM is digits_data_parallel.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

LIMIT_SECS = 240


def free_port():
    """One that nobody listens on, below those that connections are given, from 32768 on."""
    while True:
        port = random.randrange(10000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def start(options, directory, restart):
    """Starts all ranks, with the environment that torchrun would give them."""
    port = free_port()
    ranks = []
    directory.mkdir(parents=True, exist_ok=True)
    for rank in range(options.ranks):
        environment = os.environ | {
            "RANK": str(rank), "WORLD_SIZE": str(options.ranks), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "demo", "TORCHELASTIC_RESTART_COUNT": str(restart)}
        with open(directory / f"rank-{rank}.log", "a", encoding="utf-8") as log:
            ranks.append(subprocess.Popen([options.program, str(directory), str(options.steps)], env=environment,
                                          stdout=log, stderr=log))
    return ranks


def newest(directory):
    return max((int(each.name.split("-")[1].split(".")[0]) for each in directory.glob("model.ckpt-*.index")), default=0)


def run(options, directory, restart=0, kill_after=None):
    """Returns whether the training has reached its end."""
    ranks = start(options, directory, restart)
    end = time.monotonic() + LIMIT_SECS
    try:
        if kill_after is not None:
            while newest(directory) < kill_after:
                assert time.monotonic() < end, f"no checkpoint of step {kill_after} in {directory}"
                assert all(each.poll() is None for each in ranks), f"a rank has ended: see {directory}/rank-*.log"
                time.sleep(0.01)
            ranks[-1].kill()
        codes = [each.wait(timeout=max(1, end - time.monotonic())) for each in ranks]
    finally:
        for each in ranks:
            each.kill()
            each.wait()
    print(f"{directory.name}, start {restart + 1}: the ranks ended with {codes}; newest checkpoint: step "
          f"{newest(directory)}", flush=True)
    if kill_after is not None:
        assert codes[-1] == -signal.SIGKILL and newest(directory) < options.steps, "the training ended before the kill"
        assert all(code > 0 for code in codes[:-1]), "a rank did not notice that another was killed"
    return all(code == 0 for code in codes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--kill-after", type=int, default=100)
    options = parser.parse_args()
    disturbed, whole = options.dir / "disturbed", options.dir / "undisturbed"
    for directory in (disturbed, whole):
        shutil.rmtree(directory, ignore_errors=True)
    run(options, disturbed, kill_after=options.kill_after)
    assert run(options, disturbed, restart=1), f"see {disturbed}/rank-*.log"
    assert run(options, whole), f"see {whole}/rank-*.log"
    data = f"model.ckpt-{options.steps}.data-00000-of-00001"
    if (disturbed / data).read_bytes() != (whole / data).read_bytes():
        sys.exit(f"{data} differs in {disturbed} and {whole}")
    print((whole / "rank-0.log").read_text(encoding="utf-8").splitlines()[-1])
    print("The result of the disturbed training is that of the undisturbed one, bit by bit.")


main()
