#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Does to a program of this folder what its situation is about, and compares its results, which it
prints on standard output, exactly with those of a run that was not interrupted.

    check_programs.py NAME PROGRAM
"""
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
LIMIT_SECS = float(os.environ.get("CROCHET_LIMIT_SECS", 120))
NAME = sys.argv[1]
PROGRAM = str(pathlib.Path(sys.argv[2]).resolve())


def check_equal(found, expected, what):
    assert found == expected, f"{what}: found {found!r}, expected {expected!r}"


def run(folder, *args, status=0):
    finished = subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True,
                              timeout=LIMIT_SECS, check=False)
    assert finished.returncode == status, finished
    return finished


def start(folder, *args):
    return subprocess.Popen([PROGRAM, *args], cwd=folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def finish(process):
    """Waits for a process that was started; returns what it printed."""
    output, errors = process.communicate(timeout=LIMIT_SECS)
    assert process.returncode == 0, errors
    return output


def single(number):
    """The number, rounded to a float."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def steps(folder, directory):
    """The steps of the checkpoints, without that of the beginning."""
    names = [each.name for each in (pathlib.Path(folder) / directory).glob("*.ckpt-*.index")]
    names += [each.name for each in (pathlib.Path(folder) / directory).glob("weights-*.index")]
    found = (int(re.search(r"-(\d+)\.index$", each)[1]) for each in names)
    return sorted(each for each in found if each > 0)


def wait_for(process, condition, what):
    end = time.monotonic() + LIMIT_SECS
    while not condition():
        assert process.poll() is None, f"it ended before {what}: {process.communicate()}"
        assert time.monotonic() < end, f"it did not reach {what}"
        time.sleep(0.005)


def interrupt(process, condition, number=signal.SIGKILL):
    """Sends the signal once the condition holds; returns what the process printed."""
    try:
        wait_for(process, condition, "the moment to interrupt it")
        process.send_signal(number)
        output, _ = process.communicate(timeout=LIMIT_SECS)
        check_equal(process.returncode, -number, "status")
        return output
    finally:
        process.kill()


def check_resumes(directory, *args, at_step=1):
    """A run that is killed after a checkpoint of this step, or a later one, and started again
    prints what another one does. Returns that."""
    with tempfile.TemporaryDirectory() as folder:
        expected = run(folder, *args).stdout
    with tempfile.TemporaryDirectory() as folder:
        interrupt(start(folder, *args), lambda: max(steps(folder, directory), default=0) >= at_step)
        resumed = run(folder, *args)
        check_equal(resumed.stdout, expected, "the resumed run")
        assert "resumed from" in resumed.stderr, resumed.stderr
        check_equal(run(folder, *args).stdout, expected, "a third run, without a step")
    return expected


def batch_job():
    with tempfile.TemporaryDirectory() as folder:
        expected = run(folder, "1500").stdout
    with tempfile.TemporaryDirectory() as folder:
        job = start(folder, "1500")
        wait_for(job, lambda: (pathlib.Path(folder) / "runs/job/model.ckpt-0.index").exists(),
                 "its beginning")
        job.send_signal(signal.SIGUSR1)
        wait_for(job, lambda: steps(folder, "runs/job"), "the save that SIGUSR1 requests")
        job.send_signal(signal.SIGTERM)
        output, errors = job.communicate(timeout=LIMIT_SECS)
        check_equal((job.returncode, output), (143, ""), "at SIGTERM")
        last_step = int(re.search(r"^step (\d+) ", errors, re.M)[1])
        check_equal(len(steps(folder, "runs/job")), 2, "checkpoints")
        check_equal(steps(folder, "runs/job")[-1], last_step, "the last checkpoint")
        resumed = run(folder, "1500")
        assert f"resumed from {last_step}" in resumed.stderr, resumed.stderr
        check_equal(resumed.stdout, expected, "the resumed run")
        # A signal without a checkpoint since: nothing is lost at SIGKILL but the steps since.
    with tempfile.TemporaryDirectory() as folder:
        job = start(folder, "1500")
        wait_for(job, lambda: (pathlib.Path(folder) / "runs/job/model.ckpt-0.index").exists(),
                 "its beginning")
        job.send_signal(signal.SIGUSR1)
        interrupt(job, lambda: steps(folder, "runs/job"))
        check_equal(run(folder, "1500").stdout, expected, "a run that was killed after SIGUSR1")


def c_style():
    output = check_resumes("runs/bodies", "1500", at_step=700)
    assert "middle" in output, output


