#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Kills a Python program with SIGKILL at random moments, again and again: nothing that was durable is lost.

    python/tests/kills.py saver|loop --number 1000 [--seed 1]

"saver": the program saves states of its own with crochet.Saver, and prints the step of each that is
durable. After each kill the newest checkpoint must be of that step or a later one, and whole.
"loop": crochet.Loop makes 400 steps over many lives; their result must be that of one life, to the bit.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    "saver": """
import sys, threading
import crochet, numpy as np

state = {"n": np.zeros(50_000, np.int64), "step": 0, "nested": {"list": [0, 0], "text": ""}}
saver = crochet.Saver("run", max_to_keep=2)
found = saver.restore(state)
if found is not None:
    assert state["step"] == found and (state["n"] == found).all(), (found, state)
    assert state["nested"] == {"list": [found, -found], "text": str(found)}, (found, state)
print("restored", found, flush=True)
step = found or 0
tickets = []
while True:
    step += 1
    state["n"][:] = step
    state["step"] = step
    state["nested"] = {"list": [step, -step], "text": str(step)}
    tickets.append(saver.save(step, state))
    state["n"][:] = -1
    while tickets and tickets[0].seconds("durable") is not None:
        print("durable", tickets.pop(0).step, flush=True)
""",
    "loop": """
import crochet, numpy as np

state = {"w": np.zeros(1000), "rng": np.random.default_rng(1), "log": [0.0, 0.0], "sum": 0}
loop = crochet.Loop("run", state, until=400, every_steps=7)
print("restored", loop.step, flush=True)
for step in loop:
    state["w"] += state["rng"].normal(size=1000)
    state["sum"] += int(state["rng"].integers(1000))
    if step % 10 == 0:
        state["log"].append(float(state["w"][0]))
print("done", state["w"].tobytes().hex(), state["sum"], state["log"], flush=True)
""",
}


def start(program, folder):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAMS[program]], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as straight:
        expected = None
        if args.program == "loop":
            out, _ = start("loop", straight).communicate()
            expected = [line for line in out.splitlines() if line.startswith("done")]
            assert expected, out
        kills = durable = resumed = finished = 0
        while kills < args.number:
            process = start(args.program, folder)
            first = process.stdout.readline().split()
            if not first or first[0] != "restored":
                sys.exit(f"after {kills} kills: {process.communicate()[1][-2000:]}")
            found = 0 if first[1] == "None" else int(first[1])
            if found < durable:
                sys.exit(f"LOST after {kills} kills: restored {found}, but {durable} was durable")
            resumed += found > 0
            time.sleep(draw.expovariate(1 / 0.15))
            process.send_signal(signal.SIGKILL)
            out, err = process.communicate()
            if process.returncode not in (-signal.SIGKILL, 0):
                sys.exit(f"after {kills} kills: {err[-2000:]}")
            kills += process.returncode != 0
            for line in out.split("\n")[:-1]:  # Not one that a kill has cut off.
                word, *rest = line.split()
                if word == "durable":
                    durable = int(rest[0])
                elif word == "done":
                    if line != expected[0]:
                        sys.exit(f"after {kills} kills: another result than in one life")
                    finished += 1
                    durable = 0
                    for name in os.listdir(f"{folder}/run"):
                        os.unlink(f"{folder}/run/{name}")
        print(f"{kills} kills, {resumed} lives resumed, {finished} runs finished as in one life: 0 lost")


if __name__ == "__main__":
    main()
