# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Sections of bench/README.md on the limits of this machine, for checkpoint_report.py.

Each function measures, and returns the lines of its section.
"""

import argparse
import collections
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from document import machine
from saving_bench import (GIB, KINDS, MEASURED_SAVES, MIB, NAMES, Bench, Missing, claims_table,
                          durable, lost_copies, median, ms, of_saves, run)

MEMORY = "/dev/shm"
SAVE_OF_A_KILL = 20  # Steps from a save to the next one, in the run that is killed.
SECONDS_AFTER_A_SAVE = 0.3  # Until the kill.
HUGE_PAGES = ["env", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"]  # Before a program: for its arrays.
SECONDS_TO_A_SAVE = 120
STEPS_AFTER_A_KILL = 6


def progress(text):
  print(text, file=sys.stderr)


def loads_of(loads):
  return f"{min(loads):.1f} to {max(loads):.1f}"


def spread(values, digits=2):
  return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def elsewhere(bench, options, directory):
  """A bench that works in a directory of its own below `directory`."""
  return Bench(argparse.Namespace(**{**vars(options), "dir": os.path.join(directory, "bench")}))


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


# The processor's side


class NoMemoryDisk(Exception):
  """A block device in memory cannot be made here."""


def call(*command):
  """The output of a command that makes or removes a block device."""
  try:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
  except FileNotFoundError as error:
    raise NoMemoryDisk(f"{command[0]}: not found") from error
  except subprocess.CalledProcessError as error:
    raise NoMemoryDisk(f"{command[0]}: {error.stderr.strip()}") from error
  return done.stdout.strip()


def write_zeros(path, size):
  """So that the memory of a file is not fresh when it is measured."""
  try:
    with open(path, "wb") as file:
      for _ in range(size // MIB):
        file.write(bytes(MIB))
  except OSError as error:
    raise NoMemoryDisk(str(error)) from error


@contextlib.contextmanager
def memory_disk(size):
  """The directory of a new file system on a block device in memory. Throws: NoMemoryDisk."""
  if os.geteuid() != 0:
    raise NoMemoryDisk("only root may make it")
  # SIGTERM must not leave it, either.
  previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
  with contextlib.ExitStack() as stack:
    stack.callback(signal.signal, signal.SIGTERM, previous)
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="crochet-", dir=MEMORY))
    image, mounted = os.path.join(directory, "image"), os.path.join(directory, "mounted")
    write_zeros(image, size)
    device = call("losetup", "--find", "--show", "--direct-io=on", image)
    stack.callback(call, "losetup", "--detach", device)
    call("mkfs.ext4", "-q", "-F", "-E", "nodiscard", device)
    os.mkdir(mounted)
    call("mount", device, mounted)
    stack.callback(call, "umount", mounted)
    yield mounted


def measure_processor(bench, options, place, results):
  """Adds a round to the results, by place and number of variables."""
  fio_write, fio_read = (bench.fio(direction, options.size) for direction in ("write", "read"))
  for variables in (64, max(1, options.size // 10240)):
    ours = bench.run_crochet(["--kind", "alone"], options.size, variables)
    results[place, variables].append({
        "bytes": options.size,
        "save": (durable(ours), of_saves(ours, "cpu_s"), fio_write),
        "restore": (ours["restore_s"], ours["restore_cpu_s"], fio_read)})


def processor_table(results, what, title):
  lines = [f"| {title} | after, s | GB/s | processor time, ms | GB/s a core | fio, GB/s | crochet / fio |",
           "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
  for (place, variables), rounds in results.items():
    wall, cpu, fio = (median(r[what][i] for r in rounds) for i in range(3))
    size = rounds[0]["bytes"] / 1e9
    lines.append(f"| {place}, {variables:,} variables | {wall:.3f} | {size / wall:.2f} | {ms(cpu)} "
                 f"| {size / cpu:.2f} | {size / fio:.2f} | {median(r[what][2] / r[what][0] for r in rounds):.2f} |")
  return lines


def processor_section(bench, options):
  """What saves and restores cost the processor, and how near they are to the device's rate."""
  results = collections.defaultdict(list)
  loads = []
  skipped = []
  memory = "a block device in memory"
  for i in range(options.rounds):
    progress(f"the processor's side, round {i + 1} of {options.rounds}")
    try:
      with memory_disk(6 * max(options.size, 4 * MIB)) as directory:
        measure_processor(elsewhere(bench, options, directory), options, memory, results)
    except NoMemoryDisk as error:
      skipped = ["", f"Skipped: {memory}: {error}"]
      progress(skipped[-1])
    measure_processor(bench, options, "the disk", results)
    loads.append(os.getloadavg()[0])
  rows = []
  for (place, variables), rounds in results.items():
    if place != memory:
      continue
    for what, name in (("save", "saves"), ("restore", "restores")):
      rows.append((f"{name} of {variables:,} variables: GB/s a core",
                   [r["bytes"] / 1e9 / r[what][1] for r in rounds], 6, True))
      rows.append((f"{name} of {variables:,} variables: rate / fio's",
                   [r[what][2] / r[what][0] for r in rounds], 0.9, True))
  claims = ["", *claims_table(rows, title="on a block device in memory")] if rows else []
  title = f"of {options.size / GIB:.0f} GiB"
  return [f"{machine()}; {options.rounds} rounds of {MEASURED_SAVES['crochet']} saves and a restore; load "
          f"after the rounds: {loads_of(loads)}", *skipped, "",
          *processor_table(results, "save", f"a durable save {title}"), "",
          *processor_table(results, "restore", f"a cold restore {title}"), *claims]


