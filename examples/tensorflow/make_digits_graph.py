#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Exports a graph that learns to read hand-written digits, for the program in this folder or any other.

    make_digits_graph.py [--variables resource|reference] [--partitions N] [--seed S] [--ps N] <digits.meta>

The graph has the placeholders "images" (float32 [?,64]) and "labels" (int32 [?]), the operation "train", which is one
step of Adam, and the values "loss" and "accuracy". With --ps its variables are on N tasks of a job "ps", in turn, and
all other operations are on "/job:worker/task:0": the graph for a cluster (see cluster/), with its own saver.
"""

import argparse
import contextlib
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

v1 = tf.compat.v1

PIXELS = 64
HIDDEN = 128
CLASSES = 10
LEARNING_RATE = 1e-3


def dense(name, inputs, units, partitions):
    with v1.variable_scope(name):
        partitioner = v1.fixed_size_partitioner(partitions) if partitions > 1 else None
        kernel = v1.get_variable("kernel", [inputs.shape[1], units], partitioner=partitioner)
        bias = v1.get_variable("bias", [units], initializer=v1.zeros_initializer())
        return tf.matmul(inputs, tf.convert_to_tensor(kernel)) + bias


def devices(ps, task):
    """The device function: any device, or variables on tasks of "ps" and all other operations on a worker."""
    if ps == 0:
        return contextlib.nullcontext()
    return v1.device(v1.train.replica_device_setter(ps_tasks=ps, worker_device=f"/job:worker/task:{task}"))


def build(use_resource=True, partitions=1, seed=1, ps=0, task=0):
    graph = tf.Graph()
    with graph.as_default(), devices(ps, task):
        v1.set_random_seed(seed)
        images = v1.placeholder(tf.float32, [None, PIXELS], name="images")
        labels = v1.placeholder(tf.int32, [None], name="labels")
        with v1.variable_scope("model", use_resource=use_resource):
            hidden = tf.nn.relu(dense("hidden", images, HIDDEN, partitions))
            logits = dense("logits", hidden, CLASSES, partitions=1)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses, name="loss")
        hits = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), labels)
        tf.reduce_mean(tf.cast(hits, tf.float32), name="accuracy")
        v1.summary.scalar("curves/loss", loss)
        step = v1.train.get_or_create_global_step()
        v1.train.AdamOptimizer(LEARNING_RATE).minimize(loss, global_step=step, name="train")
    return graph


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", choices=["resource", "reference"], default="resource")
    parser.add_argument("--partitions", type=int, default=1, help="of the hidden layer's weights")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ps", type=int, default=0, help="tasks of the job that holds the variables")
    parser.add_argument("path")
    args = parser.parse_args()
    with build(args.variables == "resource", args.partitions, args.seed, args.ps).as_default():
        # In a cluster the variables are saved on their own devices, by operations of the graph.
        saver = v1.train.Saver(sharded=True).as_saver_def() if args.ps > 0 else None
        v1.train.export_meta_graph(args.path, saver_def=saver)


if __name__ == "__main__":
    main()
