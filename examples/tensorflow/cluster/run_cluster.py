#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Trains the digits in a cluster on this machine: parameter servers, and workers that start one after another.

    run_cluster.py <digits_cluster> <digits.meta> [--workers N] [--ps N] [--steps N] [--stagger K] [--dir DIR]

<digits.meta> was written by ../make_digits_graph.py, with --ps N or without; without, the workers place its variables.
Each member is a process of <digits_cluster>; worker 0 is the chief. Worker n starts at step int(K * log(n + 1)), which
the table at the end compares with the step at which it did.
Run it again with more steps to resume from the last checkpoint. Ctrl-C, SIGTERM and SIGHUP end it cleanly, with
a checkpoint; a second one ends it at once.
"""

import argparse
import ctypes
import math
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time


def free_ports(number):
    """Ports that nobody listens on, below those that connections are given, from 32768 on."""
    sockets = []
    ports = []
    try:
        while len(ports) < number:
            port = random.randrange(10000, 32000)
            sockets.append(socket.socket())
            try:
                sockets[-1].bind(("", port))
            except OSError:
                continue
            ports.append(port)
        return ports
    finally:
        for one in sockets:
            one.close()


class Interrupted(Exception):
    """A signal asks this process to end."""


def interrupt(number, _):
    raise Interrupted(number)


def at_least_one(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return int(text)


def end_with_parent():
    """For a child: kills it if this process is killed. Parameter servers never end by themselves."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Member:
    """A process of the cluster, and its output."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "ab") as file:
            # In its own session: otherwise Ctrl-C would end the parameter servers before the chief has saved.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                preexec_fn=end_with_parent,
                start_new_session=True,
            )

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Kills this process, by its id, if it still exists, even if it is suspended."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def text(self):
        with open(self.log, errors="replace") as file:
            return file.read()


class Cluster:
    """Members on the loopback interface, which end with the `with` block."""

    def __init__(self, program, graph, directory, workers=3, ps=1, options=()):
        self.program, self.graph, self.directory, self.options = program, graph, directory, list(options)
        ports = free_ports(ps + workers)
        self.addresses = {
            "ps": [f"127.0.0.1:{port}" for port in ports[:ps]],
            "worker": [f"127.0.0.1:{port}" for port in ports[ps:]],
        }
        self.members = {}
        os.makedirs(directory, exist_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for member in self.members.values():
            member.end()

    def log_path(self, job, task):
        return os.path.join(self.directory, f"{job}-{task}.log")

    def command(self, job, task):
        command = [self.program, "--job", job, "--task", str(task)]
        command += ["--ps", ",".join(self.addresses["ps"]), "--workers", ",".join(self.addresses["worker"])]
        command += ["--graph", self.graph, "--dir", os.path.join(self.directory, "run")]
        return command + self.options

    def start(self, job, task, command=None):
        """Starts a member; `command` is another program to run instead."""
        member = Member(command or self.command(job, task), self.log_path(job, task))
        self.members[job, task] = member
        return member

    def start_all(self):
        for job, addresses in self.addresses.items():
            for task in range(len(addresses)):
                self.start(job, task)

    def workers(self):
        return [member for (job, _), member in sorted(self.members.items()) if job == "worker"]

    def wait(self, seconds):
        """The exit statuses of the workers. Raises TimeoutError, with their output, if they still run."""
        return self.wait_for(self.workers(), seconds)

    def wait_for(self, members, seconds):
        deadline = time.monotonic() + seconds
        try:
            return [one.process.wait(max(deadline - time.monotonic(), 0.1)) for one in members]
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"after {seconds} s the cluster still runs:\n{self.logs()}") from None

    def interrupt(self, seconds):
        """Asks the workers to end cleanly: the chief saves while the parameter servers still run."""
        for one in self.workers():
            if one.process.poll() is None:
                one.signal(signal.SIGTERM)
        self.wait(seconds)

    def logs(self):
        return "\n".join(f"--- {job} {task}\n{one.text()[-3000:]}" for (job, task), one in sorted(self.members.items()))


def first_steps(text):
    """The steps at which the sessions of a worker started to train."""
    return [int(step) for step in re.findall(r"^worker \d+ trains from step (\d+)$", text, re.MULTILINE)]


def last_step(text):
    """The step at which a worker ended; None if it did not."""
    found = re.findall(r"^worker \d+ ended at step (\d+) ", text, re.MULTILINE)
    return int(found[-1]) if found else None


def print_table(cluster, stagger):
    print(f"{'worker':>6}  {'waits for':>9}  {'first step':>10}  {'last step':>9}")
    for task, member in enumerate(cluster.workers()):
        text = member.text()
        first = first_steps(text)
        print(f"{task:>6}  {int(stagger * math.log(task + 1)):>9}  {first[0] if first else '-':>10}  {last_step(text) or '-':>9}")
    for line in re.findall(r"^accuracy .*$", cluster.workers()[0].text(), re.MULTILINE)[-1:]:
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("graph")
    parser.add_argument("--workers", type=at_least_one, default=3)
    parser.add_argument("--ps", type=at_least_one, default=1)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--stagger", type=float, default=1000)
    parser.add_argument("--dir", default="runs/cluster")
    parser.add_argument("--limit-secs", type=int, default=600, help="end the cluster if it still runs after this time")
    args = parser.parse_args()
    options = ["--steps", str(args.steps), "--stagger", str(args.stagger)]
    with Cluster(args.program, args.graph, args.dir, args.workers, args.ps, options) as cluster:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, interrupt)
        for job, addresses in cluster.addresses.items():  # The logs of an earlier run.
            for task in range(len(addresses)):
                open(cluster.log_path(job, task), "w").close()
        try:
            cluster.start_all()
            chief = cluster.wait_for(cluster.workers()[:1], args.limit_secs)
            if any(chief):  # The others would wait for it.
                sys.exit(f"the chief ended with {chief}:\n{cluster.logs()}")
            statuses = cluster.wait(args.limit_secs)
        except Interrupted as asked:
            print("ending the workers; interrupt again to end at once", file=sys.stderr)
            try:
                cluster.interrupt(args.limit_secs)
            except Interrupted:
                pass
            sys.exit(128 + asked.args[0])  # As shells report signals.
        print_table(cluster, args.stagger)
        if any(statuses):
            sys.exit(f"the workers ended with {statuses}:\n{cluster.logs()}")


if __name__ == "__main__":
    main()
