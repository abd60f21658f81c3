#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""A worker of a cluster in Python: MonitoredTrainingSession over the graph that the other members import.

    python_member.py --task N --ps host:port,... --workers host:port,... --steps N --dir DIR

Prints the same lines as examples/tensorflow/cluster, and "ready" first. If it is not the chief it then waits for a
checkpoint: otherwise it would check only every 30 s whether the chief has initialised the variables.
"""

import argparse
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples", "tensorflow"))

import numpy as np
import tensorflow as tf

import make_digits_graph

v1 = tf.compat.v1

BATCH = 32


class LastStep(v1.train.SessionRunHook):
    """The step at which StopAtStepHook, before it in the list, has asked to stop."""

    def begin(self):
        self._counter = v1.train.get_global_step()
        self.value = None

    def after_run(self, run_context, run_values):
        if run_context.stop_requested:
            self.value = run_context.session.run(self._counter)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", type=int, required=True)
    parser.add_argument("--ps", required=True)
    parser.add_argument("--workers", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--dir", required=True)
    args = parser.parse_args()
    cluster = tf.train.ClusterSpec({"ps": args.ps.split(","), "worker": args.workers.split(",")})
    server = tf.distribute.Server(cluster, job_name="worker", task_index=args.task)
    config = v1.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{args.task}"])
    random = np.random.default_rng(args.task)
    steps, last_step = 0, LastStep()
    with make_digits_graph.build(ps=len(args.ps.split(",")), task=args.task).as_default() as graph:
        step = v1.train.get_global_step()
        print("ready", flush=True)
        while args.task != 0 and not tf.train.latest_checkpoint(args.dir):
            time.sleep(0.05)
        with v1.train.MonitoredTrainingSession(
            master=server.target, is_chief=args.task == 0, checkpoint_dir=args.dir, config=config,
            hooks=[v1.train.StopAtStepHook(last_step=args.steps), last_step], save_checkpoint_steps=100,
            save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
        ) as session:  # fmt: skip
            while not session.should_stop():
                feeds = {
                    "images:0": random.random((BATCH, make_digits_graph.PIXELS), np.float32),
                    "labels:0": random.integers(0, make_digits_graph.CLASSES, BATCH, np.int32),
                }
                before, _ = session.run([step, graph.get_operation_by_name("train")], feeds)
                if steps == 0:
                    print(f"worker {args.task} trains from step {before}", flush=True)
                steps += 1
    print(f"worker {args.task} ended at step {last_step.value} after {steps} of its own and 0 recoveries", flush=True)


if __name__ == "__main__":
    main()