def changed_struct():
    with tempfile.TemporaryDirectory() as folder:
        old = run(folder, "old").stdout
        errors = run(folder, "strict", status=1).stdout + run(folder, "renamed", status=1).stdout
        errors = errors.replace(f"{folder}/", "")
        check_equal(errors, (HERE / "changed_struct.txt").read_text(), "the errors")
        check_equal(run(folder, "old").stdout, old, "the old program, after the refusals")
        # What the second error says to write is in the program.
        source = re.sub(r"\s", "", (HERE / "changed_struct.cc").read_text())
        option = re.search(r"Start with \.restore = \{(.*\})\}", errors.splitlines()[1])[1]
        assert re.sub(r"\s", "", option) in source, option
        first = run(folder, "resume")
        assert "resumed from 100" in first.stderr, first.stderr
        # From the old weights, with a momentum that begins as the program initialises it.
        kernel = single(float(old.split()[0]))
        momentum = 0.5
        for _ in range(100):
            momentum = single(momentum * single(0.9))
            kernel = single(kernel + momentum)
        check_equal(first.stdout, f"{kernel:.9g} {momentum:.9g} 200\n", "the new program")
        check_equal(run(folder, "resume").stdout, first.stdout, "with the options again")
        check_equal(run(folder, "strict").stdout, first.stdout, "without them")


def containers():
    output = check_resumes("runs/market", "1200")
    assert "customer" in output and "product" in output, output


def eigen_network():
    with tempfile.TemporaryDirectory() as folder:
        expected = run(folder, "train").stdout.replace(f"{folder}/", "")
        best = run(folder, "use").stdout.replace(f"{folder}/", "")
        assert "no decrease" in expected, expected
        check_equal(best, expected.splitlines(keepends=True)[-1], "the best checkpoint")
    with tempfile.TemporaryDirectory() as folder:
        interrupt(start(folder, "train"), lambda: max(steps(folder, "runs/network"), default=0) > 99)
        resumed = run(folder, "train")
        check_equal(resumed.stdout.replace(f"{folder}/", ""), expected, "the resumed run")
        assert "resumed from" in resumed.stderr, resumed.stderr
        resumed_best = run(folder, "use").stdout.replace(f"{folder}/", "")
        check_equal(resumed_best, best, "the best of the resumed run")


def epochs():
    with tempfile.TemporaryDirectory() as folder:
        expected = run(folder).stdout
        check_equal(len(expected.splitlines()), 41, "lines")
        last_step = int(re.search(r"after (\d+) steps, 40 epochs", expected)[1])
        # One batch of each epoch has the number that is NaN; after it, all are skipped.
        check_equal(last_step, 40 * 31, "steps")
    with tempfile.TemporaryDirectory() as folder:
        # Steps of a multiple of 50 that are not at the end of an epoch, which has 31 steps.
        middle = lambda: any(each % 50 == 0 for each in steps(folder, "runs/mean"))
        interrupt(start(folder), middle)
        resumed = run(folder)
        assert "resumed from" in resumed.stderr, resumed.stderr
        assert expected.endswith(resumed.stdout) and len(resumed.stdout) < len(expected), (
            f"found {resumed.stdout!r}, expected the end of {expected!r}")


def evaluator():
    with tempfile.TemporaryDirectory() as folder:
        expected = run(folder, "train", "1500").stdout
    with tempfile.TemporaryDirectory() as folder:
        followers = [start(folder, "newest", "1500"), start(folder, "best", "1500")]
        try:
            interrupt(start(folder, "train", "1500"), lambda: steps(folder, "runs/job"))
            check_equal(run(folder, "train", "1500").stdout, expected, "the resumed run")
            newest, best = (finish(each) for each in followers)
        finally:
            for each in followers:
                each.kill()
        check_equal(newest, expected, "the evaluation of the newest")
        metrics = {each: json.loads((pathlib.Path(folder) / f"runs/job/weights-{each}.json")
                                    .read_text())["metrics"]["loss"]
                   for each in steps(folder, "runs/job")}
        best_step = min(metrics, key=metrics.get)
        step, loss = best.split()
        check_equal((int(step), float(loss)), (best_step, metrics[best_step]), "the best")


