# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Sections of docs/performance.md on the limits of this machine, for checkpoint_report.py.

Each function measures, and returns the lines of its section.
"""

import collections
import os
import sys

from document import machine
from saving_bench import (GIB, KINDS, MEASURED_SAVES, NAMES, claims_table, durable, lost_copies,
                          median, ms, of_saves, run)


def progress(text):
  print(text, file=sys.stderr)


def loads_of(loads):
  return f"{min(loads):.1f} to {max(loads):.1f}"


def spread(values, digits=2):
  return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


# The limit


def limit_section(bench, options):
  """The time lost to saves, compared with writing and reading as many bytes without crochet."""
  names = {"disk": "bare writes, read once, without crochet: the limit",
           **{kind: NAMES[kind] for kind in KINDS}}
  results = collections.defaultdict(list)
  loads = []
  for i in range(options.rounds):
    progress(f"the limit, round {i + 1} of {options.rounds}")
    for kind in names:
      results[kind].append(bench.crochet(kind, options.size))
    loads.append(os.getloadavg()[0])
  lines = [f"{machine()}; {options.rounds} rounds of {MEASURED_SAVES['crochet']} saves; a memcpy of "
           f"the state takes {ms(median(r['copy_s'] for r in results['disk']))} ms; load after the "
           f"rounds: {loads_of(loads)}", "",
           f"| {options.size / GIB:.0f} GiB in 64 variables | time lost, ms | in copies (of the rounds) "
           "| durable after, s |", "| --- | ---: | ---: | ---: |"]
  for kind, name in names.items():
    rounds = results[kind]
    lines.append(f"| {name} | {ms(median(of_saves(r, 'lost_s') for r in rounds))} "
                 f"| {spread(lost_copies(rounds))} | {median(durable(r) for r in rounds):.2f} |")
  # A loss below a hundredth of a copy is noise.
  copies = {kind: [max(value, 0.01) for value in lost_copies(results[kind])] for kind in names}
  rows = [("time lost by `replace` / by bare writes read once: the ratio of the medians (and those of "
           "the rounds)", [a / b for a, b in zip(copies["replace"], copies["disk"])], 1.3, False,
           median(copies["replace"]) / median(copies["disk"])),
          ("time lost by `Loop::run(body)` / one memcpy of the state", lost_copies(results["body"]),
           0.4, False)]
  return lines + ["", *claims_table(rows)]
