#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a run's directory with TensorBoard and compares every point with metrics.jsonl.

    check_events.py <directory> [<tag>[:<points>] ...]

Both must have the same tags, and for each the same steps, times and values, values in single precision. Each tag that
is named must be there, with at least that many points (1 if no number is given).
"""

import argparse
import json
import math
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
from tensorboard.backend.event_processing import event_accumulator

# Keys of metrics.jsonl that are no tags; a tag of that name has a "_" behind it.
RESERVED_KEYS = ("step", "time", "resumed_at")
NAMES_OF_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Mismatch(Exception):
    """The two do not agree, or something is missing."""


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def parse_line(number, line):
    if not line.endswith("\n"):
        raise Mismatch(f"metrics.jsonl: line {number} is torn: {line!r}")
    try:
        return json.loads(line, parse_constant=refuse_constant)
    except ValueError as error:
        raise Mismatch(f"metrics.jsonl: line {number}: {error}") from error


def number_of(value):
    with np.errstate(over="ignore"):  # Beyond single precision is infinity in both.
        return np.float32(NAMES_OF_NUMBERS[value] if isinstance(value, str) else value)


def without_later_steps(curves, step):
    kept = {tag: [point for point in points if point[0] <= step] for tag, points in curves.items()}
    return {tag: points for tag, points in kept.items() if points}


def curves_of_json_lines(directory):
    """{tag: [(step, time, value), ...]}"""
    curves = {}
    with open(os.path.join(directory, "metrics.jsonl"), encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            entry = parse_line(number, line)
            if "resumed_at" in entry:
                curves = without_later_steps(curves, entry["resumed_at"])
                continue
            for key, value in entry.items():
                if key not in RESERVED_KEYS:
                    curves.setdefault(key, []).append((entry["step"], entry["time"], number_of(value)))
    return curves


def curves_of_tensorboard(directory):
    if not os.path.isdir(directory):
        raise Mismatch("no such directory")
    everything = {event_accumulator.SCALARS: 0}
    accumulator = event_accumulator.EventAccumulator(directory, size_guidance=everything)
    accumulator.Reload()
    curves = {}
    for tag in accumulator.Tags()[event_accumulator.SCALARS]:
        points = [(event.step, event.wall_time, np.float32(event.value)) for event in accumulator.Scalars(tag)]
        if points:  # A tag stays when all its points were taken back.
            curves[tag + "_" if tag in RESERVED_KEYS else tag] = points
    return curves


def is_same_point(one, other):
    return one[:2] == other[:2] and np.array_equal(one[2], other[2], equal_nan=True)


def compare_curve(tag, in_events, in_lines):
    for i, (one, other) in enumerate(zip(in_events, in_lines)):
        if not is_same_point(one, other):
            raise Mismatch(f"{tag}: point {i} (step, time, value): TensorBoard has {one}, metrics.jsonl {other}")
    if len(in_events) != len(in_lines):
        raise Mismatch(f"{tag}: TensorBoard has {len(in_events)} points, metrics.jsonl {len(in_lines)}")


def compare(in_events, in_lines):
    if set(in_events) != set(in_lines):
        raise Mismatch(
            f"tags only in the events: {sorted(set(in_events) - set(in_lines))}, "
            f"only in metrics.jsonl: {sorted(set(in_lines) - set(in_events))}"
        )
    for tag in sorted(in_events):
        compare_curve(tag, in_events[tag], in_lines[tag])


def split_request(request):
    """("loss", 20) for "loss:20"."""
    tag, colon, number = request.rpartition(":")
    return (tag, int(number)) if colon and number.isdigit() else (request, 1)


def check(directory, requests):
    in_events = curves_of_tensorboard(directory)
    if not in_events:
        raise Mismatch("TensorBoard finds no points")
    compare(in_events, curves_of_json_lines(directory))
    for tag, num_points in map(split_request, requests):
        found = len(in_events.get(tag, []))
        if found < num_points:
            raise Mismatch(f"{tag}: {found} points, expected at least {num_points}; there are {sorted(in_events)}")
    return in_events


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory")
    parser.add_argument("tags", nargs="*", metavar="tag[:points]")
    arguments = parser.parse_args()
    try:
        curves = check(arguments.directory, arguments.tags)
    except (Mismatch, OSError) as error:
        print(f"{arguments.directory}: {error}", file=sys.stderr)
        return 1
    num_points = sum(map(len, curves.values()))
    print(f"{arguments.directory}: TensorBoard and metrics.jsonl agree on {num_points} points of {len(curves)} curves")
    return 0


if __name__ == "__main__":
    sys.exit(main())