def inference():
    with tempfile.TemporaryDirectory() as folder:
        expected = run(folder, "train", "runs/bundle", "bundle").stdout
        check_equal(run(folder, "train", "runs/plain", "safetensors").stdout, expected, "format")
        for path in ["runs/bundle", "runs/bundle/model.ckpt-100", "runs/plain",
                     "runs/plain/model.ckpt-100.safetensors"]:
            check_equal(run(folder, "predict", path).stdout, expected, path)
        middle = run(folder, "predict", "runs/plain/model.ckpt-40").stdout
        check_equal(middle, run(folder, "predict", "runs/bundle/model.ckpt-40").stdout, "step 40")
        assert middle != expected, middle
        # A file of another program.
        tensors = {"model/weights": ("F32", [3], struct.pack("<3f", 1, 2, 4)),
                   "model/mixing": ("F64", [2, 2], struct.pack("<4d", 0, 0.5, 0.25, 0)),
                   "model/version": ("I64", [], struct.pack("<q", 7))}
        header, data = {}, b""
        for name, (dtype, shape, values) in tensors.items():
            header[name] = {"dtype": dtype, "shape": shape,
                            "data_offsets": [len(data), len(data) + len(values)]}
            data += values
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        (pathlib.Path(folder) / "other.safetensors").write_bytes(
            struct.pack("<Q", len(text)) + text + data)
        check_equal(run(folder, "predict", "other.safetensors").stdout, "3.125 7\n", "another's")


def loader():
    check_resumes("runs/loader", "1500")


def optimizer():
    output = check_resumes("runs/adam", "1500")
    assert "3 layers have moments" in output and "warm" in output, output
    check_equal(check_resumes("runs/adam", "1500", at_step=606), output, "killed after it has all")


def own_hook():
    with tempfile.TemporaryDirectory() as folder:
        expected = run(folder, "80").stdout
        assert re.match(r"250: .*\n500: .*\nat 700: .*\n750: .*\n1000: ", expected), expected
        assert "80 there are enough records" in expected, expected
    for at_step in [130, 700]:
        with tempfile.TemporaryDirectory() as folder:
            interrupt(start(folder, "80"),
                      lambda: max(steps(folder, "runs/records"), default=0) >= at_step)
            resumed = run(folder, "80")
            step = int(re.search(r"resumed from (\d+)", resumed.stderr)[1])
            assert expected.endswith(resumed.stdout), (resumed.stdout, expected)
            check_equal("at 700" in resumed.stdout, step < 700, f"at(), resumed from {step}")


def python_script():
    check_resumes("train", "1500")
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "450")
        check_equal(steps(folder, "train"), [400, 450], "max_to_keep")


def ranks():
    ranks_ = ["0", "1", "2"]
    with tempfile.TemporaryDirectory() as folder:
        expected = [run(folder, each, "run", "0", "1500").stdout for each in ranks_]
        assert len(set(expected)) == 3, expected
    with tempfile.TemporaryDirectory() as folder:
        saved = lambda rank: max(steps(folder, f"runs/rank-{rank}"), default=0)
        running = [start(folder, each, "run", "0", "1500") for each in ranks_]
        try:
            interrupt(running[1], lambda: saved(1) > 0)
            interrupt(running[0], lambda: saved(0) > saved(1))
            interrupt(running[2], lambda: saved(2) > 0)
        finally:
            for each in running:
                each.kill()
        newest = [int(run(folder, each, "newest").stdout) for each in ranks_]
        agreed = min(newest)
        assert 0 < agreed < newest[0], newest
        running = [start(folder, each, "run", str(agreed), "1500") for each in ranks_]
        for process, output in zip(running, expected):
            found, errors = process.communicate(timeout=LIMIT_SECS)
            check_equal(found, output, "a resumed rank")
            assert f"first step {agreed}\n" in errors, errors


def simulation():
    check_resumes("runs/rod", "60", at_step=10)


def warm_start():
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "teacher")
        saved = [pathlib.Path(folder) / each for each in ("runs/teacher", "runs/student")]
        expected = run(folder, "student", "1000").stdout.splitlines()
        metrics = [json.loads(each.read_text())["metrics"]["accuracy"]
                   for each in saved[0].glob("*.json")]
        # The encoder's weights are what the metric is; the head is fresh.
        check_equal(expected[0], f"from {max(metrics):.17g}, 0", "what the student starts with")
        saved[1].rename(saved[1].with_name("student of the first run"))
        interrupt(start(folder, "student", "1000"), lambda: steps(folder, "runs/student"))
        resumed = run(folder, "student", "1000")
        assert "resumed from" in resumed.stderr, resumed.stderr
        check_equal(resumed.stdout.splitlines(), expected[1:], "the resumed student")


globals()[NAME]()
