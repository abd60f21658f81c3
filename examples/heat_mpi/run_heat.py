#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Computes the heat of a plate with several processes of MPI, and kills one of them (kill -9) on the way: the job ends,
and is started again with one process less, which continues from the last checkpoint. Then computes undisturbed, and
compares the checkpoints of the last step.

    run_heat.py PROGRAM --crochet COMMAND --dir DIRECTORY [--ranks 4] [--steps 20000] [--kill-after 5000]

PROGRAM is heat_mpi, COMMAND the command crochet.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

LIMIT_SECS = 240


def newest(directory):
    return max((int(each.name.split("-")[1].split(".")[0]) for each in directory.glob("model.ckpt-*.index")), default=0)


def ranks_of(job):
    """The processes that mpirun has started."""
    children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text(encoding="utf-8")
    return [int(pid) for pid in children.split()]


def run(options, directory, ranks, kill_after=None):
    """Returns whether the job has reached its end."""
    # Open MPI starts more processes than cores, and starts any as root, only if it is asked to.
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    directory.mkdir(parents=True, exist_ok=True)
    command = [options.mpirun, "-n", str(ranks), options.program, "--dir", str(directory), "--steps",
               str(options.steps), "--save-every", str(options.save_every)]
    end = time.monotonic() + LIMIT_SECS
    with open(directory / "log", "a", encoding="utf-8") as log:
        job = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        if kill_after is not None:
            while newest(directory) < kill_after:
                assert time.monotonic() < end, f"no checkpoint of step {kill_after} in {directory}"
                assert job.poll() is None, f"the job has ended: see {directory}/log"
                time.sleep(0.005)
            os.kill(ranks_of(job)[-1], signal.SIGKILL)
        code = job.wait(timeout=max(1, end - time.monotonic()))
    finally:
        job.kill()
        job.wait()
    step = newest(directory)
    print(f"{directory.name}: {ranks} ranks ended with code {code}; newest checkpoint: step {step}", flush=True)
    if kill_after is not None:
        assert code != 0 and step < options.steps, "the job ended before the kill"
    return code == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--crochet", required=True)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--save-every", type=int, default=1000)
    parser.add_argument("--kill-after", type=int, default=5000)
    options = parser.parse_args()
    disturbed, whole = options.dir / "disturbed", options.dir / "undisturbed"
    for directory in (disturbed, whole):
        shutil.rmtree(directory, ignore_errors=True)
    run(options, disturbed, options.ranks, options.kill_after)
    assert run(options, disturbed, options.ranks - 1), f"see {disturbed}/log"
    assert run(options, whole, options.ranks), f"see {whole}/log"
    last = [str(directory / f"model.ckpt-{options.steps}") for directory in (disturbed, whole)]
    if subprocess.run([options.crochet, "diff", *last], check=False).returncode != 0:
        sys.exit(f"{last[0]} and {last[1]} differ")
    print((whole / "log").read_text(encoding="utf-8").splitlines()[-1])
    print(f"{options.ranks - 1} ranks have ended with the result of {options.ranks}, bit by bit.")


main()
