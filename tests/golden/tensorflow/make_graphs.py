#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the graphs in this folder: what tf.compat.v1.train.export_meta_graph of TensorFlow 2.21 writes.

    make_graphs.py <folder>

contract_resource.meta, contract_reference.meta: what the suite of engines asks for, of the two kinds of variables.
kinds.meta: variables of many kinds, and operations that fail or hang.
scaffold.meta: a graph whose Scaffold was finalized before the export.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

v1 = tf.compat.v1


def export(graph, path, saver=None):
    with graph.as_default():
        meta = v1.train.export_meta_graph(saver_def=saver and saver.as_saver_def())
    # Names of operations that the exporter's TensorFlow has: large, and read by nobody here.
    meta.meta_info_def.ClearField("stripped_op_list")
    with open(path, "wb") as file:
        file.write(meta.SerializeToString(deterministic=True))


def contract(use_resource):
    graph = tf.Graph()
    with graph.as_default():
        v1.placeholder(tf.float32, [None, 2], name="placeholder")
        v1.get_variable("matrix", initializer=tf.constant([[0, 1, 2], [3, 4, 5]], tf.float32), use_resource=use_resource)
        v1.get_variable("vector", initializer=tf.constant([7, 8], tf.int64), use_resource=use_resource)
        probes = v1.get_variable(
            "probes",
            initializer=tf.constant(0, tf.int64),
            use_resource=use_resource,
            trainable=False,
            collections=[v1.GraphKeys.LOCAL_VARIABLES],
        )
        # TensorFlow loses additions to a reference that several threads make without its lock.
        tf.identity(v1.assign_add(probes, tf.constant(1, tf.int64), use_locking=True), name="probe")
        # create_global_step() makes a resource whatever is asked for; older graphs have references.
        step = v1.get_variable(
            "global_step",
            initializer=tf.constant(0, tf.int64),
            use_resource=use_resource,
            trainable=False,
            collections=[v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP],
        )
        tf.group(v1.assign_add(step, tf.constant(1, tf.int64), use_locking=True, name="add"), name="train")
    return graph


def kinds():
    graph = tf.Graph()
    with graph.as_default():
        v1.train.create_global_step()
        # Both kinds, and what changes them.
        resource = v1.get_variable("resource", initializer=tf.fill([64], 1.0, name="resource_initial"), use_resource=True)
        tf.group(v1.assign_sub(resource, tf.fill([64], 0.25)), name="change_resource")
        reference = v1.get_variable("reference", initializer=tf.fill([64], 1.0, name="reference_initial"), use_resource=False)
        tf.group(v1.assign_sub(reference, tf.fill([64], 0.25)), name="change_reference")
        tf.identity(resource * 2.0, name="read_resource")
        # Types.
        v1.get_variable("flag", initializer=tf.constant(True), use_resource=True, trainable=False)
        v1.get_variable("half", initializer=tf.constant([0.5, 1.5], tf.float16), use_resource=True)
        v1.get_variable("words", initializer=tf.constant(["cat", "a longer string than fits"]), use_resource=True,
                        trainable=False)
        # In parts: two of rows, each kind.
        for name, use_resource in (("parts", True), ("reference_parts", False)):
            v1.get_variable(name, shape=[5, 3], initializer=v1.random_normal_initializer(seed=3),
                            partitioner=v1.fixed_size_partitioner(2), use_resource=use_resource)
        # Two whose initialisers take the same tensor.
        shared = tf.constant([1.0, 2.0], name="shared")
        for name in ("twin_a", "twin_b"):
            v1.Variable(shared, name=name, use_resource=False)
        # Of a size that is not known.
        unknown = v1.placeholder_with_default(tf.zeros([0, 2]), [None, 2])
        v1.get_variable("grown", initializer=unknown, validate_shape=False, use_resource=True)
        # A local variable and a table.
        v1.get_variable("local", initializer=tf.constant(5.0), collections=[v1.GraphKeys.LOCAL_VARIABLES],
                        use_resource=True, trainable=False)
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.constant(["one", "two"]), tf.constant([1, 2], tf.int64)), -1)
        tf.identity(table.lookup(tf.constant(["two", "three"])), name="looked_up")
        # What fails, and what hangs.
        left = v1.placeholder(tf.float32, name="left")
        right = v1.placeholder(tf.float32, name="right")
        tf.matmul(left, right, name="product")
        queue = v1.FIFOQueue(10, [tf.int64], shapes=[[]], name="queue")
        queue.dequeue(name="dequeue")
        enqueue = queue.enqueue(tf.constant(3, tf.int64), name="enqueue")
        v1.train.add_queue_runner(v1.train.QueueRunner(
            queue, [enqueue], queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError)))
        with tf.control_dependencies([queue.dequeue()]):
            tf.group(v1.assign_sub(resource, tf.fill([64], 0.25)), name="hanging_change")
        v1.summary.scalar("total", tf.reduce_sum(resource))
        v1.add_to_collection("numbers", 7)
        v1.add_to_collection("numbers", -8)
        saver = v1.train.Saver(max_to_keep=3)
    return graph, saver


def scaffold():
    graph = tf.Graph()
    with graph.as_default():
        v1.get_variable("w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        v1.train.create_global_step()
        v1.train.Scaffold().finalize()
    return graph


def main():
    folder = sys.argv[1]
    export(contract(True), os.path.join(folder, "contract_resource.meta"))
    export(contract(False), os.path.join(folder, "contract_reference.meta"))
    graph, saver = kinds()
    export(graph, os.path.join(folder, "kinds.meta"), saver)
    export(scaffold(), os.path.join(folder, "scaffold.meta"))


if __name__ == "__main__":
    main()
