#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Trains the digits in clusters of processes on this machine, and injects the failures of clusters.

    check_cluster.py <case> <digits_cluster> <digits.meta> <folder> [--kills N] [--seed S]

The cases:

trains      The example's script: the workers start at their steps, all end at the last step, a second run resumes.
spread      The workers place the variables of a graph without devices on two parameter servers.
absent      A worker whose parameter server is missing from the start, or is lost and never returns, ends with an error
            that names it.
stopped     The same if the parameter server hangs, from the start or during training.
interrupted The script gets a Ctrl-C, with all processes of its terminal: the run ends with a checkpoint of its last step.
chief_fails The script ends if the chief does, though the others wait for it. A member that cannot log fails too.
chief_last  Workers that start first wait for the chief.
kills       Members are killed (SIGKILL) and restarted, N times: each time all workers get new sessions or continue, and
            in the end every run is complete.
python_worker  One worker is Python's MonitoredTrainingSession, the others are not.
python_chief   The chief is.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "examples", "tensorflow", "cluster")
sys.path.insert(0, EXAMPLE)

from run_cluster import Cluster, first_steps, last_step

WORKERS = 3
# A busy machine is slow; on an idle one nothing takes a tenth of this.
PATIENCE_SECS = 180


# TensorFlow's transport may send a request twice, which its server refuses; Python then ends with a CancelledError.
SENT_TWICE = "request was received twice"


class Failure(Exception):
    """The cluster did not behave as expected."""


def expect(condition, what, cluster=None):
    if not condition:
        raise Failure(what + ("" if cluster is None else "\n" + cluster.logs()))


def wait_until(condition, what, cluster, seconds=PATIENCE_SECS):
    deadline = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < deadline, f"after {seconds} s: {what}", cluster)
        time.sleep(0.02)


def checkpoints(cluster):
    """The steps of the existing checkpoints."""
    directory = os.path.join(cluster.directory, "run")
    names = os.listdir(directory) if os.path.isdir(directory) else []
    return sorted(int(step) for name in names for step in re.findall(r"^model\.ckpt-(\d+)\.index$", name))


def expect_complete(cluster, steps, beyond=WORKERS - 1):
    """All workers have ended, at the requested step or at most `beyond` steps past it."""
    statuses = cluster.wait(PATIENCE_SECS)
    expect(not any(statuses), f"the workers ended with {statuses}", cluster)
    ends = [last_step(one.text()) for one in cluster.workers()]
    expect(all(end is not None and steps <= end for end in ends), f"the workers ended at {ends}", cluster)
    final = max(ends)
    expect(final <= steps + beyond, f"the last step is {final}, expected {steps}", cluster)
    expect(checkpoints(cluster)[-1] >= steps, f"the checkpoints are of {checkpoints(cluster)}", cluster)
    return final


def saves_by_graph(folder):
    """Whether the chief logged that the graph's own saver saves, rather than crochet from a snapshot."""
    with open(os.path.join(folder, "worker-0.log")) as file:
        return "checkpoints are written by the graph's own operations: in a cluster" in file.read()


def check_trains(args):
    script = [sys.executable, os.path.join(EXAMPLE, "run_cluster.py"), args.program, args.graph, "--dir", args.folder]
    for steps in (900, 4500):  # A worker may start a second after another one.
        done = subprocess.run(script + ["--steps", str(steps), "--stagger", "400"], capture_output=True, text=True)
        expect(done.returncode == 0, f"the script ended with {done.returncode}: {done.stdout}{done.stderr}")
        print(done.stdout, end="")
        rows = re.findall(r"^ *(\d+) +(\d+) +(\d+|-) +(\d+)$", done.stdout, re.MULTILINE)
        # int(400 * log(task + 1)).
        expect([row[:2] for row in rows] == [("0", "0"), ("1", "277"), ("2", "439")], f"the table is {rows}")
        for _, waits_for, first, last in rows:
            expect(first != "-" and int(first) >= int(waits_for), f"the table is {rows}")
            expect(steps <= int(last) <= steps + WORKERS - 1, f"the table is {rows}")
        expect("accuracy " in done.stdout, done.stdout)
        expect(saves_by_graph(args.folder), "the graph has a saver, which did not save")
    # The first worker found the first run's last step.
    expect(min(int(row[2]) for row in rows) >= 900, f"the second run did not resume: {rows}")


def check_spread(args):
    script = [sys.executable, os.path.join(EXAMPLE, "run_cluster.py"), args.program, args.graph, "--dir", args.folder]
    script += ["--steps", "500", "--stagger", "100", "--ps", "2", "--workers", "2"]
    done = subprocess.run(script, capture_output=True, text=True)
    expect(done.returncode == 0, f"the script ended with {done.returncode}: {done.stdout}{done.stderr}")
    rows = re.findall(r"^ *(\d+) +(\d+) +(\d+) +(\d+)$", done.stdout, re.MULTILINE)
    # Both use one step counter: it is placed where the workers look for it.
    expect([row[1] for row in rows] == ["0", "69"] and int(rows[1][2]) >= 69, f"the table is {rows}")
    expect(all(500 <= int(row[3]) <= 501 for row in rows), f"the table is {rows}")
    expect(not saves_by_graph(args.folder), "the graph has no saver, and yet it saved")


