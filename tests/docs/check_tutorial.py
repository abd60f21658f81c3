#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/tutorial.md do what the page says, in one folder and in the page's order, as
a reader runs them: all have the result of the bare loop, also after a kill (from step 3) or a
signal (step 5), and the last one finds the best checkpoint.

    check_tutorial.py CROCHET PROGRAM_1 ... PROGRAM_6
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


def checkpoints(folder):
    return {each for each in pathlib.Path(folder).glob("runs/*/model.ckpt-*.index")
            if not each.name.startswith("model.ckpt-0.")}


def interrupt(program, folder, number):
    """Starts the program, sends the signal after its first checkpoint, and returns its status."""
    before = checkpoints(folder)
    with subprocess.Popen([program, STEPS], cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + LIMIT_SECS
            while checkpoints(folder) <= before:
                assert process.poll() is None, f"{program} ended before its first checkpoint"
                assert time.monotonic() < end, f"{program} saved nothing"
                time.sleep(0.01)
            process.send_signal(number)
            return process.wait(timeout=LIMIT_SECS)
        finally:
            process.kill()


def check_equal(found, expected, what):
    assert found == expected, f"{what}: found {found!r}, expected {expected!r}"


def check_resuming(program, folder, number, status):
    """A signal after the first checkpoint: the next start resumes, and the one after it ends."""
    check_equal(interrupt(program, folder, number), status, f"{program}: status")
    finished = run(program, folder)
    assert "resumed from" in finished.stderr, finished.stderr
    check_equal(run(program, folder).stdout, finished.stdout, f"{program}: a third run")
    return finished.stdout


def main():
    crochet, bare, looped, tracked, watched, ended, used = (str(pathlib.Path(each).resolve())
                                                            for each in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        expected = run(bare, folder).stdout
        check_equal(run(looped, folder).stdout, expected, "step 2")
        for program, number, status in ((tracked, signal.SIGKILL, -signal.SIGKILL),
                                        (watched, signal.SIGKILL, -signal.SIGKILL),
                                        (ended, signal.SIGTERM, 128 + signal.SIGTERM)):
            check_equal(check_resuming(program, folder, number, status), expected, program)
        loaded = subprocess.run([used], cwd=folder, capture_output=True, text=True,
                                timeout=LIMIT_SECS, check=True)
        assert "/runs/best/model.ckpt-" in loaded.stdout, loaded.stdout
        rehearsed = subprocess.run([crochet, "rehearse", "--", ended, "400"], cwd=folder,
                                   capture_output=True, text=True, timeout=LIMIT_SECS, check=True)
        assert rehearsed.stdout.startswith("killed after step 200, resumed from 179: "), rehearsed


main()
