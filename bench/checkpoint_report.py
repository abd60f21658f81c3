#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of saving, with crochet and the peers: for bench/README.md, docs/performance.md.

scripts/bench-checkpoints builds the programs and calls it. All take turns, so that a busy
machine slows all of them; each runs in its own process. A ratio compares measurements of the
same round; the tables have the medians of the rounds. The text between the marks in the documents
is replaced, and the plots are drawn.
"""

import argparse
import collections
import os
import shutil
import sys

from checkpoint_sections import (NoMemoryDisk, elsewhere, kill_section, limit_section, loads_of,
                                 memory_disk, often_section, processor_section, progress, spread)
from document import check_section, machine, replace_section
from saving_bench import (FIRST_SAVES, GIB, KINDS, MEASURED_SAVES, MIB, NAMES, PEERS, PEERS_IN_PYTHON, Bench,
                          claims_table, durable, lost, lost_copies, median, ms, of_saves, ratios_of,
                          ratios_to_best_peer)


SAVES_IN_MEMORY = FIRST_SAVES["crochet"] + 4  # All of them are kept.


def measure_pairs(bench, pairs, size):
  """Measures fio and crochet in turns: [(fio's seconds, ours)] for writing and reading."""
  print(f"{pairs} pairs with fio", file=sys.stderr)
  write, read = [], []
  for _ in range(pairs):
    fio_write, fio_read = bench.fio("write", size), bench.fio("read", size)
    ours = bench.crochet("alone", size, saves=FIRST_SAVES["crochet"] + 3)
    write.append((fio_write, durable(ours)))
    read.append((fio_read, ours["restore_s"]))
  return {"write": write, "read": read}


def measure_peers(bench, results, size, arguments=()):
  """Ends a round: adds the peers and the load to the results."""
  for name in ("crochet_python", *PEERS):
    results[name].append(bench.peer(name, size, arguments=arguments))
  results["load"].append(os.getloadavg()[0])


def measure_rounds(bench, rounds, size):
  results = collections.defaultdict(list)
  for i in range(rounds):
    print(f"round {i + 1} of {rounds}", file=sys.stderr)
    results["alone"].append(bench.crochet("alone", size))
    results["many"].append(bench.crochet("alone", size, max(1, size // 10240)))
    for kind in KINDS + ("disk",):
      results[kind].append(bench.crochet(kind, size))
    measure_peers(bench, results, size)
  return results


def main_table(results, size, title="1 GiB in 64 variables", names=NAMES):
  lines = [f"| {title} | blocks, ms | time lost, ms | by the first save, ms | durable after, s | GiB/s | "
           "restored cold, s | memory beyond the state, MiB |",
           "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
  for name in names:
    rounds = [r for r in results[name] if r]
    if not rounds:
      lines.append(f"| {names[name]} | missing | | | | | | |")
      continue
    blocked = "snapshot_s" if name in KINDS else "blocked_s"
    version = f" {rounds[0]['version']}" if "version" in rounds[0] else ""
    seconds = median(durable(r) for r in rounds)
    lines.append(f"| {names[name]}{version} | {ms(median(of_saves(r, blocked) for r in rounds))} "
                 f"| {ms(median(of_saves(r, 'lost_s') for r in rounds))} "
                 f"| {ms(median(r['saves'][0]['lost_s'] for r in rounds))} | {seconds:.2f} "
                 f"| {size / GIB / seconds:.2f} | {median(r['restore_s'] for r in rounds):.2f} "
                 f"| {median(r['extra_memory'] for r in rounds) / MIB:,.0f} |")
  return lines


def rate_claims(results, alone, training):
  """As claims(): the rates of saves, alone and beside training, and of restores by the peers'."""
  rows = []
  for what, name in (("alone", alone), ("beside training", training)):
    rows.append((f"rate of a durable save {what} / the fastest peer's",
                 ratios_to_best_peer(results, name, durable, lambda a, b: b / a), 2, True))
    for peer, wanted in (("tf_saver", 4), ("torch_snapshot", 5)):
      rows.append((f"the same / {NAMES[peer]}",
                   ratios_of(results, peer, name, lambda a, b: durable(a) / durable(b)),
                   wanted, True))
  rows.append(("rate of a cold restore / the fastest peer's",
               ratios_to_best_peer(results, alone, lambda r: r["restore_s"], lambda a, b: b / a),
               2, True))
  return rows


def claims(results, pairs):
  """(name, the ratio in each round, the target or None, whether more is better)."""
  rounds = range(len(results["alone"]))
  rows = [
      (f"time lost by {NAMES[kind]} / one memcpy of the state",
       lost_copies(results[kind]), wanted, False)
      for kind, wanted in (("replace", 0.3), ("update", 1.3), ("body", 1.3), ("compute", 0.3))]
  rows.insert(0, ("time lost to bare writes of as many bytes, read once, without crochet / one memcpy",
                  lost_copies(results["disk"]), None, False))
  rows += [(f"time lost by {NAMES[kind]} / by the best peer",
            ratios_to_best_peer(results, kind, lost, lambda a, b: a / b), 0.2, False)
           for kind in KINDS]
  rows += [
      (f"{what} from Python / {which} in Python's",
       ratios_to_best_peer(results, "crochet_python", measure, ratio, PEERS_IN_PYTHON), wanted, more)
      for what, which, measure, ratio, wanted, more in (
          ("rate of a durable save", "the fastest peer", durable, lambda a, b: b / a, 2, True),
          ("time for which a save blocks", "the best peer", lambda r: of_saves(r, "blocked_s"),
           lambda a, b: a / b, 0.1, False))]
  rows += rate_claims(results, "alone", "replace")
  rows += [
      ("rate of a durable save alone / fio's", [a / b for a, b in pairs["write"]], 0.9, True),
      ("the same of variables of 10 KiB / of 64 variables",
       ratios_of(results, "alone", "many", lambda a, b: durable(a) / durable(b)), 0.7, True),
      ("rate of a cold restore / fio's", [a / b for a, b in pairs["read"]], 0.85, True),
      ("memory beyond the state / the state",
       [max(results[kind][i]["extra_memory"] / results[kind][i]["bytes"] for kind in KINDS)
        for i in rounds], 1.05, False)]
  return rows


def peers_table(rows):
  """Those of the claims that compare with the best peer, without targets."""
  return ["| ratio | median (of the rounds) |", "| --- | ---: |",
          *(f"| {what} | {spread(values)} |" for what, values, *_ in rows
            if values and what.endswith(("the best peer", "the fastest peer's")))]


def measure_unchanged(bench, rounds, size):
  """The same state with all variables trained, or a hundredth of them."""
  results = collections.defaultdict(list)
  for i in range(rounds):
    print(f"unchanged values, round {i + 1} of {rounds}", file=sys.stderr)
    for kind in ("replace", "frozen", "body", "arrays"):
      results[kind].append(bench.crochet(kind, size, 100))
    for kind, arguments in (("net", []), ("frozen net", ["--frozen"])):
      results[kind].append(bench.libtorch(arguments, size))
    results["load"].append(os.getloadavg()[0])
  return results


# Kinds of which a hundredth is trained: the kind with all trained, and what it is.
PARTLY_TRAINED = {"frozen": ("replace", "variables of the engine"),
                  "arrays": ("body", "arrays of the program"),
                  "frozen net": ("net", "a net of LibTorch")}


def measured_saves(result):
  return result["saves"][FIRST_SAVES["crochet"]:]


def sharing_saves(result):
  return [save for save in measured_saves(result) if save["written_bytes"] < result["bytes"] / 2]


def whole_saves(result):
  """Those beyond the horizon of trust: docs/checkpoints.md, "What did not change"."""
  return [save for save in measured_saves(result) if save["written_bytes"] >= result["bytes"] / 2]


def typical(saves, what):
  return median(save[what] for save in saves)


def mean(saves, what):
  return sum(save[what] for save in saves) / len(saves)


def unchanged_section(bench, options):
  rounds = options.rounds
  results = measure_unchanged(bench, rounds, options.size)
  names = {"replace": "variables of the engine, all trained", "frozen": "the same, 1 of 100 trained",
           "body": "arrays of the program, all trained", "arrays": "the same, 1 of 100 trained",
           "net": f"a net of LibTorch {results['net'][0]['version']} with Adam, all trained",
           "frozen net": "the same, 3 of 300 tensors trained"}
  loads = [f"{load:.1f}" for load in results["load"]]
  lines = [f"{machine()}; {rounds} rounds of {MEASURED_SAVES['crochet']} saves, after the first "
           f"{FIRST_SAVES['crochet']}; load after the rounds: {min(loads)} to {max(loads)}", "",
           "| 1 GiB in 100 variables, the net's in 300 | durable after, ms | written, MB | time lost, ms |",
           "| --- | ---: | ---: | ---: |"]
  for kind, name in names.items():
    rows = [(name, measured_saves)]
    if kind in PARTLY_TRAINED:
      rows = [(name, sharing_saves), ("every fourth of these saves, which writes all", whole_saves)]
    for title, saves in rows:
      lines.append(f"| {title} | {ms(median(typical(saves(r), 'durable_s') for r in results[kind]))} "
                   f"| {median(typical(saves(r), 'written_bytes') for r in results[kind]) / 1e6:,.1f} "
                   f"| {ms(median(typical(saves(r), 'lost_s') for r in results[kind]))} |")
  rows = []
  for part, (whole, what) in PARTLY_TRAINED.items():
    for name, key in (("time until a save is durable", "durable_s"),
                      ("bytes written", "written_bytes")):
      pairs = list(zip(results[part], results[whole]))
      rows.append((f"{what}: {name}, a hundredth trained / all",
                   [typical(sharing_saves(a), key) / typical(measured_saves(b), key)
                    for a, b in pairs], 0.03, False))
      rows.append(("the same, the mean of all saves",
                   [mean(measured_saves(a), key) / mean(measured_saves(b), key)
                    for a, b in pairs], None, False))
  return lines + ["", *claims_table(rows, 3)]


def measure_llama(bench, rounds, size):
  results = collections.defaultdict(list)
  for i in range(rounds):
    print(f"the 8B model, round {i + 1} of {rounds}", file=sys.stderr)
    for name, kind in (("crochet", "replace"), ("alone", "alone")):
      results[name].append(bench.run_crochet(["--kind", kind, "--llama"], size))
    measure_peers(bench, results, size, ["--llama"])
  return results


def llama_section(bench, options):
  rounds, size = options.rounds, options.size
  results = measure_llama(bench, rounds, size)
  loads = ", ".join(f"{load:.1f}" for load in results["load"])
  names = {"crochet": "crochet, variables that are replaced", **{name: NAMES[name] for name in PEERS}}
  title = f"{size / GIB:.0f} GiB in 1,164 variables"
  rows = rate_claims(results, "alone", "crochet")
  return [f"{machine()}; {rounds} rounds of {MEASURED_SAVES['crochet']} saves, the peers' of "
          f"{MEASURED_SAVES['peer']}; load after each round: {loads}", "",
          *main_table(results, size, title, names), "", *claims_table(rows), "", *bench.failure_lines()]


def memory_section(bench, options):
  """crochet and the peers where the disk is not the limit: on a block device in memory."""
  results = collections.defaultdict(list)
  try:
    with memory_disk((SAVES_IN_MEMORY + 2) * max(options.size, 32 * MIB)) as directory:
      there = elsewhere(bench, options, directory)
      for i in range(options.rounds):
        progress(f"peers in memory, round {i + 1} of {options.rounds}")
        for kind in ("alone", "replace"):
          results[kind].append(there.crochet(kind, options.size, saves=SAVES_IN_MEMORY))
        measure_peers(there, results, options.size)
      shutil.rmtree(os.path.join(directory, "bench"))
  except NoMemoryDisk as error:
    return [f"Skipped: a block device in memory: {error}"]
  names = {name: NAMES[name] for name in ("replace", *PEERS)}
  title = f"{options.size / GIB:.0f} GiB in 64 variables"
  return [f"{machine()}; {options.rounds} rounds of {SAVES_IN_MEMORY - FIRST_SAVES['crochet']} saves, the peers' "
          f"of {MEASURED_SAVES['peer']}; load after the rounds: {loads_of(results['load'])}", "",
          *main_table(results, options.size, title, names), "",
          *claims_table(rate_claims(results, "alone", "replace")), "", *there.failure_lines()]


def snapshot_table(costs):
  """The table of checkpoint_snapshot's results."""
  lines = ["| `Saver::snapshot()` of | us | wanted | |", "| --- | ---: | ---: | --- |"]

  def add(what, cost, wanted):
    met = "met" if cost["secs"] * 1e6 <= wanted else "NOT MET"
    lines.append(f"| {what} | {cost['secs'] * 1e6:,.1f} | at most {wanted:,} | {met} |")

  for cost in costs["snapshot"]["by_size"]:
    add(f"{cost['bytes'] // MIB:,} MiB in {cost['variables']} variables", cost, 200)
  for cost in costs["snapshot"]["by_number"]:
    if cost["variables"] >= 1000:
      add(f"{cost['variables']:,} variables of 64 bytes", cost, cost["variables"])
  return lines


def measure_scale(bench, options):
  """{what varies: {name: [(value, result)]}}."""
  scale = collections.defaultdict(lambda: collections.defaultdict(list))

  def add(axis, name, value, result):
    print(f"{axis} {value}: {name}", file=sys.stderr)
    if result:
      scale[axis][name].append((value, result))

  for size in options.sizes:
    add("bytes", "crochet", size * MIB, bench.crochet("replace", size * MIB))
    if size <= 2048:
      for name in PEERS:
        add("bytes", name, size * MIB, bench.peer(name, size * MIB))
  for number in options.numbers:
    size = max(options.size, number * 4)
    add("variables", "crochet", number, bench.crochet("replace", size, number))
    if number <= 1000:  # With more, some take many minutes.
      for name in PEERS:
        add("variables", name, number, bench.peer(name, size, number))
  for shards in options.shards:
    add("shards", "crochet", shards, bench.crochet("replace", options.size, 64, shards))
  return scale


def draw(scale, directory):
  import matplotlib  # pylint: disable=import-outside-toplevel
  matplotlib.use("Agg")
  import matplotlib.pyplot as plt  # pylint: disable=import-outside-toplevel
  matplotlib.rcParams["svg.hashsalt"] = "crochet"
  rows = (("time lost, s", lambda r: max(of_saves(r, "lost_s"), 1e-4)), ("durable after, s", durable),
          ("restored cold after, s", lambda r: r["restore_s"]),
          ("memory beyond the state, MiB", lambda r: max(r["extra_memory"] / MIB, 0.1)))
  labels = {"bytes": "bytes of state", "variables": "variables", "shards": "data files"}
  # First the dark ones, then the light ones: there are more series than colors of the usual cycle.
  tones = plt.get_cmap("tab20").colors
  colors = dict(zip(("crochet", *PEERS), tones[::2] + tones[3::2]))
  paths = []
  for axis, series in scale.items():
    figure, plots = plt.subplots(2, 2, figsize=(11, 7.5), constrained_layout=True)
    plots = list(plots.flat)
    for plot, (title, value) in zip(plots, rows):
      for name, points in series.items():
        xs = [x for x, _ in points]
        plot.plot(xs, [value(r) for _, r in points], marker="o", markersize=4,
                  linewidth=2.5 if name == "crochet" else 1.2,
                  color=colors[name],
                  label=name if name == "crochet" else NAMES[name])
      plot.set(xscale="log", yscale="log", xlabel=labels[axis], title=title)
      plot.grid(True, which="major", alpha=0.3)
    figure.legend(*plots[0].get_legend_handles_labels(), loc="outside lower center", ncols=4,
                  fontsize=8)
    path = os.path.join(directory, f"checkpoints_{axis}.svg")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    paths.append(path)
  return paths


# What measures only one section of the document: its name is the option's.
SECTIONS = {
    "unchanged": (unchanged_section, "what values cost that did not change"),
    "llama": (llama_section, "the variables of MLPerf Storage's 8B model"),
    "limit": (limit_section, "the time lost, beside bare writes of as many bytes"),
    "machine": (processor_section, "the processor's side, with a block device in memory: as root"),
    "memory": (memory_section, "crochet and the peers on a block device in memory: as root"),
    "kill": (kill_section, "the time from a kill to the first new step"),
    "often": (often_section, "saves every ten steps, and every step into memory"),
}


def numbers(text):
  return [int(part) for part in text.split(",") if part]


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--bin", required=True, help="the folder of checkpoint_save")
  parser.add_argument("--python", default=sys.executable, help="a Python with the peers")
  parser.add_argument("--dir", default="checkpoint_bench", help="a folder on the disk to measure; it is emptied")
  parser.add_argument("--rounds", type=int, default=5, help="0: plots only")
  parser.add_argument("--pairs", type=int, default=10, help="pairs of fio and crochet")
  parser.add_argument("--size", type=int, default=GIB, help="bytes of state in the tables")
  parser.add_argument("--sizes", type=numbers, default=[1, 16, 128, 1024, 2048, 4096],
                      help="MiB of state in the plots")
  parser.add_argument("--numbers", type=numbers, default=[1, 10, 100, 1000, 10000, 100000],
                      help="of variables in the plots")
  parser.add_argument("--shards", type=numbers, default=[1, 2, 4, 16, 64],
                      help="data files in the plots")
  parser.add_argument("--no-plots", action="store_true")
  only = parser.add_mutually_exclusive_group()
  for name, (_, what) in SECTIONS.items():
    only.add_argument(f"--{name}", dest="section", action="store_const", const=name,
                      help=f"measures only {what}")
  parser.add_argument("--step-s", type=float, default=1, help="seconds that a step of --often computes")
  parser.add_argument("--document", help="bench/README.md: replaces its section; default: prints")
  parser.add_argument("--page", help="docs/performance.md: replaces its table of the peers, and the "
                      "plots in images/ beside it")
  options = parser.parse_args()

  if options.document:
    check_section(options.document, options.section or "checkpoints")
  if options.page:
    check_section(options.page, "peers")
  bench = Bench(options)
  if options.section:
    lines = SECTIONS[options.section][0](bench, options)
    shutil.rmtree(options.dir, ignore_errors=True)
    if options.document:
      replace_section(options.document, options.section, lines)
    print("\n".join(lines))
    return
  if not options.no_plots:
    directory = os.path.dirname(options.page) if options.page else "."
    images = os.path.join(directory, "images")
    os.makedirs(images, exist_ok=True)
    for path in draw(measure_scale(bench, options), images):
      print(f"drawn: {path}", file=sys.stderr)
  if not options.rounds:
    shutil.rmtree(options.dir, ignore_errors=True)
    return
  snapshots = bench.snapshots()
  pairs = measure_pairs(bench, options.pairs, options.size)
  results = measure_rounds(bench, options.rounds, options.size)
  loads = ", ".join(f"{load:.1f}" for load in results["load"])
  head = (f"{machine()}; {options.rounds} rounds of {MEASURED_SAVES['crochet']} saves, the peers' of "
          f"{MEASURED_SAVES['peer']}; {options.pairs} pairs with fio; load after each round: {loads}")
  rows = claims(results, pairs)
  peers = [head, "", *main_table(results, options.size), "", *peers_table(rows)]
  failures = bench.failure_lines()
  peers += ["", *failures] if failures else []
  targets = [head, "", *claims_table(rows), "", *snapshot_table(snapshots)]
  shutil.rmtree(options.dir, ignore_errors=True)
  if options.page:
    replace_section(options.page, "peers", peers)
  if options.document:
    replace_section(options.document, "checkpoints", targets)
  print("\n".join(peers + [""] + targets))


if __name__ == "__main__":
  main()
