#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Runs random scenarios in TensorFlow's Python and in crochet, and compares what both do.

    differential.py <scenario_program> [--count 2000] [--first 0] [--engine tensorflow]

A scenario that differs is shrunk, and printed with both traces. Again: --first <its number> --count 1.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import scenario as scenarios


class Program:
    """crochet's side, as a process that answers each line with a line."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def trace(self, scenario):
        try:
            self.process.stdin.write(json.dumps(scenario) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (json.JSONDecodeError, BrokenPipeError):
            code = self.process.wait()
            self.start()
            return [f"the program died: {code}"]

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def print_difference(number, scenario, reference, own):
    print(f"scenario {number} differs:\n{json.dumps(scenario)}")
    width = max(map(len, reference + ["TensorFlow"])) + 2
    print(f"  {'TensorFlow':{width}} crochet")
    for i in range(max(len(reference), len(own))):
        left = reference[i] if i < len(reference) else ""
        right = own[i] if i < len(own) else ""
        print(f"{' ' if left == right else '!'} {left:{width}} {right}")
    sys.stdout.flush()


def compare(arguments, first, step):
    """Runs every `step`-th scenario. Returns how many differ, and the program's exit code."""
    import reference

    model = reference.Model()
    failures = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as work:
        command = [arguments.program, work]
        if arguments.engine == "tensorflow":
            model.export(work)
            command += [work + "/graph.meta", work + "/config"]
        model.finalize()
        program = Program(command)

        def traces(one):
            return reference.Run(model, one, work + "/theirs").result(), program.trace(one)

        for number in range(first, arguments.first + arguments.count, step):
            one = scenarios.make(number)
            theirs, own = traces(one)
            if theirs == own:
                continue
            smaller = scenarios.shrink(one, lambda each: len(set(map(tuple, traces(each)))) > 1)
            print_difference(number, smaller, *traces(smaller))
            failures += 1
            if failures == arguments.failures:
                break
        return failures, program.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first scenario")
    parser.add_argument("--engine", choices=("local", "tensorflow"), default="local")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many that differ")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    arguments = parser.parse_args()
    if arguments.jobs == 1:
        results = [compare(arguments, arguments.first, 1)]
    else:
        with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
            results = list(pool.map(compare, [arguments] * arguments.jobs,
                                    range(arguments.first, arguments.first + arguments.jobs),
                                    [arguments.jobs] * arguments.jobs))
    failures, codes = (sum(each) for each in zip(*results))
    print(f"{arguments.count} scenarios in the {arguments.engine} engine, {failures} differ"
          f"{'; the program failed' if codes else ''}")
    return 1 if failures or codes else 0


if __name__ == "__main__":
    sys.exit(main())
