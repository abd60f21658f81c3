#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the graph for tensorflow_scatter: a table of 16 columns; a step changes some rows or all.

    make_scatter_graph.py <file.meta> <rows> resource|reference
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

v1 = tf.compat.v1


def main():
    path, rows, kind = sys.argv[1:]
    v1.disable_eager_execution()
    shape = [int(rows), 16]
    table = v1.get_variable("table", initializer=tf.fill(shape, 0.5), use_resource=kind == "resource")
    ids = v1.placeholder(tf.int32, [None], name="ids")
    tf.group(v1.scatter_sub(table, ids, tf.ones(tf.stack([tf.size(ids), 16])), use_locking=True), name="scatter")
    tf.group(v1.assign_sub(table, tf.fill(shape, 0.25)), name="dense")
    v1.train.export_meta_graph(path)


if __name__ == "__main__":
    main()
