#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Ends a program that trains and saves in every way, and checks the files that it leaves.

The expected state is kept outside the program: the hashes of every variable after each step, which
the program printed before that step was saved, and the newest step that it reported as durable. In
every case the next run must

- find a checkpoint of one step, bit-equal, not older than the newest durable one;
- find the leftovers of at most one save, and remove them before its first step;
- end within a bounded time.

  crash.py kills [--number 200]    kill -9 at random moments
  crash.py points                  kill -9 at each operation on files of the first saves and the last
  crash.py exits                   every kind of exit at every stage of a save
"""

import argparse
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TIME_LIMIT = 60  # Seconds; ending takes milliseconds.

# The range of the operations of a run's second save, with some before and after.
SECOND_SAVE = (20, 44)

BASENAME = "model.ckpt"
# Conditions under which the program trains: it forks children, or its standard descriptors are closed.
SURROUNDINGS = ((), (), ("forks=yes",), ("closed=yes",), ("forks=yes", "closed=yes"))
INDEX = re.compile(re.escape(BASENAME) + r"-(\d+)\.(index|safetensors|safetensors\.index\.json)")
PART = re.compile(re.escape(BASENAME) +
                  r"-(\d+)(\.(data-\d{5}-of-\d{5}|json|meta)|-\d{5}-of-\d{5}\.safetensors)")
FOUND_ANYWAY = re.compile(r"checkpoint|\.lock|\.sidecar_lock|metrics\.jsonl|events\..*|graph\..*")


class Failure(Exception):
  pass


def left_overs(directory):
  """Files that belong to no checkpoint: {the save they belong to: [name]}."""
  names = os.listdir(directory) if os.path.isdir(directory) else []
  sound = {match[1] for match in map(INDEX.fullmatch, names) if match}
  result = {}
  for name in names:
    part = PART.fullmatch(name)
    if INDEX.fullmatch(name) or FOUND_ANYWAY.fullmatch(name) or (part and part[1] in sound):
      continue
    add_left_over(result, name)
  return result


def add_left_over(result, name):
  save = re.match(re.escape(BASENAME) + r"-(\d+)", name)
  result.setdefault(save[1] if save else name, []).append(name)


class Life:
  """One run of the program."""

  def __init__(self, oracle, *arguments):
    self._oracle = oracle
    self.lines = []
    self.process = subprocess.Popen([os.path.abspath(oracle.trainer), oracle.directory, *arguments],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE if oracle.quiet else None)
    self._gave_up = False
    self._watchdog = threading.Timer(TIME_LIMIT, self._give_up)
    self._watchdog.start()

  def _give_up(self):
    self._gave_up = True
    self.process.kill()

  def read_line(self):
    """Returns the words of the program's next line; nothing at its end."""
    line = self.process.stdout.readline().decode()
    if not line.endswith("\n"):
      return []
    words = line.split()
    self.lines.append(words)
    self._oracle.hear(words)
    return words

  def start(self):
    """Waits for the state to be restored, checks it, and lets the program continue."""
    words = self.read_line()
    if not words or words[0] != "ready":
      raise Failure(f"the program did not get ready: {words} {self.errors()}")
    self._oracle.check_restored(int(words[1]), words[2:])
    self.process.stdin.write(b"\n")
    self.process.stdin.flush()

  def kill(self):
    self.process.kill()
    self.finish()

  def finish(self):
    """Reads the remaining output and returns the exit code, or the negative signal that killed it."""
    try:
      while self.read_line():
        pass
      code = self.process.wait()
      if self._gave_up:
        raise Failure(f"still running after {TIME_LIMIT} s: {self.lines[-3:]}")
      return code
    finally:
      self._watchdog.cancel()
      self.process.stdout.close()
      self.process.stdin.close()
      if self.process.stderr:
        self.process.stderr.close()

  def errors(self):
    return self.process.stderr.read().decode()[-500:] if self.process.stderr else ""


class Oracle:
  """The expected state of a directory."""

  def __init__(self, trainer, directory, quiet=True):
    self.trainer = trainer
    self.directory = directory
    self.quiet = quiet
    self.hashes = {}
    self.durable = 0

  def hear(self, words):
    if words[0] in ("ready", "step"):
      step = int(words[1])
      if self.hashes.setdefault(step, words[2:]) != words[2:]:
        raise Failure(f"step {step} had the hashes {self.hashes[step]}, now {words[2:]}")
    elif words[0] in ("durable", "published"):
      self.durable = max(self.durable, int(words[1]))
    elif words[0] == "child":
      raise Failure(" ".join(words))

  def check_restored(self, step, hashes):
    if step < self.durable:
      raise Failure(f"step {step} was restored, expected at least the durable step {self.durable}")
    if self.hashes.get(step) != hashes:
      raise Failure(f"step {step} was restored with other hashes")
    rest = left_overs(self.directory)
    if rest:
      raise Failure(f"leftovers after a start: {rest}")

  def check_dead(self):
    rest = left_overs(self.directory)
    if len(rest) > 1:
      raise Failure(f"leftovers of more than one save: {rest}")
    return len(rest)

  def life(self, *arguments):
    return Life(self, *arguments)


