#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of docs/trackers.md without a network, and compares what each tracker then has with the curves.

    check_trackers.py --crochet PROGRAM [--only NAME]

The trackers must be installed in this Python. The run is the recorded night, which was resumed several times.
"""

import argparse
import contextlib
import glob
import json
import math
import os
import pathlib
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "night" / "recorded"


def blocks():
    """By section: the code blocks of the page."""
    found, section = {}, ""
    page = (ROOT / "docs" / "trackers.md").read_text(encoding="utf-8")
    for match in re.finditer(r"^## ([^\n]*)$|^```(?:python|sql)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if match[1]:
            section = match[1]
        else:
            found.setdefault(section, []).append(match[2])
    return found


def run_python(code):
    environment = os.environ | {"WANDB_MODE": "offline", "SWANLAB_MODE": "offline", "TRACKIO_DIR": os.path.abspath("trackio"),
                                "MLFLOW_TRACKING_URI": "file:" + os.path.abspath("mlruns"),
                                "MLFLOW_ALLOW_FILE_STORE": "true", "AIM_UI_TELEMETRY_ENABLED": "0",
                                "HF_HUB_OFFLINE": "1", "PYTHONPATH": "."}
    pathlib.Path("block.py").write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "block.py"], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def expect_loss(found, expected, tracker):
    """`found` has pairs of step and loss."""
    found = sorted(found)
    assert len(found) == len(expected), f"{tracker}: {len(found)} points, expected {len(expected)}"
    for (step, value), (expected_step, expected_value) in zip(found, expected):
        assert step == expected_step and math.isclose(value, expected_value, rel_tol=1e-9), (
            f"{tracker}: {step}, {value}; expected {expected_step}, {expected_value}")
    print(f"{tracker}: {len(found)} points of the loss, equal")


def aim_command(*arguments):
    program = pathlib.Path(sys.executable).parent / "aim"
    subprocess.run([program, *arguments], input="y\n", text=True, check=True, capture_output=True, timeout=120)


def log_records(path):
    """Of a file in LevelDB's format of logs, after a header of 7 bytes, as W&B and SwanLab write them."""
    data = pathlib.Path(path).read_bytes()
    place, record = 7, b""
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, size, kind = struct.unpack_from("<IHB", data, place)
        record += data[place + 7:place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # Whole, or the last part of one.
            yield record
            record = b""


def loss_in_wandb():
    from wandb.proto import wandb_internal_pb2
    (path,) = glob.glob("wandb/offline-run-*/run-*.wandb")
    for data in log_records(path):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        for item in record.history.item:
            if list(item.nested_key) == ["loss"]:
                yield record.history.step.num, json.loads(item.value_json)


def loss_in_mlflow():
    import mlflow
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    client = mlflow.MlflowClient("file:" + os.path.abspath("mlruns"))
    experiment = client.get_experiment_by_name("digits")
    (run,) = client.search_runs([experiment.experiment_id])
    return [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, "loss")]


def loss_in_swanlab():
    from swanlab.proto.swanlab.record.v1 import record_pb2
    (path,) = glob.glob("swanlog/*/run-*.swanlab")
    for data in log_records(path):
        record = record_pb2.Record()
        record.ParseFromString(data)
        if record.scalar.key == "loss":
            yield record.scalar.step, record.scalar.value.number


def loss_in_trackio():
    (path,) = glob.glob("trackio/*.db")
    for step, metrics in sqlite3.connect(path).execute("SELECT step, metrics FROM metrics"):
        values = json.loads(metrics)
        if "loss" in values:
            yield step, values["loss"]


def loss_in_aim():
    import aim
    aim_command("storage", "reindex")
    (metric,) = [one for run in aim.Repo(".").iter_runs() for one in run.metrics() if one.name == "loss"]
    steps, (values, *_) = metric.data.items_list()
    return list(zip(steps, values))


def check_sql(queries, expected):
    import duckdb
    connection = duckdb.connect()
    for query in queries:
        connection.execute(query)
    (row,) = connection.fetchall()
    best = min(expected, key=lambda point: point[1])
    assert row[0] == "night" and (row[2], row[1]) == best, f"{row}, expected {best}"
    expect_loss(connection.execute("SELECT step, loss FROM points WHERE NOT isnan(loss)").fetchall(), expected, "DuckDB")


TRACKERS = {"Weights & Biases": loss_in_wandb, "MLflow": loss_in_mlflow, "SwanLab": loss_in_swanlab,
            "Trackio": loss_in_trackio, "Aim": loss_in_aim}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crochet", type=pathlib.Path, required=True)
    parser.add_argument("--only")
    options = parser.parse_args()
    os.environ["PATH"] = f"{options.crochet.resolve().parent}:{os.environ['PATH']}"
    found = blocks()
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        os.mkdir("runs")
        shutil.copytree(RECORDED, "runs/night")
        pathlib.Path("points.py").write_text(found["Reading the curves"][0], encoding="utf-8")
        sys.path.insert(0, directory)
        from points import points
        expected = [(step, values["loss"]) for step, values in points("runs/night")
                    if "loss" in values and not math.isnan(values["loss"])]
        assert len(expected) > 10
        for name, read in TRACKERS.items():
            if options.only in (None, name):
                if name == "Aim":
                    aim_command("init")
                run_python(found[name][0])
                expect_loss([one for one in read() if not math.isnan(one[1])], expected, name)
        if options.only in (None, "DuckDB"):
            check_sql(found["A hundred runs with SQL"], expected)


if __name__ == "__main__":
    main()
