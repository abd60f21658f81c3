#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an example of LibTorch once in one piece, and once killed (kill -9) after a checkpoint and started again: both
must end with the same bits, the same results and all curves.

    check_examples.py PROGRAM --steps N --kill-after STEP --curves NAME... --histogram NAME

With --accuracy only once, to the end: the held-out accuracy must be at least this.

    check_examples.py PROGRAM --accuracy PERCENT
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time

LIMIT_SECS = 240


def start(program, directory, steps):
    arguments = [program, "--dir", str(directory)] + (["--steps", str(steps)] if steps else [])
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    """Returns what the program has printed and logged."""
    output, log = process.communicate(timeout=LIMIT_SECS)
    assert process.returncode == 0, (process.returncode, output, log)
    return output, log


def newest(directory):
    return max((int(each.name.split("-")[1].split(".")[0]) for each in directory.glob("model.ckpt-*.index")), default=0)


def kill_after(process, directory, step):
    end = time.monotonic() + LIMIT_SECS
    try:
        while newest(directory) < step:
            assert time.monotonic() < end, f"no checkpoint of step {step}"
            assert process.poll() is None, "the program ended before it was killed"
            time.sleep(0.01)  # For the checkpoint.
    finally:
        process.kill()
        process.communicate(timeout=LIMIT_SECS)
    assert process.returncode == -signal.SIGKILL, process.returncode


def check_curves(directory, steps, options):
    points = {}
    for line in (directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        point = json.loads(line)
        for name, value in point.items():
            points.setdefault(name, []).append((point.get("step"), value))
    for name in options.curves:
        assert name in points, f"no curve {name}, only {sorted(points)}"
        assert points[name][-1][0] == steps, f"{name} ends at step {points[name][-1][0]}"
    events = b"".join(each.read_bytes() for each in directory.glob("events.*"))
    assert options.histogram.encode() in events, f"no histogram {options.histogram}"


def check_kill(options, folder):
    whole, killed = folder / "whole", folder / "killed"
    output, _ = finish(start(options.program, whole, options.steps))
    kill_after(start(options.program, killed, options.steps), killed, options.kill_after)
    before = newest(killed)
    resumed_output, log = finish(start(options.program, killed, options.steps))
    assert f"restored {killed}/model.ckpt-{before}" in log, log

    data = f"model.ckpt-{options.steps}.data-00000-of-00001"
    assert (killed / data).read_bytes() == (whole / data).read_bytes(), f"{data} differs"
    # The last line reports the run itself.
    results = [each.replace(str(folder), "").replace("killed", "whole").splitlines()[:-1]
               for each in (output, resumed_output)]
    assert results[0] and results[0] == results[1], results
    for directory in (whole, killed):
        check_curves(directory, options.steps, options)
    print(f"killed after step {before} of {options.steps}; the same bits")


def check_accuracy(options, folder):
    began = time.monotonic()
    output, _ = finish(start(options.program, folder / "run", None))
    accuracy = float(re.search(r"at its best ([0-9.]+) %", output)[1])
    assert accuracy >= options.accuracy, f"found {accuracy} %, expected at least {options.accuracy} %"
    print(f"{accuracy} % in {time.monotonic() - began:.0f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--kill-after", type=int)
    parser.add_argument("--curves", nargs="+")
    parser.add_argument("--histogram")
    parser.add_argument("--accuracy", type=float)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (check_accuracy if options.accuracy else check_kill)(options, pathlib.Path(folder))


main()
