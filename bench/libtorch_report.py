#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of saving a training with LibTorch, and writes it into bench/README.md.

scripts/bench-libtorch builds the program and calls it. crochet and the peers, PyTorch's own ways to save
and torch_checkpointing, take turns, each in its own process; they train the same net. A ratio compares
measurements of the same round; the tables have the medians of the rounds. The text between the marks in
the document is replaced.
"""

import argparse
import collections
import os
import shutil
import sys

from checkpoint_report import main_table
from document import check_section, machine, replace_section
from saving_bench import (GIB, MEASURED_SAVES, MIB, Bench, Missing, claims_table, durable, lost,
                          lost_copies, median, of_saves, ratios_to_best_peer)

NAMES = {
    "crochet": "crochet, LibTorch",
    "torch_save": "torch.save",
    "dcp_async": "DCP, async_save",
    "dcp_stager": "DCP, async_save with DefaultStager",
    "dcp_process": "DCP, async_save by a process",
    "torch_checkpointing": "torch_checkpointing",
    "torch_checkpointing_2": "torch_checkpointing with two writers",
}
PEERS = tuple(NAMES)[1:]
BARE = "bare writes of as many bytes, read once, without crochet"
SAME = 1e-3  # Losses of the first steps, whose sums are rounded differently.


class LibtorchBench(Bench):
  program = "libtorch_checkpoint"
  names = {**NAMES, "bare": BARE}
  peer_seconds = 600  # Steps take a second.

  def bare(self, arguments, size, variables):
    """The same training, whose saves are bare writes; None where the disk cannot be measured."""
    try:
      return self.run_crochet([*arguments, "--bare"], size, variables)
    except Missing as error:
      self.failures["bare"].append(str(error))
      return None


def measure_rounds(bench, options):
  arguments = ["--batch", str(options.batch), "--threads", str(options.threads)]
  results = collections.defaultdict(list)
  for i in range(options.rounds):
    print(f"round {i + 1} of {options.rounds}", file=sys.stderr)
    results["crochet"].append(bench.run_crochet(arguments, options.size, options.variables))
    results["bare"].append(bench.bare(arguments, options.size, options.variables))
    for name in PEERS:
      results[name].append(bench.peer(name, options.size, options.variables, arguments))
    results["load"].append(os.getloadavg()[0])
  return results


def keep_memory_of_steps():
  """Memory that malloc has returned is new when a step gets it again, which makes the step 0.3 s longer."""
  os.environ.update(MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_=str(64 * GIB))


def check_trainings(results):
  """Exits if a peer does not train as crochet does."""
  ours = results["crochet"][0]
  for name in PEERS:
    for theirs in filter(None, results[name]):
      if theirs["bytes"] != ours["bytes"] or any(
          abs(a - b) > SAME * abs(a) for a, b in zip(ours["losses"], theirs["losses"])):
        sys.exit(f"{NAMES[name]} trains another net: {theirs['bytes']} bytes and losses "
                 f"{theirs['losses']}, crochet {ours['bytes']} and {ours['losses']}")


def claims(results):
  """(name, the value in each round, the target, whether more is better)."""
  ours = results["crochet"]
  rows = [
      ("forward and backward / one memcpy of the state", [r["passes_s"] / r["copy_s"] for r in ours], 1,
       True),
      ("crochet blocks, ms", [of_saves(r, "blocked_s") * 1000 for r in ours], 1, False),
      ("time lost by crochet / one memcpy of the state",
       lost_copies(ours), 0.3, False),
      (f"time lost to {BARE} / one memcpy", lost_copies(results["bare"]), None, False)]
  for text, what, ratio, wanted, more_is_better in (
      ("time lost by crochet / by the best peer", lost, lambda a, b: a / b, 0.1, False),
      ("rate of a durable save / the fastest peer's", durable, lambda a, b: b / a, 2, True)):
    rows.append((text, ratios_to_best_peer(results, "crochet", what, ratio, PEERS), wanted,
                 more_is_better))
  return rows


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--bin", required=True, help="the folder of libtorch_checkpoint")
  parser.add_argument("--python", default=sys.executable, help="a Python with the peers")
  parser.add_argument("--dir", default="libtorch_bench", help="a folder on the disk to measure; it is emptied")
  parser.add_argument("--rounds", type=int, default=3)
  parser.add_argument("--size", type=int, default=GIB, help="bytes of state")
  parser.add_argument("--variables", type=int, default=64, help="tensors of the state")
  parser.add_argument("--batch", type=int, default=64, help="examples in a step")
  parser.add_argument("--threads", type=int, default=max(1, os.cpu_count() - 1), help="of LibTorch")
  parser.add_argument("--document", help="bench/README.md: replaces its section; default: prints")
  options = parser.parse_args()

  if options.document:
    check_section(options.document, "libtorch")

  keep_memory_of_steps()
  bench = LibtorchBench(options)
  results = measure_rounds(bench, options)
  check_trainings(results)
  first = results["crochet"][0]
  loads = ", ".join(f"{load:.1f}" for load in results["load"])
  lines = [f"{machine()}, {first['threads']} of them for LibTorch; {options.rounds} rounds of "
           f"{MEASURED_SAVES['crochet']} saves, the peers' of {MEASURED_SAVES['peer']}; a step takes "
           f"{median(r['step_s'] for r in results['crochet']):.2f} s, forward and backward "
           f"{median(r['passes_s'] for r in results['crochet']):.2f} s, a memcpy of the state "
           f"{median(r['copy_s'] for r in results['crochet']):.2f} s; load after each round: {loads}",
           "", *main_table(results, first["bytes"],
                           f"{first['bytes'] / MIB:,.0f} MiB in {first['variables']} tensors", NAMES),
           "", *claims_table(claims(results)), ""]
  lines += bench.failure_lines()
  shutil.rmtree(options.dir, ignore_errors=True)
  if options.document:
    replace_section(options.document, "libtorch", lines)
  print("\n".join(lines))


if __name__ == "__main__":
  main()
