#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The loops of bench/hook_overhead.cc under TensorFlow's Python MonitoredSession.

How much overhead does a monitored loop add to a bare run of the session: without
hooks, with ten idle hooks, and with a usual set of hooks between their triggers?

One step is `while not session.should_stop(): session.run(train)`, where train adds 1 to the
global step. Steps are made in blocks of 100; the triggers of the set are due in the first of
a block, and the last 90 are timed, each separately: a step takes so long that reading the
clock costs nothing, and an interrupted one does not affect the median. Prints, as JSON, the
median in each repetition; the loops take turns, so that a busy machine slows all of them.

  python bench/peers/hook_overhead.py [--repetitions 10] [--blocks 20]
"""

import argparse
import json
import os
import statistics
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf  # pylint: disable=wrong-import-position

tf1 = tf.compat.v1
tf1.logging.set_verbosity(tf1.logging.ERROR)
NUM_UNTIMED = 10
NUM_TIMED = 90


class IdleHook(tf1.train.SessionRunHook):
  pass


def usual_hooks(directory, loss):
  # TensorFlow 2.21 has no AsyncCheckpointSaverHook; between its triggers, CheckpointSaverHook
  # does less: the asynchronous one of TensorFlow 1 read the step in a separate run.
  return [
      tf1.train.StopAtStepHook(last_step=10**12),
      tf1.train.StepCounterHook(every_n_steps=100, output_dir=directory),
      tf1.train.LoggingTensorHook({"loss": loss}, every_n_iter=100),
      tf1.train.CheckpointSaverHook(directory, save_secs=600),
      tf1.train.FinalOpsHook(loss),
  ]


def monitored_step(session, train):
  def step():
    if session.should_stop():
      raise RuntimeError("the run has ended")
    session.run(train)

  return step


def make_step(name, directory):
  """Returns a function that makes a step."""
  with tf.Graph().as_default():
    step = tf1.train.create_global_step()
    loss = tf1.get_variable("loss", initializer=0.5)
    train = tf1.assign_add(step, 1).op
    if name == "bare":
      session = tf1.Session()
      session.run(tf1.global_variables_initializer())
      return lambda: session.run(train)
    hooks = {
        "no_hooks": lambda: [],
        "idle_hooks": lambda: [IdleHook() for _ in range(10)],
        "usual_hooks": lambda: usual_hooks(directory, loss),
    }[name]()
    session = tf1.train.MonitoredSession(tf1.train.ChiefSessionCreator(), hooks)
    return monitored_step(session, train)


def time_blocks(step, num_blocks):
  """The median time of a step in ns."""
  times = []
  for _ in range(num_blocks):
    for _ in range(NUM_UNTIMED):
      step()
    for _ in range(NUM_TIMED):
      start = time.perf_counter_ns()
      step()
      times.append(time.perf_counter_ns() - start)
  return statistics.median(times)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--repetitions", type=int, default=10)
  parser.add_argument("--blocks", type=int, default=20)
  options = parser.parse_args()

  benchmarks = []
  with tempfile.TemporaryDirectory() as directory:
    steps = {
        name: make_step(name, directory)
        for name in ("bare", "no_hooks", "idle_hooks", "usual_hooks")
    }
    for repetition in range(options.repetitions):
      for name, step in steps.items():
        benchmarks.append({
            "name": name,
            "repetition_index": repetition,
            "step_ns": time_blocks(step, options.blocks),
        })
  print(json.dumps({"context": {"tensorflow": tf.__version__}, "benchmarks": benchmarks}, indent=1))


if __name__ == "__main__":
  main()
