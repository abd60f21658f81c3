#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Writes tensorflow.tfevents with TensorFlow's own writer. See README.md."""

import pathlib
import shutil
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorboard.plugins.text import summary_v2 as text_summary

Event = tf.compat.v1.Event
Summary = tf.compat.v1.Summary
SessionLog = tf.compat.v1.SessionLog


def scalar(tag, value):
    return Summary.Value(tag=tag, simple_value=value)


def histogram(tag, values):
    """The Summary of TensorFlow's own operation."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return Summary.FromString(session.run(tf.compat.v1.summary.histogram(tag, values)))


def text(tag, strings):
    return Summary.FromString(text_summary.text_pb(tag, strings).SerializeToString())


def golden_events():
    wall_time = 1_700_000_000.0
    yield Event(
        wall_time=wall_time,
        session_log=SessionLog(status=SessionLog.START),
    )
    yield Event(
        wall_time=wall_time + 0.25,
        step=1,
        summary=Summary(value=[scalar("loss", 0.5)]),
    )
    yield Event(
        wall_time=wall_time + 0.5,
        step=300,
        summary=Summary(
            value=[
                scalar("loss", float("nan")),
                scalar("global_step/sec", 0.0),
                scalar("größe", float("-inf")),
            ]
        ),
    )
    yield Event(
        wall_time=wall_time + 0.75,
        step=2**40,
        session_log=SessionLog(
            status=SessionLog.CHECKPOINT, checkpoint_path="/runs/x/model.ckpt-300"
        ),
    )
    yield Event(
        wall_time=wall_time + 1.0,
        step=-1,
        session_log=SessionLog(status=SessionLog.STOP, msg="done"),
    )
    yield Event(
        wall_time=wall_time + 1.25,
        step=301,
        summary=histogram("weights", np.array([-2.5, -1e-13, -0.0, 0.5, 0.5, 1e30, 1e-12])),
    )
    yield Event(wall_time=wall_time + 1.5, step=302, summary=text("notes", "a *small* step"))
    yield Event(
        wall_time=wall_time + 1.75,
        step=303,
        summary=text("table", np.array([["größe", ""], ["1", "2"]], dtype=object)),
    )
    # Contents that crochet does not read: an image next to a point, and a graph.
    yield Event(
        wall_time=wall_time + 2.0,
        step=304,
        summary=Summary(
            value=[
                Summary.Value(tag="digit", image=Summary.Image(height=1, width=1)),
                scalar("loss", 0.125),
            ]
        ),
    )
    yield Event(wall_time=wall_time + 2.25, graph_def=b"\x0a\x03abc")


def main():
    target = pathlib.Path(__file__).resolve().parent / "tensorflow.tfevents"
    with tempfile.TemporaryDirectory() as directory:
        with tf.Graph().as_default():
            writer = tf.compat.v1.summary.FileWriter(directory)
            for event in golden_events():
                writer.add_event(event)
            writer.close()
        [events_file] = pathlib.Path(directory).iterdir()
        shutil.copyfile(events_file, target)
    print(f"{target}: {target.stat().st_size} bytes, by TensorFlow {tf.__version__}")


if __name__ == "__main__":
    sys.exit(main())
