#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Trains one graph with Python's MonitoredTrainingSession and with crochet's, and compares the results.

    check_monitored.py <monitored_calls> <digits_feeds_file> <folder>

The same graph, feeds and hooks, in three runs of one directory each: one in which the session is lost, one that resumes,
one that a hook stops. Both sides must have the same

- calls of the hooks, in the same order, with the same steps and losses to the bit,
- checkpoints in the directory,
- curves: tags, steps and values, except the speed and steps that were repeated: for those Python's file has the
  values of the lost session, crochet's those of the next one,
- variables in the last checkpoint, to the bit.

Deliberate differences (docs/porting.md) are excluded: crochet does not save again the step that it has
just restored, and it writes curves of its saves, "~checkpoint/...".
"""

import glob
import os
import shutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples", "tensorflow"))

import numpy as np
import tensorflow as tf
from tensorflow.python.training import training_util

import make_digits_graph
from check_training import Mismatch, read_feeds

v1 = tf.compat.v1

# Last step, the step at which the session is lost, the one at which a hook asks to stop.
RUNS = [(25, 13, -1), (40, -1, -1), (60, -1, 46)]
SPEED = "global_step/sec"
MADE_TWICE = range(11, 14)  # From the checkpoint of step 10 on.


class Recorder(v1.train.SessionRunHook):
    """The hook of monitored_calls.cc."""

    def __init__(self, label, lines, lost_at=-1, stop_at=-1):
        self.label, self.lines, self.lost_at, self.stop_at = label, lines, lost_at, stop_at

    def note(self, call):
        self.lines.append(f"{self.label} {call}")

    def begin(self):
        self.loss = tf.compat.v1.get_default_graph().get_tensor_by_name("loss:0")
        self.counter = v1.train.get_global_step()
        self.note("begin")

    def after_create_session(self, session, coord):
        self.step = session.run(self.counter)
        self.note(f"after_create_session {self.step}")

    def before_run(self, run_context):
        self.note("before_run")
        if self.step == self.lost_at:
            self.lost_at = -1
            raise tf.errors.AbortedError(None, None, "lost")
        return v1.train.SessionRunArgs(self.loss)

    def after_run(self, run_context, run_values):
        self.step = run_context.session.run(self.counter)
        bits = np.float32(run_values.results).view(np.uint32)
        self.note(f"after_run {self.step} {bits:08x}")
        if self.step == self.stop_at:
            run_context.request_stop()

    def end(self, session):
        self.note(f"end {session.run(self.counter)}")


def train_in_python(graph_path, directory, feeds, last_step, lost_at, stop_at):
    lines = []
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(graph_path)
        train_op = graph.get_operation_by_name("train")
        # Python's hooks read the step in the run that increments it, before or after: here always before, like crochet's.
        train_op._add_control_input(training_util._get_or_create_global_step_read(graph).op)
        first = Recorder("first", lines)
        hooks = [
            first,
            v1.train.StopAtStepHook(last_step=last_step),
            Recorder("second", lines, lost_at, stop_at),
        ]
        with v1.train.MonitoredTrainingSession(
            checkpoint_dir=directory,
            hooks=hooks,
            save_checkpoint_steps=10,
            save_checkpoint_secs=None,
            save_summaries_steps=5,
            save_summaries_secs=None,
            log_step_count_steps=10,
        ) as session:
            while not session.should_stop():
                feed = feeds[first.step]
                session.run(train_op, {"images:0": feed["images"], "labels:0": feed["labels"]})
    return lines + ["done"]


def train_by_crochet(program, graph_path, directory, last_step, lost_at, stop_at):
    path = directory + ".calls"
    command = [program, graph_path, directory, str(last_step), str(lost_at), str(stop_at), path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Mismatch(f"{command} failed with {done.returncode}: {done.stderr[-2000:]}")
    with open(path) as file:
        return file.read().splitlines()


def checkpoints(directory):
    state = tf.train.get_checkpoint_state(directory)
    return [os.path.basename(path) for path in state.all_model_checkpoint_paths]


def curves(directory):
    """{(tag, step): value}, None for a value that may differ; a repeated step counts once."""
    points = {}
    for path in sorted(glob.glob(os.path.join(directory, "events.out.tfevents.*"))):
        for event in v1.train.summary_iterator(path):
            for value in event.summary.value:
                if not value.tag.startswith("~checkpoint/"):
                    is_number = value.WhichOneof("value") == "simple_value"
                    number = value.simple_value if is_number else tf.make_ndarray(value.tensor).item()
                    may_differ = value.tag == SPEED or event.step in MADE_TWICE
                    points[value.tag, event.step] = None if may_differ else number
    return points


def variables(directory):
    reader = tf.train.load_checkpoint(directory)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def check_same(what, ours, theirs):
    if ours == theirs:
        return
    if isinstance(ours, dict):
        differing = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key, ()) != theirs.get(key, ()))
        raise Mismatch(f"{what}: " + "; ".join(f"{k}: {ours.get(k)}, Python has {theirs.get(k)}" for k in differing[:9]))
    for index, (our, their) in enumerate(zip(ours, theirs)):
        if our != their:
            raise Mismatch(f"{what}: entry {index} is {our!r}, Python has {their!r}")
    raise Mismatch(f"{what}: {len(ours)} entries, Python has {len(theirs)}: {(ours + theirs)[-3:]}")


def main():
    program, feeds_program, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    graph_path = os.path.join(folder, "digits.meta")
    with make_digits_graph.build().as_default():
        v1.train.export_meta_graph(graph_path)
    feeds = read_feeds(feeds_program, folder)
    ours, theirs = os.path.join(folder, "crochet"), os.path.join(folder, "python")

    for number, run in enumerate(RUNS, 1):
        expected = train_in_python(graph_path, theirs, feeds, *run)
        check_same(f"run {number}, calls", train_by_crochet(program, graph_path, ours, *run), expected)
        check_same(f"run {number}, checkpoints", checkpoints(ours), checkpoints(theirs))
        found = curves(theirs)
        check_same(f"run {number}, curves", curves(ours), found)
        if not any(tag == SPEED for tag, _ in found) or len({tag for tag, _ in found}) < 2:
            raise Mismatch(f"run {number}: Python has the curves {sorted(found)} only")
        bits = [{name: value.tobytes() for name, value in variables(side).items()} for side in (ours, theirs)]
        check_same(f"run {number}, variables", *bits)
        print(f"run {number}: {len(expected)} calls, {len(found)} points, {len(bits[0])} variables are the same")


if __name__ == "__main__":
    try:
        main()
    except Mismatch as error:
        sys.exit(f"check_monitored.py: {error}")
