#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a run's directory with TensorBoard and compares every value with metrics.jsonl.

    check_events.py <directory> [<tag>[:<points>] ...]

Both must have the same tags, except for the figures of saves: of those "checkpoint/...", the events have some, under
"~checkpoint/...". For each tag, both must have the same steps, times and values: points of curves in single precision,
histograms, texts. No step may occur twice: the points of a lost session must be revoked. Each tag in the arguments must
exist, with at least that many points (1 if no number is given).
"""

import argparse
import json
import math
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
from tensorboard.util import tensor_util

# Keys of metrics.jsonl that are not tags; a tag of that name has a "_" appended.
RESERVED_KEYS = ("step", "time", "resumed_at")
NAMES_OF_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Mismatch(Exception):
    """The two differ, or something is missing."""


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def parse_line(number, line):
    if not line.endswith("\n"):
        raise Mismatch(f"metrics.jsonl: line {number} is torn: {line!r}")
    try:
        return json.loads(line, parse_constant=refuse_constant)
    except ValueError as error:
        raise Mismatch(f"metrics.jsonl: line {number}: {error}") from error


def number_of(value):
    return NAMES_OF_NUMBERS[value] if isinstance(value, str) else value


def single(value):
    with np.errstate(over="ignore"):  # Values beyond single precision are infinity in both.
        return np.float32(value)


def value_of_json(value, is_text):
    """A number, {"min": ...} with numbers and lists of them, or nested lists of strings."""
    if is_text:
        return value
    if isinstance(value, dict):
        return {
            key: [number_of(item) for item in part] if isinstance(part, list) else number_of(part)
            for key, part in value.items()
        }
    return single(number_of(value))


def without_later_steps(curves, step):
    kept = {tag: [point for point in points if point[0] <= step] for tag, points in curves.items()}
    return {tag: points for tag, points in kept.items() if points}


def curves_of_json_lines(directory, texts):
    """{tag: [(step, time, value), ...]}; `texts` are the tags of texts."""
    curves = {}
    with open(os.path.join(directory, "metrics.jsonl"), encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            entry = parse_line(number, line)
            if "resumed_at" in entry:
                curves = without_later_steps(curves, entry["resumed_at"])
                continue
            for key, value in entry.items():
                if key not in RESERVED_KEYS:
                    curves.setdefault(key, []).append(
                        (entry["step"], entry["time"], value_of_json(value, key in texts))
                    )
    return curves


def strings_of(tensor):
    def decode(part):
        return [decode(item) for item in part] if isinstance(part, list) else part.decode()

    return decode(tensor_util.make_ndarray(tensor).tolist())


def histogram_of(histogram):
    return histogram._asdict() if hasattr(histogram, "_asdict") else vars(histogram)


def points_of_tensorboard(accumulator, fed):
    """{tag: [(step, time, value), ...]}, and the tags of texts, which only the dashboards revoke after a restart."""
    tags = accumulator.Tags()
    points = {}
    for tag in tags[event_accumulator.SCALARS]:
        points[tag] = [(e.step, e.wall_time, np.float32(e.value)) for e in accumulator.Scalars(tag)]
    for tag in tags[event_accumulator.HISTOGRAMS]:
        points[tag] = [
            (e.step, e.wall_time, histogram_of(e.histogram_value)) for e in accumulator.Histograms(tag)
        ]
    for tag in tags[event_accumulator.TENSORS]:
        points[tag] = [(e.step, e.wall_time, strings_of(e.tensor_proto)) for e in fed.Tensors(tag)]
    return points, set(tags[event_accumulator.TENSORS])


def fed_to_dashboards(directory):
    """The input of TensorBoard's dashboards: every value as a tensor, under the name of its plugin."""
    everything = {plugin: 0 for plugin in ("scalars", "histograms", "text")}
    fed = plugin_event_accumulator.EventAccumulator(directory, tensor_size_guidance=everything)
    fed.Reload()
    return fed


def check_dashboards(accumulator, fed):
    for kind, plugin in (
        (event_accumulator.SCALARS, "scalars"),
        (event_accumulator.HISTOGRAMS, "histograms"),
        (event_accumulator.TENSORS, "text"),
    ):
        wanted = set(accumulator.Tags()[kind])
        found = set(fed.PluginTagToContent(plugin)) if plugin in fed.ActivePlugins() else set()
        if wanted != found:
            raise Mismatch(f"the {plugin} dashboard has {sorted(found)}, the file {sorted(wanted)}")
        for tag in sorted(found):
            check_steps(f"{tag} in its dashboard", [(event.step,) for event in fed.Tensors(tag)])


def key_of(tag):
    return tag + "_" if tag in RESERVED_KEYS else tag


# The group that TensorBoard shows last.
OF_SAVES = "checkpoint/"


def compare_with_lines(in_events, in_lines):
    compare(
        {tag.removeprefix("~") if tag.startswith("~" + OF_SAVES) else tag: points for tag, points in in_events.items()},
        {tag: points for tag, points in in_lines.items() if "~" + tag in in_events or not tag.startswith(OF_SAVES)},
    )


def curves_of_tensorboard(directory):
    if not os.path.isdir(directory):
        raise Mismatch("no such directory")
    everything = {kind: 0 for kind in (event_accumulator.SCALARS, event_accumulator.HISTOGRAMS, event_accumulator.TENSORS)}
    accumulator = event_accumulator.EventAccumulator(directory, size_guidance=everything)
    accumulator.Reload()
    fed = fed_to_dashboards(directory)
    check_dashboards(accumulator, fed)
    points, texts = points_of_tensorboard(accumulator, fed)
    # A tag remains when all its points are revoked.
    return {key_of(tag): values for tag, values in points.items() if values}, set(map(key_of, texts))


def is_same(one, other):
    if isinstance(one, np.float32):
        return np.array_equal(one, other, equal_nan=True)
    return one == other


def is_same_point(one, other):
    return one[:2] == other[:2] and is_same(one[2], other[2])


def compare_curve(tag, in_events, in_lines):
    for i, (one, other) in enumerate(zip(in_events, in_lines)):
        if not is_same_point(one, other):
            raise Mismatch(f"{tag}: point {i} (step, time, value): TensorBoard has {one}, metrics.jsonl {other}")
    if len(in_events) != len(in_lines):
        raise Mismatch(f"{tag}: TensorBoard has {len(in_events)} points, metrics.jsonl {len(in_lines)}")


def check_steps(tag, points):
    steps = [point[0] for point in points]
    if any(later <= earlier for earlier, later in zip(steps, steps[1:])):
        raise Mismatch(f"{tag}: the steps {steps} do not ascend")


def compare(in_events, in_lines):
    if set(in_events) != set(in_lines):
        raise Mismatch(
            f"tags only in the events: {sorted(set(in_events) - set(in_lines))}, "
            f"only in metrics.jsonl: {sorted(set(in_lines) - set(in_events))}"
        )
    for tag in sorted(in_events):
        compare_curve(tag, in_events[tag], in_lines[tag])
        check_steps(tag, in_events[tag])


def split_request(request):
    """("loss", 20) for "loss:20"."""
    tag, colon, number = request.rpartition(":")
    return (tag, int(number)) if colon and number.isdigit() else (request, 1)


def check(directory, requests):
    in_events, texts = curves_of_tensorboard(directory)
    if not in_events:
        raise Mismatch("TensorBoard found no points")
    compare_with_lines(in_events, curves_of_json_lines(directory, texts))
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
