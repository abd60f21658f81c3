#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Starts data-parallel trainings, with the environment that torchrun gives its processes, and checks their results:
4 ranks have the same bits, and the result of one process with the whole batches, to rounding. If a rank is lost, or
differs, the others end with an error that names it, within the limit.

    check_data_parallel.py PROGRAM MODE...
"""

import array
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import time

LIMIT_SECS = 100
STEPS = 40
# Sums of floats in another order, over 40 steps of Adam.
TOLERANCE = 1e-6


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


def start(program, mode, path, rank, size, port):
    environment = dict(os.environ)
    if size > 1:
        environment |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
                        "MASTER_PORT": str(port)}
    return subprocess.Popen([program, mode, str(STEPS), str(path)], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def run(program, mode, path, size, lost=None):
    """Returns the output of each rank, without that of a rank that is lost."""
    port = free_port()
    ranks = [start(program, mode, path, rank, size, port) for rank in range(size)]
    try:
        outputs = {}
        for rank, process in enumerate(ranks):
            if rank == lost:
                continue
            output, errors = process.communicate(timeout=LIMIT_SECS)
            assert process.returncode in (0, 1), (rank, process.returncode, output, errors)
            assert re.match(rf"rank {rank} step ", output), (rank, output, errors)
            outputs[rank] = output.strip()
        return outputs
    finally:
        for process in ranks:
            process.kill()
            process.communicate()


def parameters(path):
    values = array.array("f")
    values.frombytes(path.read_bytes())
    return values


def check_equal(program, mode, folder):
    outputs = run(program, mode, folder / "ranks", 4)
    results = {output.split(maxsplit=2)[2] for output in outputs.values()}
    expected = "unused kept, rare trained, sum" if mode.endswith("unused") else "sum"
    assert len(results) == 1 and re.match(rf"step {STEPS} {expected} ", results.pop()), outputs
    if mode.removeprefix("backend-") in ("norm", "unused"):  # One process computes something else.
        return
    run(program, mode, folder / "alone", 1)
    ranks, alone = parameters(folder / "ranks"), parameters(folder / "alone")
    assert len(ranks) == len(alone) > 0
    difference = max(abs(a - b) for a, b in zip(ranks, alone))
    print(f"{mode}: at most {difference:.2g} from one process")
    assert difference <= TOLERANCE, difference


def check_errors(program, mode, folder, expected, lost=None, limit=LIMIT_SECS):
    began = time.monotonic()
    outputs = run(program, mode, folder / "ranks", 4, lost)
    duration = time.monotonic() - began
    for rank, output in outputs.items():
        print(output)
        assert re.search(f"rank {rank} step .* error {expected}", output), (mode, output)
    assert duration < limit, f"{duration:.1f} s, expected less than {limit} s"


def check(program, mode, folder):
    if mode == "shapes":
        check_errors(program, mode, folder,
                     'INVALID_ARGUMENT: libtorch::DataParallel: rank 2 of 4 has parameter "first.weight": Float '
                     r'\[9, 6\], requires grad, rank 0 has parameter "first.weight": Float \[8, 6\]')
    elif mode == "options":
        check_errors(program, mode, folder, "INVALID_ARGUMENT: libtorch::DataParallel: rank 1 of 4 has "
                     "DataParallelOptions::bucket_bytes 301, rank 0 has DataParallelOptions::bucket_bytes 300")
    elif mode == "backends":
        check_errors(program, mode, folder, "INVALID_ARGUMENT: libtorch::DataParallel: rank 1 of 4 has parameter "
                     r'"frozen": Float \[3\], rank 0 has parameter "frozen": Float \[3\], sent by the backend '
                     "from device 0 of the rank")
    elif mode == "no-backend":
        outputs = run(program, mode, folder / "ranks", 4)
        assert "cannot make the backend of the program: no such device" in outputs[1], outputs
        assert all("step 0 error" in output for output in outputs.values()), outputs
    elif mode == "twice":
        check_errors(program, mode, folder, 'FAILED_PRECONDITION: .*second gradient before finish.*no_sync')
    elif mode == "killed":
        check_errors(program, mode, folder, "UNAVAILABLE: .*no response from rank 2$", lost=2, limit=30)
    elif mode == "killed-chief":
        check_errors(program, mode, folder, "UNAVAILABLE: .*no response from rank 0$", lost=0, limit=30)
    elif mode == "stopped":
        check_errors(program, mode, folder, "(DEADLINE_EXCEEDED|UNAVAILABLE): .*no response from rank 2$", lost=2,
                     limit=30)
    else:
        check_equal(program, mode, folder)


def main():
    program, *modes = sys.argv[1:]
    for mode in modes:
        with tempfile.TemporaryDirectory() as folder:
            check(str(pathlib.Path(program).resolve()), mode, pathlib.Path(folder))


main()
