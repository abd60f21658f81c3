# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Shared by the reports on saving: running one measurement, values of its result, tables of claims."""

import collections
import json
import os
import shutil
import statistics
import subprocess
import sys

# Per process. Before them, crochet makes two, so that all of its buffers have been used: a state that
# is replaced needs a third buffer while a save holds it, and a virtual machine touches fresh memory
# at half a GiB per second. The peers make one.
MEASURED_SAVES = {"crochet": 8, "peer": 3}
FIRST_SAVES = {"crochet": 2, "peer": 1}
MIB = 1 << 20
GIB = 1 << 30
PEER_SECONDS = 300  # For one process of a peer.
KINDS = ("replace", "update", "body", "compute")
NAMES = {
    "replace": "crochet, `replace`",
    "update": "crochet, `update` in place",
    "body": "crochet, `Loop::run(body)`",
    "compute": "crochet, `Loop::run(compute, update)`",
    "crochet_python": "crochet from Python, `Saver`",
    "tf_saver": "TensorFlow's Saver",
    "tf2_async": "TensorFlow 2, asynchronous",
    "orbax_async": "Orbax, asynchronous, by default",
    "orbax_plain": "Orbax, asynchronous, uncompressed",
    "torch_dcp_async": "PyTorch DCP, async_save, by default",
    "torch_dcp_stager": "PyTorch DCP, async_save with DefaultStager",
    "torch_dcp_process": "PyTorch DCP, async_save by a process",
    "torch_checkpointing": "torch_checkpointing with two writers",
    "torch_snapshot": "TorchSnapshot",
    "torch_save": "torch.save",
    "safetensors": "safetensors",
    "adios2_async": "ADIOS2, BP5 with AsyncWrite",
    "hdf5": "HDF5 by h5py",
    "cereal": "cereal and rename",
    "sqlite": "SQLite, synchronous=FULL",
}
PEERS = tuple(NAMES)[len(KINDS) + 1:]
PEERS_IN_PYTHON = tuple(name for name in PEERS if name != "cereal")


class Missing(Exception):
  """A peer that cannot be measured on this machine."""


def run(command, timeout=900):
  done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
  if done.returncode != 0:
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    raise Missing(f"{os.path.basename(command[0])}: exit code {done.returncode}: {last}")
  return json.loads(done.stdout.strip().splitlines()[-1]) if done.stdout.strip() else {}


