#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Python continues with a graph built in C++, from its checkpoint: import_meta_graph.py <folder of the run>."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

v1 = tf.compat.v1


def main():
    latest = tf.train.latest_checkpoint(sys.argv[1])
    with tf.Graph().as_default() as graph, v1.Session() as session:
        saver = v1.train.import_meta_graph(latest + ".meta") or v1.train.Saver()
        names = {variable.op.name for variable in v1.global_variables()}
        assert names == {"weights", "bias", "global_step"}, names
        assert {variable.op.name for variable in v1.trainable_variables()} == {"weights", "bias"}
        saver.restore(session, latest)
        assert len(session.run(v1.report_uninitialized_variables())) == 0
        step = int(session.run(v1.train.get_global_step(graph)))
        assert latest.endswith(f"-{step}"), (latest, step)
        feeds = {"images:0": [[0.5] * 64] * 3, "labels:0": [1, 2, 3]}
        before = session.run("loss:0", feeds)
        for _ in range(5):
            session.run("train", feeds)
        after = session.run("loss:0", feeds)
        assert after < before, (before, after)
        assert int(session.run(v1.train.get_global_step(graph))) == step + 5
        assert session.run("curves/loss:0", feeds)


if __name__ == "__main__":
    main()
