#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Saves in Python and with graph_saver_program; each restores the other's checkpoint, and all variables are compared.

    check_saver.py <graph_saver_program> <folder>

1. Exports graphs with a Saver each: with one data file, sharded, and with partitioned variables.
2. The program trains and saves by the graph's own operations and by crochet: same variables, and Python's Saver
   restores both.
3. Python's Saver saves, the program restores by the graph's own operations and continues: same variables.
4. The same with a Saver's defaults on both sides, for graphs with a table, and with keys that are not the variables'
   names: state and keys are those of the graph's saver.
5. Exports SavedModels by the builder, by simple_save and from a tf.Module: same output.
"""

import os
import shutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1

KINDS = {"plain": {}, "sharded": dict(sharded=True), "kept": dict(max_to_keep=1, save_relative_paths=True)}


class Mismatch(Exception):
    """Python and the program differ."""


def export(path, options):
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        resource = v1.get_variable("resource", initializer=tf.random.stateless_normal([7, 3], [1, 2]), use_resource=True)
        reference = v1.get_variable("reference", initializer=tf.constant([1.5, 2.5]), use_resource=False)
        parts = v1.get_variable("parts", shape=[6, 4], initializer=v1.random_normal_initializer(seed=1),
                                partitioner=v1.fixed_size_partitioner(3), use_resource=True)
        v1.get_variable("words", initializer=tf.constant(["a", "", "ccc"]), use_resource=True, trainable=False)
        changes = [v1.assign_add(one, tf.ones_like(one)) for one in [resource, reference, *parts]]
        tf.group(v1.assign_add(step, 1), *changes, name="train")
        saver = v1.train.Saver(**options)
        v1.train.export_meta_graph(path, saver_def=saver.as_saver_def())


def read(prefix):
    reader = tf.train.load_checkpoint(prefix)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def compare(what, found, expected):
    if set(found) != set(expected):
        raise Mismatch(f"{what}: has {sorted(found)}, expected {sorted(expected)}")
    for name, value in expected.items():
        if found[name].tobytes() != value.tobytes() and found[name].tolist() != value.tolist():
            raise Mismatch(f"{what}: {name} is {found[name]}, expected {value}")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Mismatch(f"{command} failed with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def check_kind(kind, program, folder):
    graph = os.path.join(folder, f"{kind}.meta")
    export(graph, KINDS[kind])
    first = os.path.join(folder, f"{kind}-first")
    run(program, "state", graph, "-", "3", first)
    state = read(first + "-graph")
    compare(f"{kind}: crochet's checkpoint", read(first + "-crochet"), state)
    if state["global_step"] != 3 or state["reference"].tolist() != [4.5, 5.5]:
        raise Mismatch(f"{kind}: not three steps: {state}")
    with tf.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(graph)
        for prefix in (first + "-graph", first + "-crochet"):
            saver.restore(session, prefix)
            session.run("train")
            # If a prefix ends in digits, a state file is written as well.
            saved = saver.save(session, os.path.join(folder, f"{kind}-python"), write_meta_graph=False)
            expected = {name: value + (name != "words") for name, value in state.items() if name != "words"}
            found = read(saved)
            compare(f"{kind}: Python after {prefix}", {k: v for k, v in found.items() if k != "words"},
                    {k: v.astype(state[k].dtype) for k, v in expected.items()})
    second = os.path.join(folder, f"{kind}-second")
    run(program, "state", graph, saved, "0", second)
    compare(f"{kind}: restored from Python", read(second + "-graph"), read(saved))
    compare(f"{kind}: restored from Python, by crochet", read(second + "-crochet"), read(saved))


def export_table(path):
    """Each step adds a row to a table."""
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        rows = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1, name="rows")
        number = tf.identity(step)
        with tf.control_dependencies([rows.insert(number, number * number)]):
            tf.group(v1.assign_add(step, 1), name="train")
        v1.train.export_meta_graph(path, saver_def=v1.train.Saver().as_saver_def())
    return {"global_step", "rows-keys", "rows-values"}


def export_renamed(path):
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        tf.group(v1.assign_add(step, 1), v1.assign_add(w, tf.ones_like(w)), name="train")
        saver = v1.train.Saver({"step": step, "model/w": w})
        v1.train.export_meta_graph(path, saver_def=saver.as_saver_def())
    return {"step", "model/w"}


def check_defaults(export, program, folder):
    """Two steps in the program, one in Python, two more in the program: the same as five in Python."""
    graph = os.path.join(folder, f"{export.__name__}.meta")
    names = export(graph)

    def saved_by_python(start, steps, prefix):
        with tf.Graph().as_default(), v1.Session() as session:
            saver = v1.train.import_meta_graph(graph)
            if start:
                saver.restore(session, start)
            else:
                session.run(v1.global_variables_initializer())
            for _ in range(steps):
                session.run("train")
            return saver.save(session, os.path.join(folder, prefix), write_meta_graph=False)

    # Rows have no order.
    def state(prefix):
        values = read(prefix)
        if set(values) != names:
            raise Mismatch(f"{prefix}: has {sorted(values)}, expected {sorted(names)}")
        return {name: np.sort(value, axis=0) if value.ndim else value for name, value in values.items()}

    first = os.path.join(folder, f"{export.__name__}-first")
    run(program, "default", graph, "-", "2", first)
    second = saved_by_python(first, 1, f"{export.__name__}-second")
    third = os.path.join(folder, f"{export.__name__}-third")
    run(program, "default", graph, second, "2", third)
    compare(export.__name__, state(third), state(saved_by_python(None, 5, f"{export.__name__}-python")))


def save_models(folder):
    """By name: a function that takes a folder."""

    def build(path):
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None], name="x")
            w = v1.get_variable("w", initializer=tf.constant(1.25), use_resource=True)
            y = tf.add(x, w, name="y")
            session.run(v1.global_variables_initializer())
            signature = v1.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})
            builder = v1.saved_model.builder.SavedModelBuilder(path)
            # As older exporters did: the collection "legacy_init_op" has the operation that doubles it.
            v1.add_to_collection("legacy_init_op", v1.assign_add(w, 1.0).op)
            builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
            builder.save()
        return [2.25, 3.25, 4.25]

    def simple(path):
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None], name="x")
            y = x * v1.get_variable("w", initializer=tf.constant(3.0), use_resource=False)
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, path, {"x": x}, {"y": y})
        return [0.0, 3.0, 6.0]

    def module(path):
        class Scale(tf.Module):
            def __init__(self):
                super().__init__()
                self.w = tf.Variable(0.5)

            @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
            def __call__(self, x):
                return {"y": x * self.w}

        scale = Scale()
        tf.saved_model.save(scale, path, signatures=scale.__call__)
        return [0.0, 0.5, 1.0]

    for save in (build, simple, module):
        path = os.path.join(folder, save.__name__)
        yield path, save(path)


def main():
    program, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for kind in KINDS:
        check_kind(kind, program, folder)
    for export in (export_table, export_renamed):
        check_defaults(export, program, folder)
    for path, expected in save_models(folder):
        found = [float.fromhex(line) for line in run(program, "model", path).split()]
        if np.float32(found).tolist() != expected:
            raise Mismatch(f"{path}: {found}, expected {expected}")


if __name__ == "__main__":
    try:
        main()
    except Mismatch as error:
        sys.exit(f"check_saver.py: {error}")