def check_interrupted(args):
    script = [sys.executable, os.path.join(EXAMPLE, "run_cluster.py"), args.program, args.graph, "--dir", args.folder]
    done = subprocess.Popen(script + ["--steps", "100000000", "--stagger", "0"], start_new_session=True)
    cluster = Cluster(args.program, args.graph, args.folder)  # For inspection: it starts nothing.
    log = cluster.log_path("worker", 0)

    def chief():
        with open(log) as file:
            return file.read()

    try:
        wait_until(lambda: os.path.exists(log) and first_steps(chief()), "no step", cluster)
        os.killpg(done.pid, signal.SIGINT)
        expect(done.wait(PATIENCE_SECS) == 128 + signal.SIGINT, f"the script ended with {done.returncode}")
    finally:
        done.kill()
    end = last_step(chief())
    expect(end is not None and end > 0, f"the chief did not end cleanly:\n{chief()}")
    # Each other worker may have been in a step while the chief saved, which the chief counts at its end.
    expect(checkpoints(cluster)[-1] >= end - (WORKERS - 1),
           f"it ended at {end}, the checkpoints are of {checkpoints(cluster)}")


def check_chief_fails(args):
    os.makedirs(args.folder)
    open(os.path.join(args.folder, "run"), "w").close()  # Checkpoints cannot be written here.
    script = [sys.executable, os.path.join(EXAMPLE, "run_cluster.py"), args.program, args.graph, "--dir", args.folder]
    done = subprocess.run(script, capture_output=True, text=True, timeout=PATIENCE_SECS)
    expect(done.returncode == 1, f"the script ended with {done.returncode}: {done.stdout}{done.stderr}")
    expect("the chief ended with [1]" in done.stderr and "mkdir failed" in done.stderr, done.stderr)
    command = Cluster(args.program, args.graph, args.folder).command("worker", WORKERS)
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=full)
    expect(done.returncode == 1, f"the member ended with {done.returncode}")


def check_absent(args):
    with Cluster(args.program, args.graph, args.folder, workers=1, options=["--limit-secs", "2"]) as cluster:
        worker = cluster.start("worker", 0)
        expect(cluster.wait(PATIENCE_SECS) == [1], "the worker did not fail", cluster)
        expect("no answer within 2 s" in worker.text(), "found another error", cluster)
    options = ["--limit-secs", "2", "--steps", "100000000"]
    with Cluster(args.program, args.graph, args.folder, workers=1, options=options) as cluster:
        ps = cluster.start("ps", 0)
        worker = cluster.start("worker", 0)
        wait_until(lambda: first_steps(worker.text()), "no step", cluster)
        worker_before = worker.text()
        ps.end()
        expect(cluster.wait(PATIENCE_SECS) == [1], "the worker did not fail", cluster)
        said = worker.text()[len(worker_before):]
        expect("recovering from: " in said and "no answer within 2 s" in said, "found another error", cluster)


def check_stopped(args):
    options = ["--limit-secs", "2", "--steps", "100000000", "--max-recoveries", "1"]
    with Cluster(args.program, args.graph, args.folder, workers=1, options=options) as cluster:
        ps = cluster.start("ps", 0)
        wait_until(lambda: "listens on port" in ps.text(), "the ps does not listen", cluster)
        ps.signal(signal.SIGSTOP)
        worker = cluster.start("worker", 0)
        expect(cluster.wait(PATIENCE_SECS) == [1], "the worker did not fail", cluster)
        expect("no answer within 2 s" in worker.text(), "found another error", cluster)

        ps.signal(signal.SIGCONT)
        worker = cluster.start("worker", 0)
        wait_until(lambda: first_steps(worker.text()), "no step", cluster)
        ps.signal(signal.SIGSTOP)
        expect(cluster.wait(PATIENCE_SECS) == [1], "the worker did not fail", cluster)
        expect(re.search(r"digits_cluster: .* at grpc://", worker.text()), "found another error", cluster)


def check_chief_last(args):
    with Cluster(args.program, args.graph, args.folder, options=["--steps", "300"]) as cluster:
        for job, task in (("worker", 2), ("worker", 1), ("ps", 0)):
            cluster.start(job, task)
        wait_until(
            lambda: all("waiting until the model is ready" in one.text() for one in cluster.workers()),
            "the workers do not wait", cluster)
        cluster.start("worker", 0)
        expect_complete(cluster, 300)


