#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Announces the end of a training at a random moment, in each way that PreemptionHook knows, and
kills it with SIGKILL at the end that was announced. Each step that it made must be in its newest
checkpoint: there was time to save it.

    check_notices.py preempted_trainer crochet --dir DIR [--notices N] [--jobs N] [--seed N]

Before the notice the metadata servers answer slowly, wrongly, by redirecting, or not at all. A
server to which they redirect, and which is set as a proxy, must not be asked.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import metadata_server

# How long before the end each way announces it, in seconds: the least and the most. Servers that
# answered wrongly are asked again after up to 5 s, and say whole seconds.
GRACE = {"gce": (30, 30), "aws": (9, 12), "azure": (9, 12), "file": (1.5, 3), "signal": (1.5, 3)}
# A Google machine always has 30 s: one in 25 is one.
KINDS = ["gce"] + ["aws", "azure", "file", "signal"] * 6


def newest_step(arguments, directory):
    done = subprocess.run([arguments.crochet, "list", "--json", directory / "run"], check=False,
                          capture_output=True, text=True)
    checkpoints = json.loads(done.stdout or "{}").get("checkpoints", [])
    return max((one["step"] for one in checkpoints), default=0)


def lines_of(path):
    return path.read_text().split() if path.exists() else []


def train(arguments, number, stranger):
    """Returns (kind, seconds that were not used, problem)."""
    rand = random.Random(arguments.seed * 1_000_003 + number)
    kind = KINDS[number % len(KINDS)]
    directory = arguments.dir / str(number)
    directory.mkdir(parents=True)
    grace = rand.uniform(*GRACE[kind])
    step_ms = rand.choice([1, 5, 20, 100, 300])
    machine = None
    if kind == "file":
        options = [directory / "stop", step_ms, grace]
    elif kind == "signal":
        options = [int(signal.SIGUSR1), step_ms, grace]
    else:
        machine = metadata_server.Machine(kind, rand.random(), stranger.host)
        options = [machine.host, step_ms]
    environment = dict(os.environ, http_proxy=f"http://{stranger.host}", all_proxy=f"http://{stranger.host}")
    with (directory / "steps").open("w") as steps, (directory / "log").open("w") as log:
        process = subprocess.Popen([arguments.trainer, directory / "run", kind, *map(str, options)],
                                   stdout=steps, stderr=log, env=environment)
    try:
        start = time.monotonic()
        while not lines_of(directory / "steps"):
            if time.monotonic() - start > 60 or process.poll() is not None:
                return kind, 0, "it does not train"
            time.sleep(0.01)
        time.sleep(rand.uniform(0, 2))
        ends_at = time.time() + grace
        if kind == "file":
            (directory / "stop").touch()
            ends_at = (directory / "stop").stat().st_mtime + grace
        elif kind == "signal":
            process.send_signal(signal.SIGUSR1)
        else:
            if kind != "gce":
                ends_at = int(ends_at)
            machine.announce(ends_at)
        while process.poll() is None and time.time() < ends_at:
            time.sleep(0.005)
        left = ends_at - time.time()
        killed = process.poll() is None
        process.kill()
        code = process.wait()
    finally:
        process.kill()
        if machine:
            machine.close()
    made = int(lines_of(directory / "steps")[-1])
    saved = newest_step(arguments, directory)
    problem = ""
    if saved != made:
        problem = f"made step {made}, saved step {saved}"
    elif killed:
        problem = "was still there when its time was over"
    elif code != 128 + signal.SIGTERM:
        problem = f"exit code {code}"
    if problem:
        problem += f" (grace {grace:.2f} s until {ends_at:.2f}, steps of {step_ms} ms): {directory}"
        if machine:
            (directory / "answers").write_text("\n".join(machine.answers))
    else:
        shutil.rmtree(directory)
    return kind, left, problem


def check_connections(arguments):
    """By the calls of the system: only the server that was given is asked."""
    if not shutil.which("strace"):
        return
    directory = arguments.dir / "traced"
    directory.mkdir(parents=True)
    stranger = metadata_server.Stranger()
    machine = metadata_server.Machine("gce", 7, stranger.host)
    machine.announce(time.time())
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o", directory / "calls", arguments.trainer,
                    directory / "run", "gce", machine.host, "1000"],
                   check=False, capture_output=True, timeout=120)
    machine.close()
    stranger.close()
    calls = (directory / "calls").read_text()
    ports = set(re.findall(r"connect\(.*sin_port=htons\((\d+)\).*inet_addr\(\"127\.0\.0\.1\"\)", calls))
    others = [line for line in calls.splitlines() if "connect(" in line and "sin_port=" in line and
              f"htons({machine.host.split(':')[1]})" not in line]
    if len(ports) != 1 or others:
        sys.exit(f"it asked others: {others or ports}")
    shutil.rmtree(directory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainer", type=pathlib.Path)
    parser.add_argument("crochet")
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--notices", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    shutil.rmtree(arguments.dir, ignore_errors=True)
    arguments.dir.mkdir(parents=True)
    check_connections(arguments)
    stranger = metadata_server.Stranger()
    unused = {kind: [] for kind in GRACE}
    problems = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for kind, left, problem in pool.map(lambda n: train(arguments, n, stranger), range(arguments.notices)):
            if problem:
                problems.append(f"{kind}: {problem}")
                print(problems[-1], flush=True)
            else:
                unused[kind].append(left)
    stranger.close()
    for kind, times in unused.items():
        if times:
            print(f"{kind}: {len(times)} notices, ended {sorted(times)[len(times) // 2]:.2f} s before its end (median)")
    print(f"{arguments.notices} notices, {len(problems)} problems, {len(stranger.requests)} requests elsewhere")
    sys.exit(bool(problems or stranger.requests))


if __name__ == "__main__":
    main()
