#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the ranks of a group on hosts of their own, and takes hosts and network away from them: every rank that is lost
or silent is named by the others, within the limit.

    check_network.py PROGRAM
    check_network.py --mpirun MPIRUN PROGRAM      as a job of Open MPI

The hosts are network namespaces, whose interfaces meet in a bridge. That needs root and `ip`; without them the test
says so and is skipped (77). tests of crochet/group and crochet/libtorch do the same with a faulty network on the
loopback interface, everywhere.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
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

    def end_processes(self, rank):
        """Of a host, which has none but ours."""
        found = subprocess.run(["ip", "netns", "pids", self.host(rank)], capture_output=True, text=True, check=True)
        for process in map(int, found.stdout.split()):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def __exit__(self, *_):
        for name in [self.switch, *map(self.host, range(self.size))]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


class Rank:
    """Its process is that of the program, which says so first."""

    def __init__(self, rank, open_output):
        self.rank = rank
        self.lines = []
        self.thread = threading.Thread(target=self.read, args=(open_output,), daemon=True)
        self.thread.start()

    def read(self, open_output):
        with open_output() as output:
            for line in output:
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
        self.wait_for("^process ")
        os.kill(int(next(line.split()[1] for _, line in self.lines if line.startswith("process "))), number)

    def has_error(self):
        return any(line.startswith("error") for _, line in self.lines)


class Job:
    """Starts each rank by itself."""

    def __init__(self, network, program, *arguments, ranks=None):
        self.network = network
        self.processes = []
        self.ranks = []
        for rank in range(network.size) if ranks is None else ranks:
            output = self.start(program, rank, arguments)
            self.ranks.append(Rank(rank, lambda output=output: output))

    def start(self, program, rank, arguments):
        environment = os.environ | {"RANK": str(rank), "WORLD_SIZE": str(self.network.size), "LOCAL_RANK": "0",
                                    "MASTER_ADDR": "10.213.0.1", "MASTER_PORT": str(PORT)}
        command = ["ip", "netns", "exec", self.network.host(rank), program, *map(str, arguments)]
        self.processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                               stderr=subprocess.STDOUT, text=True))
        return self.processes[-1].stdout

    def __enter__(self):
        return self.ranks

    def __exit__(self, *_):
        for rank in self.ranks:
            self.network.end_processes(rank.rank)
        for process in self.processes:
            process.wait()


# How mpirun, on the first host, starts a process on another one: its address and a command follow. As the ssh of a host
# that is gone, it does not end by itself. Hosts of one name would use the memory that they share.
AGENT = """#!/bin/bash
address=$1; shift
name=PREFIX$((${address##*.} - 1))
ip netns exec "$name" unshare --uts sh -c "hostname $name; $*" &
exec sleep 600
"""
# Output through mpirun would not arrive through a network that is cut.
RANK = """#!/bin/bash
exec PROGRAM "$@" >FOLDER/output-$OMPI_COMM_WORLD_RANK 2>&1
"""


class MpiJob(Job):
    """mpirun starts the ranks, and leaves it to them to notice that one is lost."""
    mpirun = None

    def __init__(self, network, program, *arguments):
        self.network = network
        self.folder = tempfile.TemporaryDirectory()
        self.write("agent", AGENT.replace("PREFIX", network.prefix))
        self.write("rank", RANK.replace("PROGRAM", program).replace("FOLDER", self.folder.name))
        self.ranks = []
        for rank in range(network.size):
            output = os.path.join(self.folder.name, f"output-{rank}")
            os.mkfifo(output)
            self.ranks.append(Rank(rank, lambda path=output: open(path, encoding="utf-8")))
        hosts = ",".join(f"10.213.0.{rank + 1}" for rank in range(network.size))
        options = {"plm_rsh_agent": self.path("agent"), "btl": "tcp,self", "pml": "ob1",
                   "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0"}
        command = ["ip", "netns", "exec", network.host(0), self.mpirun, "--allow-run-as-root", "--enable-recovery",
                   "--host", hosts, "-n", str(network.size)]
        for name, value in options.items():
            command += ["--mca", name, value]
        self.log = open(self.path("log"), "w+", encoding="utf-8")
        self.processes = [subprocess.Popen([*command, self.path("rank"), *map(str, arguments)], stdout=self.log,
                                           stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)]

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o755)

    def __exit__(self, kind, *_):
        super().__exit__()
        if kind is not None:
            self.log.seek(0)
            print(self.log.read())
        self.log.close()
        self.folder.cleanup()


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


