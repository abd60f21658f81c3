#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the ranks of a group on hosts of their own, and takes hosts and network away from them: every rank that is lost
or silent is named by the others, within the limit.

    check_network.py PROGRAM

The hosts are network namespaces, whose interfaces meet in a bridge. That needs root and `ip`; without them the test
says so and is skipped (77). tests of crochet/group and crochet/libtorch do the same with a faulty network on the
loopback interface, everywhere.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

SKIPPED = 77
PORT = 29511
# Of an idle connection to a host that is gone, and of a busy machine that runs this.
NOTICED_SECS = 5
SLACK_SECS = 2
LIMIT_SECS = 60


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Network:
    """Hosts 10.213.0.1, 10.213.0.2, ... and a switch."""

    def __init__(self, size):
        self.prefix = f"crochet-{os.getpid()}-"
        self.switch = self.prefix + "switch"
        self.size = size

    def host(self, rank):
        return f"{self.prefix}{rank}"

    def __enter__(self):
        try:
            ip("netns", "add", self.switch)
            ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
            ip("-n", self.switch, "link", "set", "bridge", "up")
            for rank in range(self.size):
                self.add_host(rank)
        except BaseException:
            self.__exit__()
            raise
        return self

    def add_host(self, rank):
        host, port = self.host(rank), f"port{rank}"
        ip("netns", "add", host)
        ip("-n", host, "link", "set", "lo", "up")
        ip("-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host)
        ip("-n", host, "addr", "add", f"10.213.0.{rank + 1}/24", "dev", "eth0")
        ip("-n", host, "link", "set", "eth0", "up")
        ip("-n", self.switch, "link", "set", port, "up", "master", "bridge")

    def cut(self, rank):
        """Nothing arrives from the host and at it any more, and nobody is notified."""
        ip("-n", self.switch, "link", "set", f"port{rank}", "nomaster")

    def mend(self, rank):
        ip("-n", self.switch, "link", "set", f"port{rank}", "master", "bridge")

    def __exit__(self, *_):
        for name in [self.switch, *map(self.host, range(self.size))]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


class Rank:

    def __init__(self, network, program, rank, arguments):
        environment = os.environ | {"RANK": str(rank), "WORLD_SIZE": str(network.size), "LOCAL_RANK": "0",
                                    "MASTER_ADDR": "10.213.0.1", "MASTER_PORT": str(PORT)}
        self.rank = rank
        self.process = subprocess.Popen(["ip", "netns", "exec", network.host(rank), program, *map(str, arguments)],
                                        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def wait_for(self, expression, since=0, secs=LIMIT_SECS):
        """Returns when the line came."""
        end = time.monotonic() + secs
        while time.monotonic() < end:
            for when, line in list(self.lines):
                if when >= since and re.search(expression, line):
                    return when
            time.sleep(0.02)
        raise AssertionError(f"rank {self.rank}: no \"{expression}\" within {secs:.0f} s in {self.lines[-5:]}")

    def num_steps(self):
        return sum(line.startswith("step") for _, line in self.lines)

    def send(self, number):
        self.process.send_signal(number)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()


class Job:

    def __init__(self, network, program, *arguments, ranks=None):
        self.ranks = [Rank(network, program, rank, arguments)
                      for rank in (range(network.size) if ranks is None else ranks)]

    def __enter__(self):
        return self.ranks

    def __exit__(self, *_):
        for rank in self.ranks:
            rank.end()


def wait_for_steps(ranks):
    for rank in ranks:
        rank.wait_for("step 20$")


def expect(ranks, expression, began, limit):
    for rank in ranks:
        secs = rank.wait_for(expression, began) - began
        print(f"  rank {rank.rank}: {rank.lines[-1][1]} ({secs:.1f} s)")
        assert secs < limit, f"rank {rank.rank} took {secs:.1f} s, expected less than {limit} s"


def lost(rank):
    return rf"error CANCELLED: rank {rank} of 3 \(pid \d+ on .*\) is lost"


def check_a_host_that_is_gone(network, program):
    for gone in (2, 0):
        with Job(network, program, 600, 30) as ranks:
            wait_for_steps(ranks)
            began = time.monotonic()
            network.cut(gone)
            ranks[gone].end()
            expect([rank for rank in ranks if rank.rank != gone], lost(gone), began, NOTICED_SECS)
        network.mend(gone)


def check_a_network_that_is_cut(network, program):
    with Job(network, program, 600, 30) as ranks:
        wait_for_steps(ranks)
        began = time.monotonic()
        network.cut(1)
        expect([ranks[0], ranks[2]], lost(1), began, NOTICED_SECS)
        expect([ranks[1]], lost(0), began, NOTICED_SECS)
    network.mend(1)


def check_a_step_that_takes_long(network, program):
    """Rank 0, which all messages pass, computes; the others wait for it."""
    with Job(network, program, 600, 30, 0) as ranks:
        wait_for_steps(ranks)
        began = time.monotonic()
        network.cut(2)
        expect([ranks[1]], lost(2), began, NOTICED_SECS)
        expect([ranks[0]], r"^W .*rank 2 of 3 .* is lost: its host, or the network to it", began, NOTICED_SECS)
    network.mend(2)


def check_a_short_outage(network, program):
    with Job(network, program, 600, 30) as ranks:
        wait_for_steps(ranks)
        network.cut(2)
        time.sleep(1.5)
        network.mend(2)
        steps = ranks[2].num_steps()
        while ranks[2].num_steps() < steps + 2:
            assert all(rank.process.poll() is None for rank in ranks), [rank.lines[-3:] for rank in ranks]
            time.sleep(0.02)


def check_a_suspended_rank(network, program):
    with Job(network, program, 2, 30) as ranks:
        wait_for_steps(ranks)
        began = time.monotonic()
        ranks[2].send(signal.SIGSTOP)
        expect(ranks[:2], "error DEADLINE_EXCEEDED: .* for rank 2 of 3 in call", began, 2 + SLACK_SECS)
        ranks[2].send(signal.SIGCONT)
    with Job(network, program, 600, 30) as ranks:
        wait_for_steps(ranks)
        ranks[0].send(signal.SIGSTOP)
        time.sleep(NOTICED_SECS + 1)
        ranks[0].send(signal.SIGCONT)
        steps = ranks[2].num_steps()
        ranks[2].wait_for("step", since=time.monotonic())
        assert ranks[2].num_steps() > steps
        assert all(rank.process.poll() is None for rank in ranks)


def check_joining(network, program):
    network.cut(0)
    began = time.monotonic()
    with Job(network, program, 600, 3, ranks=[1]) as ranks:
        expect(ranks, r"error UNAVAILABLE: rank 1 of 3: cannot reach rank 0 at 10.213.0.1:\d+ within 3 s", began,
               3 + SLACK_SECS)
    network.mend(0)


def main():
    program = os.path.abspath(sys.argv[1])
    if os.geteuid() != 0 or shutil.which("ip") is None:
        print("skipped: network namespaces need root and `ip`")
        sys.exit(SKIPPED)
    try:
        network = Network(3).__enter__()
    except subprocess.CalledProcessError as error:
        print(f"skipped: this system makes no network namespaces: {error.stderr.strip()}")
        sys.exit(SKIPPED)
    try:
        for check in (check_joining, check_a_host_that_is_gone, check_a_network_that_is_cut,
                      check_a_step_that_takes_long, check_a_short_outage, check_a_suspended_rank):
            print(check.__name__, flush=True)
            check(network, program)
    finally:
        network.__exit__()


if __name__ == "__main__":
    main()
