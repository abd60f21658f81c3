#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what summary_kinds wrote for TensorBoard's plugins, with TensorBoard, and compares it with what TensorBoard's
own functions make of the same numbers.

    check_plugins.py <directory>
"""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, backend_context, plugin_data_pb2
from tensorboard.plugins.pr_curve import metadata as pr_metadata
from tensorboard.plugins.pr_curve import summary as pr_curve
from tensorboard.util import tensor_util


class Mismatch(Exception):
    """A value is not what TensorBoard expects."""


def expect(what, found, expected):
    if found != expected:
        raise Mismatch(f"{what}: found {found!r}, expected {expected!r}")


def check_hparams(accumulator, provider):
    found = {}
    for tag, content in accumulator.PluginTagToContent("hparams").items():
        found[tag] = plugin_data_pb2.HParamsPluginData.FromString(content)
    start = found["_hparams_/session_start_info"].session_start_info
    values = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}
    expect("the learning rate", values["learning_rate"], 0.5)
    expect("the layers", values["layers"], 3.0)
    expect("nesterov", values["nesterov"], True)
    expect("the name", values["name"], "größe")
    expect("an option", values["checkpoint.every_steps"], 2.0)
    end = found["_hparams_/session_end_info"].session_end_info
    expect("the status", end.status, api_pb2.STATUS_SUCCESS)
    if not 1.6e9 < start.start_time_secs <= end.end_time_secs:
        raise Mismatch(f"times: from {start.start_time_secs} to {end.end_time_secs}")
    # What the page of a directory without a description of the experiment shows.
    context = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    request = RequestContext()
    metadata = context.hparams_metadata(request, "id")
    experiment = context.experiment_from_metadata(
        request, "id", include_metrics=True, hparams_run_to_tag_to_content=metadata, data_provider_hparams=[])
    names = {info.name for info in experiment.hparam_infos}
    for name in ("learning_rate", "layers", "nesterov", "name"):
        if name not in names:
            raise Mismatch(f"the page shows {sorted(names)}, without {name}")
    if "value" not in {info.name.tag for info in experiment.metric_infos}:
        raise Mismatch(f"the page shows no metric: {experiment.metric_infos}")


def check_images(accumulator):
    for channels in (1, 3, 4):
        for step, event in enumerate(accumulator.Tensors(f"image{channels}"), start=1):
            expect("the step of an image", event.step, step)
            width, height, png = tensor_util.make_ndarray(event.tensor_proto)
            expect("the size of an image", (int(width), int(height)), (6, 5))
            pixels = tf.io.decode_png(png, channels=0).numpy()
            expected = ((np.arange(30 * channels) + step) * 7 % 256).astype(np.uint8).reshape(5, 6, channels)
            if not np.array_equal(pixels, expected):
                raise Mismatch(f"image{channels} of step {step}: other pixels")


def check_curve(accumulator):
    numbers = np.arange(100)
    expected = pr_curve.pb("eval/digits", labels=(numbers * 37 % 10 < 4), predictions=(numbers * 29 % 101) / 100,
                           num_thresholds=11).value[0]
    expect("the tag of a curve", expected.tag, "eval/digits/pr_curves")
    events = accumulator.Tensors(expected.tag)
    expect("the steps of a curve", [event.step for event in events], [1, 2])
    for event in events:
        found = tensor_util.make_ndarray(event.tensor_proto)
        if not np.array_equal(found, tensor_util.make_ndarray(expected.tensor)):
            raise Mismatch(f"the curve of step {event.step}: found {found}, expected {expected.tensor}")
    content = accumulator.PluginTagToContent("pr_curves")[expected.tag]
    expect("the thresholds", pr_metadata.parse_plugin_metadata(content).num_thresholds, 11)


def check_layout(accumulator):
    [event] = accumulator.Tensors("custom_scalars__config__")
    layout = layout_pb2.Layout.FromString(tensor_util.make_ndarray(event.tensor_proto).item())
    [category] = layout.category
    expect("the category", category.title, "losses")
    expect("the charts", [chart.title for chart in category.chart], ["value", "other"])
    expect("the tags", list(category.chart[0].multiline.tag), ["value", "loss.*"])
    expect("the plugin", list(accumulator.PluginTagToContent("custom_scalars")), ["custom_scalars__config__"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    directory = parser.parse_args().directory
    multiplexer = plugin_event_multiplexer.EventMultiplexer(
        tensor_size_guidance={"images": 0, "pr_curves": 0}).AddRunsFromDirectory(directory)
    multiplexer.Reload()
    accumulator = multiplexer.GetAccumulator(".")
    check_hparams(accumulator, data_provider.MultiplexerDataProvider(multiplexer, directory))
    check_images(accumulator)
    check_curve(accumulator)
    check_layout(accumulator)
    print("hyperparameters, images, a curve and a layout are as TensorBoard has them")


if __name__ == "__main__":
    main()
