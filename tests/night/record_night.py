#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Records a bad night of a training: killed, preempted, a full disk, a spike,
NaN, a step that hangs. Writes its journal
and curves into recorded/, of which the test night_story prints a report. Needs root, to mount a small
disk.

    record_night.py <night_trainer> <crochet>
"""

import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NIGHT = pathlib.Path(__file__).resolve().parent / "recorded"


class Night:
    def __init__(self, trainer, folder):
        self.trainer, self.disk = trainer, folder
        self.run = folder / "run"
        self.notice = folder / "notice"

    def start(self, nan_from=0):
        self.process = subprocess.Popen([self.trainer, self.run, self.notice, str(nan_from),
                                         sys.argv[2]],
                                        stderr=subprocess.DEVNULL)

    def steps(self):
        try:
            lines = (self.run / "metrics.jsonl").read_text().splitlines()
        except FileNotFoundError:
            return 0
        return max([0] + [int(step) for step in re.findall(r'"step":(\d+)', "\n".join(lines[-3:]))])

    def wait_for(self, what, seconds=60):
        end = time.monotonic() + seconds
        while not what():
            if time.monotonic() > end or self.process.poll() is not None:
                raise TimeoutError(f"step {self.steps()}, exit code {self.process.poll()}")
            time.sleep(0.01)

    def journal(self):
        return (self.run / "events.jsonl").read_text()


def record(night):
    night.start()
    night.wait_for(lambda: '"event":"saved"' in (night.journal() if night.run.exists() else "") and
                   night.steps() >= 700)
    night.process.kill()
    night.process.wait()
    time.sleep(1.5)

    night.start()
    night.wait_for(lambda: night.steps() >= 1100)
    night.notice.touch()
    assert night.process.wait(30) == 128 + signal.SIGTERM, night.process.returncode
    night.notice.unlink()
    time.sleep(1)

    night.start(nan_from=2900)
    night.wait_for(lambda: night.steps() >= 1500)
    ballast = night.disk / "ballast"
    subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=64k"], stderr=subprocess.DEVNULL)
    night.wait_for(lambda: '"event":"save_failed"' in night.journal())
    ballast.unlink()
    assert night.process.wait(60) != 0
    time.sleep(1)

    night.start()
    time.sleep(1)
    night.process.send_signal(signal.SIGSTOP)
    night.wait_for(lambda: '"event":"hung"' in night.journal())
    night.process.send_signal(signal.SIGCONT)
    assert night.process.wait(60) == 0, night.process.returncode


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", folder], check=True)
    try:
        night = Night(sys.argv[1], folder)
        record(night)
        NIGHT.mkdir(exist_ok=True)
        for name in ("events.jsonl", "metrics.jsonl"):
            text = (night.run / name).read_text()
            for own, given in ((str(folder), "/data"), (sys.argv[1], "night_trainer"),
                               (sys.argv[2], "crochet"),
                               (socket.gethostname(), "node7")):
                text = text.replace(own, given)
            # What is of this machine alone.
            text = re.sub(r'"boot":"[^"]*"', '"boot":"b1"', text)
            text = re.sub(r',"memory_group":"[^"]*","oom_kills":\d+', "", text)
            (NIGHT / name).write_text(text)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
