#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what a step costs, and peers in turns: for bench/README.md and docs/performance.md.

scripts/bench builds the programs and calls it. A cost is a difference between two loops that
were measured in the same repetition, of which a round takes the median; a ratio also compares the
same round. The tables have the medians of the rounds. Machines differ, and may be busy: look at the
ratios. The text between the marks in the documents is replaced.
"""

import argparse
import collections
import json
import os
import statistics
import subprocess
import sys

from document import check_section, machine, replace_section

NUM_HOOKS = 10

# The comparisons: a name, the loop, its baseline, the divisor of the difference, and how many times
# smaller than the peer's it should be.
ROWS = (
    ("added without hooks", "no_hooks", "bare", 1, 150),
    ("added by one idle hook", "idle_hooks", "no_hooks", NUM_HOOKS, 40),
    ("added with the set of hooks", "usual_hooks", "bare", 1, 40),
)

# What crochet costs by itself: a name, the loop, its baseline, the divisor of the difference, and
# the largest cost that is wanted, in ns.
ALONE = (
    ("wrappers over an engine that does nothing", "null/no_hooks", "null/bare", 1, None),
    ("one idle hook over it", "null/idle_hooks", "null/no_hooks", NUM_HOOKS, None),
    ("the set of hooks over it", "null/usual_hooks", "null/bare", 1, None),
    ("a hook's request of a value, more than an idle hook", "values/requests", "values/idle_hooks",
     NUM_HOOKS, 20),
    ("`Loop` without hooks, added to its body", "loop/no_hooks", "loop/bare", 1, 100),
    ("`Loop` with its default hooks", "loop/default_hooks", "loop/bare", 1, 250),
)


def run(command):
  """The JSON that a program prints; its other output is shown only if it fails."""
  done = subprocess.run(command, capture_output=True, text=True, check=False)
  if done.returncode != 0:
    sys.exit(f"{done.stderr}\n{' '.join(command)}: exit code {done.returncode}")
  return json.loads(done.stdout)


def measure_crochet(path, options):
  flags = ["--benchmark_format=json"]
  if options.quick:
    flags.append("--benchmark_min_time=0.0001")
  else:
    flags += [f"--benchmark_repetitions={options.repetitions}", "--benchmark_min_time=0.1",
              "--benchmark_enable_random_interleaving=true"]
  return run([path, *flags])


def measure_peer(options):
  size = ["--repetitions", "1", "--blocks", "2"] if options.quick else [
      "--repetitions", str(options.repetitions)]
  peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers", "hook_overhead.py")
  return run([options.python, peer, *size])


def by_loop(result, value):
  """{loop: [value by repetition]}."""
  loops = collections.defaultdict(dict)
  for entry in result["benchmarks"]:
    if entry.get("run_type", "iteration") == "iteration":
      name = entry["name"].removesuffix("/manual_time")
      loops[name][entry.get("repetition_index", 0)] = entry[value]
  return {name: [values[i] for i in sorted(values)] for name, values in loops.items()}


def added(loops, loop, base, divisor=1):
  pairs = zip(loops[loop], loops[base])
  return statistics.median((with_it - without) / divisor for with_it, without in pairs)


def number(value):
  return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def verdict(met):
  return "met" if met else "NOT MET"


def comparison(rounds):
  """The lines of the table beside the peer, and those of its targets."""
  table = ["| a step | crochet, ns | TensorFlow in Python, ns | ratio (of the rounds) |",
           "| --- | ---: | ---: | ---: |"]
  targets = []
  ours = statistics.median(statistics.median(local["local/bare"]) for local, _ in rounds)
  peers = statistics.median(statistics.median(peer["bare"]) for _, peer in rounds)
  table.append(f"| a bare run of the session | {number(ours)} | {number(peers)} | |")
  for name, loop, base, divisor, wanted in ROWS:
    costs = [(added(local, "local/" + loop, "local/" + base, divisor),
              added(peer, loop, base, divisor)) for local, peer in rounds]
    ratios = [peer / max(our, 0.1) for our, peer in costs]
    ratio = statistics.median(ratios)
    spread = f"{ratio:,.0f} ({min(ratios):,.0f} to {max(ratios):,.0f})"
    table.append(f"| {name} | {number(statistics.median(our for our, _ in costs))} "
                 f"| {number(statistics.median(peer for _, peer in costs))} | {spread} |")
    targets.append(f"| TensorFlow's cost / crochet's: {name} | {spread} | at least {wanted} "
                   f"| {verdict(ratio >= wanted)} |")
  return table, targets


def alone(rounds, chains):
  """The same for crochet by itself."""
  table, targets = ["| crochet alone | ns |", "| --- | ---: |"], []
  for name, loop, base, divisor, wanted in ALONE:
    cost = statistics.median(added(local, loop, base, divisor) for local, _ in rounds)
    table.append(f"| {name} | {number(cost)} |")
    if wanted is not None:
      targets.append(f"| {name}, ns | {number(cost)} | at most {wanted} | {verdict(cost <= wanted)} |")
  for length, name in (("1", "one operation"), ("1000", "1,000 operations in a chain")):
    times = [statistics.median(chain["chain/" + length]) for chain in chains]
    table.append(f"| a run of {name} in the local engine | {number(statistics.median(times))} |")
  return table, targets


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--bin", required=True, help="the folder of the measuring programs")
  parser.add_argument("--python", default=sys.executable, help="a Python with TensorFlow")
  parser.add_argument("--rounds", type=int, default=7)
  parser.add_argument("--repetitions", type=int, default=10, help="repetitions of each loop in a round")
  parser.add_argument("--quick", action="store_true", help="only check that it works")
  parser.add_argument("--document", help="bench/README.md: replaces its targets; default: prints")
  parser.add_argument("--page", help="docs/performance.md: replaces its tables of a step")
  options = parser.parse_args()

  if options.document:
    check_section(options.document, "step_targets")
  if options.page:
    check_section(options.page, "steps")
  rounds, chains, loads, context = [], [], [os.getloadavg()[0]], {}
  for i in range(options.rounds):
    print(f"round {i + 1} of {options.rounds}", file=sys.stderr)
    local = measure_crochet(os.path.join(options.bin, "hook_overhead"), options)
    chain = measure_crochet(os.path.join(options.bin, "local_chain"), options)
    peer = measure_peer(options)
    context = peer["context"]
    rounds.append((by_loop(local, "step_ns"), by_loop(peer, "step_ns")))
    chains.append(by_loop(chain, "cpu_time"))
    loads.append(os.getloadavg()[0])

  head = (f"{machine()}; TensorFlow {context['tensorflow']}; {options.rounds} rounds of "
          f"{options.repetitions} repetitions; load before and meanwhile: "
          f"{', '.join(f'{load:.1f}' for load in loads)}")
  (beside, ratios), (by_itself, costs) = comparison(rounds), alone(rounds, chains)
  steps = [head, "", *beside, "", *by_itself]
  targets = [head, "", "| target | measured | wanted | |", "| --- | ---: | ---: | --- |", *ratios,
             *costs]
  if options.page:
    replace_section(options.page, "steps", steps)
  if options.document:
    replace_section(options.document, "step_targets", targets)
  print("\n".join(steps + [""] + targets))


if __name__ == "__main__":
  main()
