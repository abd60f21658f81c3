#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Python continues with a graph that it exported and that a crochet hook extended: the graph stored with the checkpoint
is the one that was run.

    check_extended.py <extend_graph> <folder>
"""

import os
import shutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

v1 = tf.compat.v1


def export(path):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        step = v1.train.create_global_step()
        changes = [
            v1.assign_add(v1.get_variable("resource", initializer=tf.constant([1.5, 2.5]), use_resource=True), [1.0, 1.0]),
            v1.assign_add(v1.get_variable("reference", initializer=tf.constant(7.0), use_resource=False), x),
        ]
        tf.group(v1.assign_add(step, 1), *changes, name="train")
        v1.add_to_collection("numbers", 7)
        v1.summary.scalar("curve", x)
        saver = v1.train.Saver(max_to_keep=3)
        v1.train.export_meta_graph(path, saver_def=saver.as_saver_def())


def main():
    program, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    graph_file, run = os.path.join(folder, "graph.meta"), os.path.join(folder, "run")
    export(graph_file)
    subprocess.run([program, graph_file, run], check=True)

    latest = tf.train.latest_checkpoint(run)
    assert latest.endswith("-5"), latest
    with tf.Graph().as_default() as graph, v1.Session() as session:
        saver = v1.train.import_meta_graph(latest + ".meta")
        assert saver.saver_def.max_to_keep == 3, saver.saver_def
        names = [variable.op.name for variable in v1.global_variables()]
        assert names == ["global_step", "resource", "reference", "added/count"], names
        assert v1.get_collection("numbers") == [7]
        summaries = [tensor.name for tensor in v1.get_collection("summaries")]
        assert summaries == ["curve:0", "added/curve:0"], summaries
        functions = {function.signature.name for function in graph.as_graph_def().library.function}
        assert functions == {"counted", "same"}, functions
        with tf.Graph().as_default():
            v1.train.import_meta_graph(graph_file)
            producer = v1.get_default_graph().as_graph_def().versions.producer
        assert graph.as_graph_def().versions.producer == producer, (graph.as_graph_def().versions, producer)

        # The file's saver knows only the file's variables, a new one knows all.
        saver.restore(session, latest)
        missing = session.run(v1.report_uninitialized_variables())
        assert list(missing) == [b"added/count"], missing
        v1.train.Saver().restore(session, latest)
        variables = {variable.op.name: variable for variable in v1.global_variables()}
        values = session.run(variables)
        assert values["resource"].tolist() == [6.5, 7.5] and values["reference"] == 17, values
        assert values["global_step"] == 5 and values["added/count"] == 2, values
        session.run("train", {"x:0": 1.0})
        assert session.run("added/y:0", {"x:0": 4.0}) == 40
        assert session.run("added/y:0", {"x:0": 1.0}) == 1
        values = session.run(variables)
        assert values["global_step"] == 6 and values["added/count"] == 3, values


if __name__ == "__main__":
    main()