class Bench:
  """Runs one measurement at a time in an empty directory."""

  program = "checkpoint_save"  # crochet's; the peers' is a script of the same name.
  names = NAMES
  peer_seconds = PEER_SECONDS

  def __init__(self, options):
    self._options = options
    self._done = set()
    self.failures = collections.defaultdict(list)  # Reasons, by peer.

  def empty_directory(self):
    shutil.rmtree(self._options.dir, ignore_errors=True)
    os.makedirs(self._options.dir)
    return self._options.dir

  def command(self, program, size, variables):
    """Of one of crochet's programs."""
    return [os.path.join(self._options.bin, program), "--bytes", str(size), "--variables",
            str(variables), "--dir", self._options.dir]

  def _run(self, command, size, variables, saves, timeout=900):
    return run(command + ["--bytes", str(size), "--variables", str(variables), "--saves",
                          str(saves), "--dir", self.empty_directory()], timeout)

  def run_crochet(self, arguments, size=GIB, variables=64, saves=0):
    return self._run([os.path.join(self._options.bin, self.program)] + arguments, size, variables,
                     saves or FIRST_SAVES["crochet"] + MEASURED_SAVES["crochet"])

  def crochet(self, kind, size=GIB, variables=64, shards=1, saves=0):
    return self.run_crochet(["--kind", kind, "--shards", str(shards)], size, variables, saves)

  def libtorch(self, arguments, size):
    # Debian's LibTorch does not tell OpenBLAS how many threads it has been given.
    return self._run(["env", "OPENBLAS_NUM_THREADS=1", os.path.join(self._options.bin, "libtorch_checkpoint"),
                      "--quiet", "3"] + arguments,
                     size, 300, FIRST_SAVES["crochet"] + MEASURED_SAVES["crochet"])

  def snapshots(self):
    return run([os.path.join(self._options.bin, "checkpoint_snapshot"), "--kinds", "snapshot"])

  def peer(self, name, size=GIB, variables=64, arguments=()):
    if self.failures[name] and name not in self._done:
      return None  # It is missing.
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers",
                          f"{self.program}.py")
    try:
      result = self._run([self._options.python, script, "--peer", name, "--bin",
                          self._options.bin, *arguments], size,
                         variables, FIRST_SAVES["peer"] + MEASURED_SAVES["peer"], self.peer_seconds)
      self._done.add(name)
      return result
    except (Missing, subprocess.TimeoutExpired) as error:
      why = error
      if isinstance(error, subprocess.TimeoutExpired):
        why = f"it did not end within {self.peer_seconds} s"
      self.failures[name].append(f"{size // MIB} MiB in {variables} variables: {why}")
      print(f"{self.names[name]}: {self.failures[name][-1]}", file=sys.stderr)
      return None

  def failure_lines(self):
    """The failures, by name."""
    return [f"{self.names[name]}: {'a run failed' if name in self._done else 'missing'}: {why}"
            for name, whys in self.failures.items() for why in whys]

  def fio(self, direction, size=GIB):
    """Seconds for `size` bytes: to a new file until it is durable, or from an existing file."""
    if direction == "write":
      self.empty_directory()
    path = os.path.join(self._options.dir, "fio")
    command = ["fio", "--name=peer", f"--filename={path}", f"--rw={direction}", "--bs=1M",
               "--iodepth=16", "--ioengine=io_uring", "--direct=1", f"--size={size}",
               "--output-format=json"]
    if direction == "write":
      command += ["--fallocate=posix", "--end_fsync=1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # In milliseconds; 0 for few bytes.
    return max(1, json.loads(done.stdout)["jobs"][0][direction]["runtime"]) / 1000


def of_saves(result, what):
  """The median over the last saves: the first ones touch fresh memory, and have their own column."""
  first = FIRST_SAVES["crochet" if result["name"] == "crochet" else "peer"]
  values = [save[what] for save in result["saves"][first:] if what in save]
  return statistics.median(values) if values else None


def durable(result):
  value = of_saves(result, "published_s")
  return value if value is not None else of_saves(result, "durable_s")


def median(values):
  return statistics.median(list(values))


def ms(value):
  return f"{value * 1000:,.{1 if abs(value) < 0.1 else 0}f}"


def ratios_of(results, ours, theirs, ratio):
  """The ratios of the rounds that have both."""
  return [ratio(a, b) for a, b in zip(results[ours], results[theirs]) if a and b]


def best_peer(results, i, what, peers=PEERS):
  values = [what(results[name][i]) for name in peers if results[name][i]]
  return min(values) if values else None


def ratios_to_best_peer(results, name, what, ratio, peers=PEERS):
  """ratio(ours, the best peer's) of the rounds in which a peer was measured."""
  pairs = [(what(r), best_peer(results, i, what, peers)) for i, r in enumerate(results[name])]
  return [ratio(ours, theirs) for ours, theirs in pairs if theirs is not None]


def lost(result):
  """The time lost, in seconds: at least that for which a save blocks, and a millisecond.

  Steps that vary by more than a save loses may come out as less.
  """
  return max(of_saves(result, "lost_s"), of_saves(result, "blocked_s"), 0.001)


def lost_copies(rounds):
  """The time lost in each round, in copies of the state."""
  return [of_saves(r, "lost_s") / r["copy_s"] for r in rounds if r]


def claims_table(rows, digits=2, title="ratio"):
  """Of (what, the values of the rounds, wanted or None, whether more is better[, the value]).

  The value is the median of the rounds unless it is given.
  """
  lines = [f"| {title} | median (of the rounds) | wanted | |", "| --- | ---: | ---: | --- |"]
  for what, values, wanted, more_is_better, *given in rows:
    if not values:
      continue
    value = given[0] if given else median(values)
    spread = f"{value:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
    if wanted is None:
      lines.append(f"| {what} | {spread} | | |")
      continue
    met = value >= wanted if more_is_better else value <= wanted
    lines.append(f"| {what} | {spread} | {'at least' if more_is_better else 'at most'} {wanted} "
                 f"| {'met' if met else 'NOT MET'} |")
  return lines
