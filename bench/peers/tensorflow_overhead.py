#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The digits' loops of bench/tensorflow_overhead.cc under TensorFlow's Python MonitoredSession.

  python bench/peers/tensorflow_overhead.py --graph digits.meta [--repetitions 10] [--blocks 20]

The same graph, fed a batch of the same size; loops, blocks, hooks and output are those of
the other program and of hook_overhead.py.
"""

import argparse
import json
import os
import statistics
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np  # pylint: disable=wrong-import-position
import tensorflow as tf  # pylint: disable=wrong-import-position

from hook_overhead import NUM_TIMED, NUM_UNTIMED, usual_hooks  # pylint: disable=wrong-import-position

tf1 = tf.compat.v1
tf1.logging.set_verbosity(tf1.logging.ERROR)
BATCH, PIXELS = 32, 64


def make_step(name, graph_path, directory, config=None):
  """Returns a function that makes a step."""
  random = np.random.default_rng(1)
  feeds = {
      "images:0": random.random((BATCH, PIXELS), dtype=np.float32),
      "labels:0": random.integers(0, 10, BATCH, dtype=np.int32),
  }
  with tf.Graph().as_default() as graph:
    tf1.train.import_meta_graph(graph_path)
    train = graph.get_operation_by_name("train")
    loss = graph.get_tensor_by_name("loss:0")
    if name == "bare":
      session = tf1.Session()
      session.run(tf1.global_variables_initializer())
      return lambda: session.run(train, feeds)
    hooks = usual_hooks(directory, loss) if name == "usual_hooks" else []
    # Its FinalOpsHook would need feeds, but the end is never reached.
    session = tf1.train.MonitoredSession(tf1.train.ChiefSessionCreator(config=config), hooks)

  def step():
    if session.should_stop():
      raise RuntimeError("the run has ended")
    session.run(train, feeds)

  return step


def add_block(step, times):
  for _ in range(NUM_UNTIMED):
    step()
  for _ in range(NUM_TIMED):
    start = time.perf_counter_ns()
    step()
    times.append(time.perf_counter_ns() - start)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--graph", required=True)
  parser.add_argument("--repetitions", type=int, default=10)
  parser.add_argument("--blocks", type=int, default=20)
  options = parser.parse_args()

  benchmarks = []
  with tempfile.TemporaryDirectory() as directory:
    loops = {
        "digits/" + name: make_step(name, options.graph, os.path.join(directory, name))
        for name in ("bare", "no_hooks", "usual_hooks")
    }
    callers_thread = tf1.ConfigProto(inter_op_parallelism_threads=-1)
    single_threaded = tf1.ConfigProto()
    single_threaded.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    for name, config in (("callers_thread", callers_thread), ("single_threaded", single_threaded)):
      loops[name + "/usual_hooks"] = make_step("usual_hooks", options.graph,
                                               os.path.join(directory, name), config)
    for repetition in range(options.repetitions):
      times = {name: [] for name in loops}
      for _ in range(options.blocks):
        for name, step in loops.items():
          add_block(step, times[name])
      benchmarks += [{
          "name": name,
          "repetition_index": repetition,
          "step_ns": statistics.median(times[name]),
      } for name in loops]
  print(json.dumps({"context": {"tensorflow": tf.__version__}, "benchmarks": benchmarks}, indent=1))


if __name__ == "__main__":
  main()
