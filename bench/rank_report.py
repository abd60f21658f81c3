#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Prints what the ranks of a run send each other, and how long a step and a save of several processes take.

  bench/rank_report.py --bin build/release/bench [--rounds N] [--processes 2,4,16,64]
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

THREADS = (4, 16, 64, 256, 1000)
# Open MPI starts more processes than cores, and any as root, only if it is asked to.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def last_json(text):
  return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])


def by_threads(program, ranks):
  done = subprocess.run([program, "--ranks", str(ranks)], capture_output=True, text=True, check=True)
  return last_json(done.stdout)


def by_mpi(program, ranks, directory, _port):
  command = ["mpirun", "-n", str(ranks), program, "--mpi", "--dir", directory]
  done = subprocess.run(command, capture_output=True, text=True, check=True,
                        env=dict(os.environ, **MPI))
  return last_json(done.stdout)


def by_tcp(program, ranks, directory, port):
  processes = []
  for rank in range(ranks):
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank),
               WORLD_SIZE=str(ranks))
    processes.append(subprocess.Popen([program, "--join", "--dir", directory], env=env, text=True,
                                      stdout=subprocess.PIPE))
  texts = [process.communicate()[0] for process in processes]
  return last_json(texts[0])


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--bin", required=True)
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--processes", default="2,4,16,64")
  options = parser.parse_args()
  program = os.path.join(options.bin, "rank_messages")
  print("| ranks | start | step | save | end | index |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: |")
  for ranks in THREADS:
    found = by_threads(program, ranks)
    print(f"| {ranks:,} | " + " | ".join(
        f"{found[what + '_bytes']:,}" for what in ("start", "step", "save", "end", "index")) + " |")
  print("\n| processes | step over TCP, μs | step over MPI, μs |\n| ---: | ---: | ---: |")
  port = 29600
  for ranks in map(int, options.processes.split(",")):
    medians = []
    for run in (by_tcp, by_mpi):
      times = []
      for _ in range(options.rounds):
        port += 1
        with tempfile.TemporaryDirectory() as directory:
          times.append(run(program, ranks, directory, port)["step_us"])
      medians.append(statistics.median(times))
    print(f"| {ranks} | " + " | ".join(f"{median:,.1f}" for median in medians) + " |")


if __name__ == "__main__":
  main()
