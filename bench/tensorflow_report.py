#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the overhead of the TensorFlow engine, compared with TensorFlow's C API and its Python, for bench/README.md.

scripts/bench-tensorflow builds the programs and calls it. The two programs take turns, and so do
the loops in each. A cost is a difference between two loops of the same repetition, of which a round
takes the median; a ratio compares the same round. The tables have the medians of the rounds. The
text between the marks in the document is replaced.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

from compare import added, by_loop, run
from document import check_section, machine, replace_section

HERE = os.path.dirname(os.path.abspath(__file__))


def export_graph(options, path):
  script = os.path.join(HERE, "..", "examples", "tensorflow", "make_digits_graph.py")
  subprocess.run([options.python, script, path], check=True, capture_output=True)


def measure(options, graph):
  """[(crochet's loops, Python's loops) by round], and Python's context."""
  rounds, context, loads = [], {}, [os.getloadavg()[0]]
  size = ["--graph", graph, "--repetitions", str(options.repetitions), "--blocks",
          str(options.blocks)]
  for i in range(options.rounds):
    print(f"round {i + 1} of {options.rounds}", file=sys.stderr)
    ours = run([os.path.join(options.bin, "tensorflow_overhead"), *size])
    peer = run([options.python, os.path.join(HERE, "peers", "tensorflow_overhead.py"), *size])
    rounds.append((by_loop(ours, "step_ns"), by_loop(peer, "step_ns")))
    context = peer["context"]
    loads.append(os.getloadavg()[0])
  return rounds, context, loads


def micros(values):
  """The median of the rounds."""
  return f"{statistics.median(values) / 1000:,.1f}"


def medians(rounds, side, loop):
  return [statistics.median(both[side][loop]) for both in rounds]


def steps_table(rounds):
  ours, peer = 0, 1
  lines = ["| a step | us |", "| --- | ---: |"]
  for name, side, loop in (
      ("an empty graph, `TF_SessionRun`", ours, "empty/raw"),
      ("the same by the engine", ours, "empty/engine"),
      ("digits, `TF_SessionRun`", ours, "digits/raw"),
      ("digits by the engine", ours, "digits/engine"),
      ("the same with the global step fetched", ours, "digits/engine_step"),
      ("digits, `MonitoredSession` without hooks", ours, "digits/no_hooks"),
      ("digits, with the set of hooks", ours, "digits/usual_hooks"),
      ("digits in Python, `Session`", peer, "digits/bare"),
      ("digits in Python, `MonitoredSession` without hooks", peer, "digits/no_hooks"),
      ("digits in Python, with the set of hooks", peer, "digits/usual_hooks"),
      ("on the caller's thread: digits, `TF_SessionRun`", ours, "callers_thread/raw"),
      ("on the caller's thread: with the set of hooks", ours, "callers_thread/usual_hooks"),
      ("on the caller's thread: in Python, with the set of hooks", peer,
       "callers_thread/usual_hooks"),
      ("by the single-threaded executor: digits, `TF_SessionRun`", ours, "single_threaded/raw"),
      ("by the single-threaded executor: with the set of hooks", ours,
       "single_threaded/usual_hooks"),
      ("by the single-threaded executor: in Python, with the set of hooks", peer,
       "single_threaded/usual_hooks"),
  ):
    lines.append(f"| {name} | {micros(medians(rounds, side, loop))} |")
  return lines


def claims(rounds):
  """(name, its value in each round, the maximum target or None, its unit)."""
  def cost(loop, base):
    return [added(ours, loop, base) for ours, _ in rounds]

  def share(loop, base):
    return [100 * added(ours, loop, base) / statistics.median(ours[base]) for ours, _ in rounds]

  def ratio(loop, peers):
    return [statistics.median(ours[loop]) / statistics.median(peer[peers]) for ours, peer in rounds]

  def beyond_tensorflow(loop):
    raw = [statistics.median(ours["digits/raw"]) for ours, _ in rounds]
    return [(statistics.median(ours[loop]) - base) / (statistics.median(peer[loop]) - base)
            for base, (ours, peer) in zip(raw, rounds)]

  return [
      ("added by the engine to a run of an empty graph", [c / 1000 for c in
                                                          cost("empty/engine", "empty/raw")], 3,
       "us"),
      ("added by the set of hooks to a step of the digits",
       share("digits/usual_hooks", "digits/engine"), 5, "%"),
      ("the same less the global step that they fetch",
       share("digits/usual_hooks", "digits/engine_step"), None, "%"),
      ("a step without hooks / Python's", ratio("digits/no_hooks", "digits/no_hooks"), 1 / 3, ""),
      ("a step with the set of hooks / Python's", ratio("digits/usual_hooks",
                                                        "digits/usual_hooks"), 1 / 3, ""),
      ("`TF_SessionRun` alone / Python's step with the set of hooks",
       ratio("digits/raw", "digits/usual_hooks"), None, ""),
      ("a step with the set of hooks, all on the caller's thread / Python's, as usual",
       ratio("callers_thread/usual_hooks", "digits/usual_hooks"), 1 / 3, ""),
      ("the same / Python's, all on the caller's thread",
       ratio("callers_thread/usual_hooks", "callers_thread/usual_hooks"), 1 / 3, ""),
      ("a step with the set of hooks, by the single-threaded executor / Python's, as usual",
       ratio("single_threaded/usual_hooks", "digits/usual_hooks"), 1 / 3, ""),
      ("the same / Python's, by the single-threaded executor",
       ratio("single_threaded/usual_hooks", "single_threaded/usual_hooks"), 1 / 3, ""),
      ("what a step with the set of hooks takes beyond `TF_SessionRun` / the same of Python's",
       beyond_tensorflow("digits/usual_hooks"), 1 / 3, ""),
  ]


def claims_table(rounds):
  lines = ["| | median (of the rounds) | wanted | |", "| --- | ---: | ---: | --- |"]
  for what, values, wanted, unit in claims(rounds):
    value = statistics.median(values)
    line = f"| {what} | {value:.2f} ({min(values):.2f} to {max(values):.2f}) {unit} "
    if wanted is None:
      lines.append(line + "| | |")
    else:
      lines.append(line + f"| at most {wanted:.2g} {unit} "
                   f"| {'met' if value <= wanted else 'NOT MET'} |")
  return lines


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--bin", required=True, help="the folder of tensorflow_overhead")
  parser.add_argument("--python", default=sys.executable, help="a Python with TensorFlow")
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--repetitions", type=int, default=5, help="repetitions of each loop in a round")
  parser.add_argument("--blocks", type=int, default=10, help="blocks of each loop in a repetition")
  parser.add_argument("--document", help="bench/README.md: replaces its section; default: prints")
  options = parser.parse_args()

  if options.document:
    check_section(options.document, "tensorflow")

  with tempfile.TemporaryDirectory() as directory:
    graph = os.path.join(directory, "digits.meta")
    export_graph(options, graph)
    rounds, context, loads = measure(options, graph)
  lines = [f"{machine()}; TensorFlow {context['tensorflow']}; {options.rounds} rounds of "
           f"{options.repetitions} repetitions; load before and meanwhile: "
           f"{', '.join(f'{load:.1f}' for load in loads)}", "", *claims_table(rounds), "",
           *steps_table(rounds)]
  if options.document:
    replace_section(options.document, "tensorflow", lines)
  print("\n".join(lines))


if __name__ == "__main__":
  main()