# From a kill to the next step


def published_step(directory):
  """The step of the newest checkpoint; 0 without one."""
  try:
    with open(os.path.join(directory, "checkpoint"), encoding="utf-8") as file:
      found = re.search(r'^model_checkpoint_path: ".*-(\d+)"', file.read(), re.MULTILINE)
  except FileNotFoundError:
    return 0
  return int(found.group(1)) if found else 0


def drop_from_page_cache(directory):
  for entry in os.scandir(directory):
    with contextlib.suppress(FileNotFoundError):  # The run removes older checkpoints.
      with open(entry.path, "rb") as file:
        os.fdatasync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def killed_after_a_save(command, directory):
  """Runs the command, and kills it once it has saved. Returns the moments of the kill and the end."""
  with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
    try:
      end = time.monotonic() + SECONDS_TO_A_SAVE
      while not published_step(directory):
        if process.poll() is not None or time.monotonic() > end:
          raise Missing(f"{os.path.basename(command[0])}: it saved nothing")
        time.sleep(0.005)
      drop_from_page_cache(directory)
      # The run removes the older checkpoint after that, and cannot end in the middle of it. Few kills
      # come at this moment.
      time.sleep(SECONDS_AFTER_A_SAVE)
    finally:
      killed = time.monotonic()
      process.kill()
      process.wait()
  return killed, time.monotonic()


def resumed(command):
  """The seconds that each part of a start takes, and those of a usual step, by name."""
  begin = time.monotonic()
  result = run(command + ["--steps", str(STEPS_AFTER_A_KILL)])
  moments = result["moments"]
  names = {"main": "starts", "allocated": "allocates", "restored": "restores", "filled": "fills",
           "step_begins": "prepares", "step_ends": "first step"}
  parts = {"resumed_from": result["resumed_from"], "step": result["step_s"]}
  for moment, part in names.items():
    parts[part] = moments[moment] - begin
    begin = moments[moment]
  return parts