def kill_at_random(trainer, directory, number, seed):
  """Kills in the middle of a save, or between two: after a line and a random delay."""
  generator = random.Random(seed)
  oracle = Oracle(trainer, directory)
  torn = 0
  for i in range(number):
    life = oracle.life(f"every={generator.choice((1, 2, 5))}",
                       f"shards={generator.choice((1, 1, 3))}",
                       f"format={generator.choice(('bundle', 'safetensors'))}",
                       *generator.choice(SURROUNDINGS))
    life.start()
    for _ in range(generator.randrange(1, 25)):
      life.read_line()
    time.sleep(generator.random() * 0.02)
    life.kill()
    torn += oracle.check_dead()
    if (i + 1) % 100 == 0:
      print(f"{i + 1} kills, {torn} of them in the middle of a save, step {max(oracle.hashes)}",
            flush=True)
  life = oracle.life("steps=1")
  life.start()
  life.finish()
  if number >= 100 and torn < number // 10:
    raise Failure(f"only {torn} of {number} kills met a save")
  print(f"{number} kills: {torn} in the middle of a save, {max(oracle.hashes)} steps")


def kill_at_points(trainer, directory, _number, _seed):
  """Kills at operation 0, 1, 2, ... of a run with five saves, until one run completes."""
  for shards, form in ((1, "bundle"), (3, "bundle"), (1, "safetensors"), (3, "safetensors")):
    kind = (f"shards={shards}", f"format={form}")
    first = os.path.join(directory, f"first-{form}{shards}")
    base = Oracle(trainer, first)
    life = base.life("steps=2", *kind)
    life.start()
    if life.finish() != 0:
      raise Failure(f"a run of two steps failed: {life.lines}")
    point = 0
    while True:
      place = os.path.join(directory, f"{form}{shards}-{point}")
      shutil.copytree(first, place)
      oracle = Oracle(trainer, place)
      oracle.hashes, oracle.durable = dict(base.hashes), base.durable
      life = oracle.life("steps=5", *kind, f"die_at={point}")
      try:
        life.start()
      except (Failure, BrokenPipeError):
        if life.process.wait() != -signal.SIGKILL:
          raise
      code = life.finish()
      oracle.check_dead()
      again = oracle.life("steps=5")
      again.start()
      if again.finish() != 0:
        raise Failure(f"point {point}: the next run failed: {again.lines[-1]}")
      shutil.rmtree(place)
      if code == 0:
        break
      if code != -signal.SIGKILL:
        raise Failure(f"point {point}: exit code {code}")
      point += 1
    if point < 20:
      raise Failure(f"only {point} points")
    print(f"{point} points, {form} in {shards} data file(s)")


# The expected exit code of each kind of exit: an exact one, or a signal's.
EXITS = {
    "return": 0,
    "throw": 1,
    "exit": 7,
    "quick_exit": 7,
    "_exit": 7,
    "abort": -signal.SIGABRT,
    "terminate": -signal.SIGABRT,
    "SIGTERM": 0,
    "SIGINT": 0,
    "SIGHUP": -signal.SIGHUP,
    "SIGSEGV": -signal.SIGSEGV,
    "SIGKILL": -signal.SIGKILL,
    "leave": 1,
}


def end_at(trainer, directory, how, point):
  place = os.path.join(directory, f"{how}-{point}")
  oracle = Oracle(trainer, place)
  life = oracle.life(f"exit={how}", f"at={point}", *SURROUNDINGS[point % len(SURROUNDINGS)])
  life.start()
  code = life.finish()
  if code != EXITS[how]:
    raise Failure(f"{how} at operation {point}: exit code {code}, expected {EXITS[how]}; "
                  f"{life.lines[-2:]}")
  oracle.check_dead()
  again = oracle.life("steps=1")
  again.start()
  again.finish()


def end_in_every_way(trainer, directory, _number, _seed):
  """Ends while the saver is at each of the operations of the second save."""
  ends = [(how, point) for how in EXITS for point in range(*SECOND_SAVE)]
  with concurrent.futures.ThreadPoolExecutor(8) as pool:  # They mostly wait for retries.
    for end in [pool.submit(end_at, trainer, directory, *end) for end in ends]:
      end.result()
  print(f"{len(ends)} ends: {len(EXITS)} kinds")


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  tests = {"kills": kill_at_random, "points": kill_at_points, "exits": end_in_every_way}
  parser.add_argument("test", choices=tests)
  parser.add_argument("--trainer", required=True, help="the program to end")
  parser.add_argument("--number", type=int, default=200, help="of kills at random moments")
  parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
  options = parser.parse_args()
  print(f"seed {options.seed}")
  with tempfile.TemporaryDirectory(prefix="crochet-crash-") as directory:
    try:
      tests[options.test](options.trainer, os.path.join(directory, "run"), options.number,
                          options.seed)
    except Failure as failure:
      kept = tempfile.mkdtemp(prefix="crochet-crash-failed-")
      shutil.copytree(directory, kept, dirs_exist_ok=True)
      sys.exit(f"{options.test}, seed {options.seed}: {failure}\nthe files are kept in {kept}")


if __name__ == "__main__":
  main()