def check_a_host_that_is_gone(network, job):
    for gone in (2, 0):
        with job(600, 30) as ranks:
            wait_for_steps(ranks)
            began = time.monotonic()
            network.cut(gone)
            network.end_processes(gone)
            expect([rank for rank in ranks if rank.rank != gone], lost(gone), began, NOTICED_SECS)
        network.mend(gone)


def check_a_network_that_is_cut(network, job):
    with job(600, 30) as ranks:
        wait_for_steps(ranks)
        began = time.monotonic()
        network.cut(1)
        expect([ranks[0], ranks[2]], lost(1), began, NOTICED_SECS)
        expect([ranks[1]], lost(0), began, NOTICED_SECS)
    network.mend(1)


def check_a_step_that_takes_long(network, job):
    """Rank 0, which all messages pass, computes; the others wait for it."""
    with job(600, 30, 0) as ranks:
        wait_for_steps(ranks)
        began = time.monotonic()
        network.cut(2)
        expect([ranks[1]], lost(2), began, NOTICED_SECS)
        expect([ranks[0]], r"^W .*rank 2 of 3 .* is lost: its host, or the network to it", began, NOTICED_SECS)
    network.mend(2)


def check_a_short_outage(network, job):
    with job(600, 30) as ranks:
        wait_for_steps(ranks)
        network.cut(2)
        time.sleep(1.5)
        network.mend(2)
        steps = ranks[2].num_steps()
        while ranks[2].num_steps() < steps + 2:
            assert all(not rank.has_error() for rank in ranks), [rank.lines[-3:] for rank in ranks]
            time.sleep(0.02)


def check_a_suspended_rank(network, job):
    with job(2, 30) as ranks:
        wait_for_steps(ranks)
        began = time.monotonic()
        ranks[2].send(signal.SIGSTOP)
        expect(ranks[:2], "error DEADLINE_EXCEEDED: .* for rank 2 of 3 in call", began, 2 + SLACK_SECS)
        ranks[2].send(signal.SIGCONT)
    with job(600, 30) as ranks:
        wait_for_steps(ranks)
        ranks[0].send(signal.SIGSTOP)
        time.sleep(NOTICED_SECS + 1)
        ranks[0].send(signal.SIGCONT)
        steps = ranks[2].num_steps()
        ranks[2].wait_for("step", since=time.monotonic())
        assert ranks[2].num_steps() > steps
        assert all(not rank.has_error() for rank in ranks)


def check_joining(network, job):
    network.cut(0)
    began = time.monotonic()
    with job(600, 3, ranks=[1]) as ranks:
        expect(ranks, r"error UNAVAILABLE: rank 1 of 3: cannot reach rank 0 at 10.213.0.1:\d+ within 3 s", began,
               3 + SLACK_SECS)
    network.mend(0)


CHECKS = (check_joining, check_a_host_that_is_gone, check_a_network_that_is_cut, check_a_step_that_takes_long,
          check_a_short_outage, check_a_suspended_rank)
# mpirun joins the ranks.
MPI_CHECKS = tuple(check for check in CHECKS if check is not check_joining)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpirun")
    parser.add_argument("program", type=os.path.abspath)
    arguments = parser.parse_args()
    MpiJob.mpirun = arguments.mpirun
    start = MpiJob if arguments.mpirun else Job
    if os.geteuid() != 0 or shutil.which("ip") is None:
        print("skipped: network namespaces need root and `ip`")
        sys.exit(SKIPPED)
    try:
        network = Network(3).__enter__()
    except subprocess.CalledProcessError as error:
        print(f"skipped: this system makes no network namespaces: {error.stderr.strip()}")
        sys.exit(SKIPPED)
    try:
        for check in MPI_CHECKS if arguments.mpirun else CHECKS:
            print(check.__name__, flush=True)
            check(network, lambda *options, **ranks: start(network, arguments.program, *options, **ranks))
    finally:
        network.__exit__()


if __name__ == "__main__":
    main()