class Kills:
    """One cluster whose members are killed."""

    def __init__(self, cluster, steps, chance):
        self.cluster, self.steps, self.chance = cluster, steps, chance

    def trained(self):
        """How often each worker has started to train."""
        return {key: len(first_steps(one.text())) for key, one in self.cluster.members.items() if key[0] == "worker"}

    def is_over(self):
        return any(one.process.poll() is not None for one in self.cluster.workers())

    def kill_one(self):
        """Kills a member and restarts it; returns once all train again. False if the run ended before."""
        cluster = self.cluster
        victim = self.chance.choice([("ps", 0), ("ps", 0), ("worker", 0), ("worker", 1), ("worker", 2)])
        newest = checkpoints(cluster)[-1]
        time.sleep(self.chance.random() * 0.3)
        # After the chief has ended, its variables would not be restored.
        if self.is_over() or newest > 0.8 * self.steps:
            return False
        before = self.trained()
        cluster.members[victim].end()
        cluster.start(*victim)
        concerned = list(before) if victim == ("ps", 0) else [victim]

        def have_begun_again():
            now = self.trained()
            return self.is_over() or all(now[key] > before[key] for key in concerned)

        wait_until(have_begun_again, f"{victim} was killed, and {concerned} do not train again", cluster)
        if victim in (("ps", 0), ("worker", 0)) and not self.is_over():
            # The chief went back to its last checkpoint, not to the start.
            chief = first_steps(cluster.members["worker", 0].text())[-1]
            expect(chief >= newest, f"{victim} was killed after step {newest}, the chief resumed from {chief}", cluster)
        return True


def check_kills(args):
    chance = random.Random(args.seed)
    done, runs = 0, 0
    while done < args.kills:
        shutil.rmtree(args.folder, ignore_errors=True)
        options = ["--steps", str(args.steps), "--save-steps", "100", "--recovery-wait-secs", "0.2", "--limit-secs", "120"]
        with Cluster(args.program, args.graph, args.folder, options=options) as cluster:
            cluster.start_all()
            kills = Kills(cluster, args.steps, chance)
            wait_until(lambda: checkpoints(cluster) and all(kills.trained().values()), "no checkpoint", cluster)
            while done < args.kills and kills.kill_one():
                done += 1
            final = expect_complete(cluster, args.steps)
            runs += 1
    print(f"{done} kills in {runs} runs of {args.steps} steps; the last one ended at {final}")


def mixed(args, python_task):
    """Python's chief initialises the session for crochet's workers, or the other way round."""
    for _ in range(3):
        try:
            return train_mixed(args, python_task)
        except Failure as failure:
            log = os.path.join(args.folder, f"worker-{python_task}.log")
            with open(log, errors="replace") as file:
                if SENT_TWICE not in file.read():
                    raise
            print(f"Python's session was ended by TensorFlow's transport, again from the start: {failure}"[:300])
            shutil.rmtree(args.folder)
    raise Failure(f"three times: {SENT_TWICE}")


def train_mixed(args, python_task):
    steps = 6000  # Time for Python to make a session meanwhile.
    with Cluster(args.program, args.graph, args.folder, options=["--steps", str(steps)]) as cluster:

        def start(task):
            command = [sys.executable, os.path.join(HERE, "python_member.py"), "--task", str(task)]
            command += ["--ps", ",".join(cluster.addresses["ps"]), "--workers", ",".join(cluster.addresses["worker"])]
            command += ["--steps", str(steps), "--dir", os.path.join(args.folder, "run")]
            cluster.start("worker", task, command if task == python_task else None)

        cluster.start("ps", 0)
        start(python_task)
        python = cluster.members["worker", python_task]
        wait_until(lambda: "ready" in python.text().split("\n"), "Python is not ready", cluster)
        for task in range(WORKERS):
            if task != python_task:
                start(task)
        # Python's StopAtStepHook uses the step before its run, and may start one run too many.
        expect_complete(cluster, steps, beyond=WORKERS)
        for member in cluster.workers():
            expect(len(first_steps(member.text())) == 1, "a worker made no step, or recovered", cluster)


def main():
    cases = {
        "trains": check_trains,
        "spread": check_spread,
        "interrupted": check_interrupted,
        "chief_fails": check_chief_fails,
        "absent": check_absent,
        "stopped": check_stopped,
        "chief_last": check_chief_last,
        "kills": check_kills,
        "python_worker": lambda args: mixed(args, python_task=1),
        "python_chief": lambda args: mixed(args, python_task=0),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=cases)
    parser.add_argument("program")
    parser.add_argument("graph")
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=10000, help="of each run with kills")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    shutil.rmtree(args.folder, ignore_errors=True)
    cases[args.case](args)


if __name__ == "__main__":
    try:
        main()
    except Failure as error:
        sys.exit(f"check_cluster.py: {error}")
