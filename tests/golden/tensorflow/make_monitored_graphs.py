#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the graphs in this folder that are trained under hooks, by the tests in tests/tensorflow.

    make_monitored_graphs.py <folder>

hooked.meta: a graph whose counterpart for the local engine is in the test.
queues.meta: queues, operations that fill them and operations that fail; one queue has a runner in the graph.
scoped.meta: a step counter in a scope, a summary that counts, and a variable whose initialiser is a loop.
parts_1.meta, parts_2.meta, parts_3.meta: the same resource variables, "wide" in 1, 2 and 3 parts.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

from make_graphs import export

v1 = tf.compat.v1


def hooked():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        loss = tf.reduce_sum(w * x, name="loss")
        # Like the local engine, which reads before it updates.
        with tf.control_dependencies([loss]):
            update = v1.assign_sub(w, 0.5 * x)
        step = v1.train.create_global_step()
        with tf.control_dependencies([update]):
            tf.group(v1.assign_add(step, tf.constant(1, tf.int64)), name="train")
        v1.summary.scalar("curve", loss)
    return graph


def queues():
    graph = tf.Graph()
    with graph.as_default():
        step = v1.train.create_global_step()

        def local(name):
            return v1.get_variable(name, initializer=tf.constant(0, tf.int64), use_resource=True, trainable=False,
                                   collections=[v1.GraphKeys.LOCAL_VARIABLES])

        def count_up_to(variable, limit, name):
            return tf.raw_ops.ResourceCountUpTo(resource=variable.handle, limit=limit, T=tf.int64, name=name)

        # Data that ends, and operations that fail.
        for name, limit in (("three", 3), ("thirty", 30)):
            variable = local(name)
            count_up_to(variable, limit, "count_" + name)
            tf.identity(variable.read_value(), name="read_" + name)
        v1.read_file(tf.constant("/nowhere/at/all"), name="not_found")
        tf.raw_ops.Assert(condition=tf.constant(False), data=[tf.constant("no")], name="invalid")

        # One queue filled from another, of one element each, so that the filling threads wait.
        first = v1.FIFOQueue(1, [tf.int64], shapes=[[]], name="first")
        first.enqueue(tf.constant(7, tf.int64), name="fill_first")
        first.close(name="close_first")
        first.close(cancel_pending_enqueues=True, name="cancel_first")
        second = v1.FIFOQueue(1, [tf.int64], shapes=[[]], name="second")
        second.enqueue(first.dequeue(), name="fill_second")
        second.close(name="close_second")
        second.close(cancel_pending_enqueues=True, name="cancel_second")
        second.dequeue(name="take_second")
        second.is_closed(name="second_is_closed")
        tf.identity(first.size(), name="size_of_first")

        # As in a training graph: a queue with its runner. Each session gets five elements, 1 to 5.
        examples = v1.FIFOQueue(2, [tf.int64], shapes=[[]], name="examples")
        enqueue = examples.enqueue(count_up_to(local("epoch"), 5, "count_epoch") + 1, name="fill_examples")
        v1.train.add_queue_runner(v1.train.QueueRunner(examples, [enqueue]))
        example = examples.dequeue(name="example")
        total = v1.get_variable("total", initializer=tf.constant(0, tf.int64), use_resource=True)
        with tf.control_dependencies([v1.assign_add(total, example)]):
            tf.group(v1.assign_add(step, tf.constant(1, tf.int64)), name="train")
    return graph


def scoped():
    graph = tf.Graph()
    with graph.as_default():
        with v1.variable_scope("scope"):
            step = v1.get_variable(
                "global_step", initializer=tf.constant(0, tf.int64), use_resource=True, trainable=False,
                collections=[v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP])
        tf.group(v1.assign_add(step, tf.constant(1, tf.int64)), name="train")
        count = v1.get_variable("count", initializer=tf.constant(0.0), use_resource=True, trainable=False,
                                collections=[v1.GraphKeys.LOCAL_VARIABLES])
        v1.summary.scalar("counted", v1.assign_add(count, 1.0))
        # 1 + 2 + 3, by Enter, Switch, Merge and NextIteration.
        v1.disable_control_flow_v2()
        _, total = tf.while_loop(lambda i, _: i < 4, lambda i, total: (i + 1, total + i), (1, 0))
        v1.enable_control_flow_v2()
        v1.get_variable("looped", initializer=tf.identity(total), use_resource=True)
    return graph


def parts(number):
    graph = tf.Graph()
    with graph.as_default():
        v1.train.create_global_step()
        v1.get_variable("plain", initializer=tf.constant([10.0, 20.0]), use_resource=True)
        partitioner = v1.fixed_size_partitioner(number) if number > 1 else None
        v1.get_variable("wide", shape=[7, 2], initializer=v1.zeros_initializer(), partitioner=partitioner,
                        use_resource=True)
    return graph


def main():
    folder = sys.argv[1]
    export(hooked(), os.path.join(folder, "hooked.meta"))
    export(queues(), os.path.join(folder, "queues.meta"))
    export(scoped(), os.path.join(folder, "scoped.meta"))
    for number in (1, 2, 3):
        export(parts(number), os.path.join(folder, f"parts_{number}.meta"))


if __name__ == "__main__":
    main()
