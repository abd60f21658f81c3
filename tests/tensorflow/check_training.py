#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Trains one graph in Python and with examples/tensorflow, and compares every loss and every variable, bit for bit.

    check_training.py resource|reference|partitioned <digits_tensorflow> <digits_feeds_file> <folder>

1. Exports the graph by examples/tensorflow/make_digits_graph.py.
2. Trains it in Python.
3. The program trains it in two runs, the second from the checkpoint of the first: same losses.
4. Reads its checkpoint: same variables, with the graph's names.
5. Restores the checkpoint with Python's own Saver, and continues training in both: same losses again.
6. The program resumes from a checkpoint that Python's Saver wrote.
"""

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

import make_digits_graph

v1 = tf.compat.v1

BATCH = 32
PIXELS = 64
HALF, WHOLE, MORE = 60, 100, 120
OPTIONS = {
    "resource": dict(use_resource=True),
    "reference": dict(use_resource=False),
    "partitioned": dict(use_resource=True, partitions=3),
}


class Mismatch(Exception):
    """Python and the program differ."""


def read_feeds(program, folder):
    path = os.path.join(folder, "feeds")
    subprocess.run([program, str(MORE), path], check=True)
    record = np.dtype([("images", "<f4", (BATCH, PIXELS)), ("labels", "<i4", (BATCH,))])
    return np.fromfile(path, dtype=record)


def train(session, feeds, first, last):
    """The losses of the steps from `first` to `last`, as bits."""
    losses = []
    for step in range(first, last):
        feed = {"images:0": feeds[step]["images"], "labels:0": feeds[step]["labels"]}
        losses.append(np.float32(session.run(["loss:0", "train"], feed)[0]).view(np.uint32))
    return losses


def run_program(program, graph, folder, steps):
    """Runs the program; returns its losses: {step: loss as bits}."""
    path = os.path.join(folder, "losses")
    command = [program, "--graph", graph, "--dir", os.path.join(folder, "run"), "--steps", str(steps), "--losses", path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Mismatch(f"{command} failed with {done.returncode}: {done.stderr[-2000:]}")
    losses = {}
    with open(path) as file:
        for line in file:
            step, loss = line.split()
            losses[int(step)] = np.float32(float.fromhex(loss)).view(np.uint32)
    return losses


def check_losses(what, found, expected, first):
    """Compares `found`, by step, with `expected`, which begins with step `first` + 1."""
    if sorted(found) != list(range(first + 1, first + len(expected) + 1)):
        raise Mismatch(f"{what}: the program made the steps {sorted(found)}")
    for index, bits in enumerate(expected):
        if found[first + index + 1] != bits:
            raise Mismatch(f"{what}: the loss of step {first + index + 1} has other bits")


def check_variables(prefix, values):
    reader = tf.train.load_checkpoint(prefix)
    names = set(reader.get_variable_to_shape_map())
    if names != set(values):
        raise Mismatch(f"{prefix}: has {sorted(names)}, expected {sorted(values)}")
    for name, value in values.items():
        if reader.get_tensor(name).tobytes() != value.tobytes():
            raise Mismatch(f"{prefix}: {name} has other bits")


def values_by_name(session):
    """The variables as checkpoints name them: parts put together, along their first dimension."""
    parts = {}
    for variable in v1.global_variables():
        info = variable._get_save_slice_info()
        name, offset = (info.full_name, info.var_offset[0]) if info else (variable.op.name, 0)
        parts.setdefault(name, []).append((offset, session.run(variable)))
    return {
        name: some[0][1] if len(some) == 1 else np.concatenate([value for _, value in sorted(some, key=lambda x: x[0])])
        for name, some in parts.items()
    }


def main():
    kind, program, feeds_program, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    graph_path = os.path.join(folder, "digits.meta")
    with make_digits_graph.build(**OPTIONS[kind]).as_default():
        v1.train.export_meta_graph(graph_path)
    feeds = read_feeds(feeds_program, folder)

    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(graph_path)
        session.run(v1.global_variables_initializer())
        expected = train(session, feeds, 0, WHOLE)
        values = values_by_name(session)

        check_losses("from the start", run_program(program, graph_path, folder, HALF), expected[:HALF], 0)
        check_losses("resumed", run_program(program, graph_path, folder, WHOLE), expected[HALF:], HALF)
        prefix = tf.train.latest_checkpoint(os.path.join(folder, "run"))
        if os.path.basename(prefix or "") != f"model.ckpt-{WHOLE}":
            raise Mismatch(f"the latest checkpoint is {prefix}")
        check_variables(prefix, values)
        if open(prefix + ".meta", "rb").read() != open(graph_path, "rb").read():
            raise Mismatch("the graph stored with the checkpoint differs")

        more = train(session, feeds, WHOLE, MORE)
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(graph_path)
        saver = v1.train.Saver()
        saver.restore(session, prefix)
        check_variables(prefix, values_by_name(session))
        if train(session, feeds, WHOLE, MORE) != more:
            raise Mismatch("Python continues from the program's checkpoint with other losses")

    # In the other direction.
    shutil.rmtree(os.path.join(folder, "run"))
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(graph_path)
        saver = v1.train.Saver()
        session.run(v1.global_variables_initializer())
        train(session, feeds, 0, HALF)
        saver.save(session, os.path.join(folder, "run", "model.ckpt"), global_step=HALF, write_meta_graph=False)
    check_losses("from Python's checkpoint", run_program(program, graph_path, folder, WHOLE), expected[HALF:], HALF)


if __name__ == "__main__":
    try:
        main()
    except Mismatch as error:
        sys.exit(f"check_training.py: {error}")
