#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the profiles in a run's directory: valid traces, with hooks, and the same operations for TensorBoard.

    check_profile.py <directory> <step> ...

Expects profiles of exactly these steps, as timeline-<step>.json and as run metadata with the tag step_<step>.
"""

import glob
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tensorboard.backend.event_processing import event_accumulator

# The fields that the trace event format requires of an event, by its phase.
FIELDS = {
    "X": {"name": str, "pid": int, "tid": int, "ts": (int, float), "dur": (int, float)},
    "M": {"name": str, "pid": int, "tid": int, "args": dict},
    "s": {"name": str, "cat": str, "pid": int, "tid": int, "ts": (int, float), "id": int},
    "f": {"name": str, "cat": str, "pid": int, "tid": int, "ts": (int, float), "id": int},
    "C": {"name": str, "pid": int, "ts": (int, float), "args": dict},
}


def require(condition, message):
    if not condition:
        raise SystemExit(message)


def check_event(path, event):
    require(event.get("ph") in FIELDS, f"{path}: the phase of {event}")
    for field, kind in FIELDS[event["ph"]].items():
        require(isinstance(event.get(field), kind), f"{path}: {field} of {event}")


def operations_of_timeline(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        check_event(path, event)
    starts = sorted(event["id"] for event in events if event["ph"] == "s")
    ends = sorted(event["id"] for event in events if event["ph"] == "f")
    require(starts == ends, f"{path}: arrows {starts} and {ends}")
    spans = [event for event in events if event["ph"] == "X" and event["cat"] == "crochet"]
    require({"run", "ProfilerHook"} <= {event["name"] for event in spans}, f"{path}: {spans}")
    operations = [event for event in events if event["ph"] == "X" and event["cat"] == "operation"]
    require(all("inputs" in event["args"] for event in operations), f"{path}: operations without arguments")
    return sorted(event["name"] for event in operations)


def operations_of_metadata(metadata):
    return sorted(node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats)


def main():
    directory, *steps = sys.argv[1:]
    accumulator = event_accumulator.EventAccumulator(directory)
    accumulator.Reload()
    tags = set(accumulator.Tags()[event_accumulator.RUN_METADATA])
    require(tags == {f"step_{step}" for step in steps}, f"run metadata of {sorted(tags)}")
    paths = {f"{directory}/timeline-{step}.json" for step in steps}
    found = set(glob.glob(f"{directory}/timeline-*.json"))
    require(found == paths, f"timelines {sorted(found)}")
    for step in steps:
        # Parsed by TensorBoard's own copy of the message.
        in_events = operations_of_metadata(accumulator.RunMetadata(f"step_{step}"))
        in_trace = operations_of_timeline(f"{directory}/timeline-{step}.json")
        require(in_trace and in_trace == in_events, f"step {step}: {in_trace} and {in_events}")
    print(f"{directory}: {len(steps)} profiles")


if __name__ == "__main__":
    main()