def kill_section(bench, options):
  """The time from the kill of a run to the end of the first new step of the next one."""
  parts = ("ends", "starts", "allocates", "restores", "prepares", "first step")
  disk, memory, control = "from the disk", "from memory", "without a checkpoint"
  huge = ", huge pages"
  results = collections.defaultdict(list)
  loads = []
  for i in range(options.rounds):
    progress(f"kills, round {i + 1} of {options.rounds}")
    with tempfile.TemporaryDirectory(prefix="crochet-", dir=MEMORY) as directory:
      memory_bench = elsewhere(bench, options, directory)
      for name, place, prefix in ((disk, bench, []), (memory, memory_bench, []),
                                  (disk + huge, bench, HUGE_PAGES), (memory + huge, memory_bench, HUGE_PAGES)):
        run_in = place.empty_directory()
        command = prefix + place.command("kill_to_step", options.size, 64)
        killed, ended = killed_after_a_save(command + ["--save-steps", str(SAVE_OF_A_KILL)], run_in)
        result = resumed(command)
        if not result["resumed_from"]:
          raise Missing("kill_to_step: it did not resume")
        results[name].append({"ends": ended - killed, **result})
        place.empty_directory()
    for name, prefix in ((control, []), (control + huge, HUGE_PAGES)):
      bench.empty_directory()
      results[name].append({
          "ends": 0,
          **resumed(prefix + bench.command("kill_to_step", options.size, 64) + ["--save-steps", "0"])})
    loads.append(os.getloadavg()[0])

  def beyond_a_step(result):
    return sum(result[part] for part in parts) - result["step"]

  lines = [f"{machine()}; {options.rounds} rounds; load after the rounds: {loads_of(loads)}", "",
           f"| {options.size / GIB:.0f} GiB in 64 arrays, ms | the killed run ends | the next one starts "
           "| allocates | restores | prepares | first step | in all | a later step |",
           "| --- |" + " ---: |" * 8]
  for name, rounds in results.items():
    values = [median(r[part] for r in rounds) for part in parts]
    values.append(median(sum(r[part] for part in parts) for r in rounds))
    values.append(median(r["step"] for r in rounds))
    lines.append(f"| {name} | " + " | ".join(ms(value) for value in values) + " |")
  rows = [(f"kill to the end of the first new step, less a step, {disk}",
           [beyond_a_step(r) for r in results[disk]], 1, False),
          (f"the same {disk}{huge}", [beyond_a_step(r) for r in results[disk + huge]], 1, False),
          (f"the same {memory}", [beyond_a_step(r) for r in results[memory]], 0.3, False),
          (f"the same {memory}{huge}", [beyond_a_step(r) for r in results[memory + huge]], 0.3, False),
          *((f"crochet's part of it: restores and prepares, {name}",
             [r["restores"] + r["prepares"] for r in results[name]], None, False)
            for name in (disk, memory, disk + huge, memory + huge)),
          *((f"the program's own part of it: from its start, {name}",
             [beyond_a_step(r) for r in results[name]], None, False)
            for name in (control, control + huge))]
  return lines + ["", *claims_table(rows, title="seconds")]


# Saves every few steps


def often_section(bench, options):
  """What training loses to saves every ten steps, and to saves every step into memory."""
  disk, memory = "every 10 steps, on the disk", "every step, into memory"
  names = {"body": "`Loop::run(body)`", "compute": "`Loop::run(compute, update)`"}
  results = {}
  loads = []
  with tempfile.TemporaryDirectory(prefix="crochet-", dir=MEMORY) as directory:
    for name, place, every in ((disk, bench, 10), (memory, elsewhere(bench, options, directory), 1)):
      for kind in names:
        progress(f"{name}: {kind}")
        place.empty_directory()
        results[name, kind] = run(
            place.command("save_often", options.size, 64) +
            ["--kind", kind, "--every", str(every), "--step-s", str(options.step_s),
             "--saving-stretches", str(options.rounds)],
            timeout=3600)
        loads.append(os.getloadavg()[0])
      place.empty_directory()
  percent, copies, noise = {}, {}, {}
  for key, result in results.items():
    times = result["stretches_s"]
    without = [(before + after) / 2 for before, after in zip(times[::2], times[2::2])]
    seconds = [a - b for a, b in zip(times[1::2], without)]
    copies_s = result["saves_of_a_stretch"] * result["copy_s"]
    percent[key] = [100 * a / b for a, b in zip(seconds, without)]
    copies[key] = [a / copies_s for a in seconds]
    differ = median(abs(a - b) for a, b in zip(times[::2], times[2::2]))
    noise[key] = {"percent": 100 * differ / median(without), "copies": differ / copies_s}
  lines = [f"{machine()}; {options.rounds} stretches of 10 steps with saves, each between two without; "
           f"load after each row: {', '.join(f'{load:.1f}' for load in loads)}", "",
           f"| {options.size / GIB:.0f} GiB in 64 arrays, saved | lost, % of the time | a save loses, in "
           "copies | stretches without saves differ by, % |", "| --- | ---: | ---: | ---: |"]
  for key in results:
    lines.append(f"| {key[0]}, {names[key[1]]} | {spread(percent[key])} | {spread(copies[key])} "
                 f"| {noise[key]['percent']:.2f} |")

  def row(what, key, values, unit):
    if noise[key][unit] > 1 and median(values) - noise[key][unit] <= 1:
      return f"{what} (at most 1 is NOT DECIDED: stretches without saves differ by more)", values, None, False
    return what, values, 1, False

  rows = []
  for kind, name in names.items():
    rows.append(row(f"saves {disk}, {name}: % of the time", (disk, kind), percent[disk, kind],
                    "percent"))
    rows.append(row(f"saves {memory}, {name}: lost in a step / one memcpy", (memory, kind),
                    copies[memory, kind], "copies"))
  return lines + ["", *claims_table(rows, title="lost")]
