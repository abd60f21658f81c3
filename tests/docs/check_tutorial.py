#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/tutorial.md do what the page says: all have the result of the bare loop,
also after a kill (from step 3) or a signal (step 5), and the last one finds the best checkpoint.

    check_tutorial.py PROGRAM_1 ... PROGRAM_6
"""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

STEPS = "2500"  # Of one millisecond: enough for a checkpoint on the way.
LIMIT_SECS = 60


def run(program, folder):
    return subprocess.run([program, STEPS], cwd=folder, capture_output=True, text=True,
                          timeout=LIMIT_SECS, check=True)


def interrupt(program, folder, number):
    """Starts the program, sends the signal after its first checkpoint, and returns its status."""
    with subprocess.Popen([program, STEPS], cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + LIMIT_SECS
            while not [each for each in pathlib.Path(folder).glob("runs/sine/model.ckpt-*.index")
                       if not each.name.startswith("model.ckpt-0.")]:
                assert process.poll() is None, f"{program} ended before its first checkpoint"
                assert time.monotonic() < end, f"{program} saved nothing"
                time.sleep(0.01)
            process.send_signal(number)
            return process.wait(timeout=LIMIT_SECS)
        finally:
            process.kill()


def check_equal(found, expected, what):
    assert found == expected, f"{what}: found {found!r}, expected {expected!r}"


def main():
    programs = [str(pathlib.Path(each).resolve()) for each in sys.argv[1:]]
    expected = None
    for step, program in enumerate(programs[:5], start=1):
        with tempfile.TemporaryDirectory() as folder:
            if step >= 3:
                number = signal.SIGTERM if step == 5 else signal.SIGKILL
                status = interrupt(program, folder, number)
                check_equal(status, 128 + number if step == 5 else -number, f"step {step}: status")
            finished = run(program, folder)
            expected = expected or finished.stdout
            check_equal(finished.stdout, expected, f"step {step}: result")
            if step >= 3:
                assert "resumed from" in finished.stderr, finished.stderr
                check_equal(run(program, folder).stdout, expected, f"step {step}: a third run")
            if step == 5:
                loaded = subprocess.run([programs[5]], cwd=folder, capture_output=True, text=True,
                                        timeout=LIMIT_SECS, check=True)
                assert loaded.stdout.startswith("runs/sine/model.ckpt-"), loaded.stdout


main()
