#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""How much of the time of spot machines becomes training that lasts?

    bench/goodput/replay.py --bin build/release/bench [--python PYTHON] [--speed 300] [--zone us-east-1c]

Replays the lives of the machines of a zone (spot_machines.json has the source), one after another
and faster by a factor: each starts the program, which resumes, and ends with SIGKILL. The goodput is
the time of the steps in the last checkpoint, as long as they take without saves, divided by the time
that the machines lived. The state is smaller by the same factor than what it stands for: so a save
takes the same part of a life. What a start costs, above all the imports of Python, is not; the table
has it apart. Each system saves as often as is best for it: at the interval sqrt(2 * cost * mean life)
for its own cost of a save, which is measured first, and no more often than it can write.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIN_COST_SECS = 0.0005  # What can be measured.


class System:
  """A program that trains."""

  def __init__(self, name, command, options):
    self.name, self._command, self._options = name, command, options
    self.directory = os.path.join(options.dir, name)
    self.save_secs = 0.0

  def command(self, seconds, save_secs):
    o = self._options
    return self._command + [
        "--dir", self.directory, "--bytes", str(o.bytes), "--step-s", str(o.step_s), "--seconds",
        str(seconds), "--save-secs", str(save_secs)]

  def run(self, seconds, save_secs):
    """Until it ends by itself."""
    done = subprocess.run(self.command(seconds, save_secs), capture_output=True, text=True)
    if done.returncode != 0:
      raise RuntimeError(f"{self.name} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])

  def clear(self):
    shutil.rmtree(self.directory, ignore_errors=True)
    os.makedirs(self.directory)

  def choose_interval(self, mean_life):
    """Measures what a save costs."""
    self.clear()
    seconds = self._options.calibration_s
    without = self.run(seconds, 0)
    start = time.monotonic()
    self.run(self._options.step_s, 0)
    start = time.monotonic() - start - self._options.step_s
    often = self.run(seconds, 0.5)
    rate = without["steps"] / without["elapsed_s"]
    lost = often["elapsed_s"] - often["steps"] / rate
    cost = max(MIN_COST_SECS, lost / max(1, often["saves"]))
    self.save_secs = max(often["save_s"], math.sqrt(2 * cost * mean_life))
    return {"cost_s": cost, "save_s": often["save_s"], "interval_s": self.save_secs, "start_s": start,
            "step_s": 1 / rate}

  def live(self, seconds):
    """One machine. Returns for how long it lived."""
    log = self.directory + ".log"
    with open(log, "wb") as output:
      begin = time.monotonic()
      process = subprocess.Popen(self.command(0, self.save_secs), stdout=output, stderr=output)
    try:
      process.wait(max(0, seconds - (time.monotonic() - begin)))
    except subprocess.TimeoutExpired:
      process.kill()
      lived = time.monotonic() - begin
      process.wait()
      return lived
    with open(log, errors="replace") as output:
      raise RuntimeError(f"{self.name} ended by itself: {output.read()[-3000:]}")

  def last_step(self):
    return self.run(self._options.step_s / 100, 0)["resumed_from"]


def replay(system, lives, mean_life, options):
  found = system.choose_interval(mean_life)
  system.clear()
  lived = sum(system.live(seconds) for seconds in lives)
  steps = system.last_step()
  trained = steps * found["step_s"]
  found |= {"goodput": trained / lived, "steps": steps, "lived_s": lived}
  # As if a start took no time.
  found["goodput_without_starts"] = trained / max(
      1e-9, lived - sum(min(found["start_s"], each) for each in lives))
  return found


def table(results, lives, options):
  rows = [f"{len(lives)} machines of {options.zone}, {sum(lives) * options.speed / 3600:.0f} hours, "
          f"replayed {options.speed:g} times as fast; a state of {options.bytes >> 20} MiB, steps of "
          f"{options.step_s * 1000:g} ms", "",
          "| | goodput | crochet / it | without starts | a save costs | a save takes | interval | "
          "a start takes |",
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
  own = results["crochet"]["goodput"]
  for name, one in results.items():
    rows.append(
        f"| {name} | {one['goodput']:.3f} | {own / max(one['goodput'], 1e-9):.2f} | "
        f"{one['goodput_without_starts']:.3f} | {one['cost_s'] * 1000:.1f} ms | "
        f"{one['save_s'] * 1000:.0f} ms | {one['interval_s']:.2f} s | {one['start_s']:.2f} s |")
  return "\n".join(rows)


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--bin", required=True, help="where goodput_trainer is")
  parser.add_argument("--python", help="has the peers; without it, crochet alone is measured")
  parser.add_argument("--peers", default="orbax,dcp")
  parser.add_argument("--zone", default="us-east-1c")
  parser.add_argument("--machines", type=int, help="only the first ones")
  parser.add_argument("--speed", type=float, default=300)
  parser.add_argument("--bytes", type=int, default=20 << 20)
  parser.add_argument("--step-s", type=float, default=0.02)
  parser.add_argument("--calibration-s", type=float, default=10)
  parser.add_argument("--dir", default="goodput")
  parser.add_argument("--json")
  options = parser.parse_args()
  with open(os.path.join(HERE, "spot_machines.json")) as file:
    zones = json.load(file)["zones"]
  lives = [seconds / options.speed for seconds in zones[options.zone][:options.machines]]
  mean_life = sum(lives) / len(lives)
  systems = [System("crochet", [os.path.join(options.bin, "goodput_trainer")], options)]
  for peer in options.peers.split(",") if options.python else []:
    systems.append(System(
        peer, [options.python, os.path.join(HERE, "peer.py"), "--peer", peer], options))
  results = {}
  for system in systems:
    results[system.name] = replay(system, lives, mean_life, options)
    print(f"{system.name}: {results[system.name]}", file=sys.stderr, flush=True)
    shutil.rmtree(system.directory)
  if options.json:
    with open(options.json, "w") as file:
      json.dump(results, file, indent=1)
  print(table(results, lives, options))


if __name__ == "__main__":
  main()
