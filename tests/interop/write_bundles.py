#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Writes checkpoints with TensorFlow, each with a description of its contents for check_bundle.

    write_bundles.py <directory>

`types` and `slices` come from the SaveV2 operation, `sharded` from a Saver with two devices and a partitioned variable.
"""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

NUMBERS = [
    tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.complex64, tf.int64, tf.bool, tf.bfloat16,
    tf.uint16, tf.complex128, tf.half, tf.uint32, tf.uint64,
]
QUANTIZED = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint32: tf.int32, tf.qint16: tf.int16, tf.quint16: tf.uint16}


def expectation(tensor, dtype=None):
    array = np.asarray(tensor.numpy() if tf.is_tensor(tensor) else tensor)
    found = {"dtype": (dtype or tensor.dtype).name, "shape": list(tensor.shape)}
    if found["dtype"] == "string":
        found["hex"] = [bytes(element).hex() for element in array.reshape(-1)]
    else:
        found["hex"] = np.ascontiguousarray(array).tobytes().hex()
    return found


def random_bits(generator, dtype, shape):
    count = int(np.prod(shape, dtype=int))
    if dtype == tf.bool:
        return tf.constant(generator.integers(0, 2, count).astype(bool).reshape(shape))
    data = generator.bytes(count * dtype.size)
    return tf.constant(np.frombuffer(data, dtype.as_numpy_dtype).reshape(shape))


def write(directory, name, entries, expected):
    names, slices, tensors = zip(*entries)
    tf.raw_ops.SaveV2(
        prefix=os.path.join(directory, name), tensor_names=names, shape_and_slices=slices, tensors=tensors
    )
    write_expected(directory, name, expected)


def write_expected(directory, name, expected):
    with open(os.path.join(directory, name + ".expected.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file)


def types(directory):
    generator = np.random.default_rng(17)
    tensors, expected = {}, {}
    for shape in ([5, 7], [], [3, 0]):
        for dtype in NUMBERS:
            name = f"{dtype.name}/{shape}"
            tensors[name] = random_bits(generator, dtype, shape)
            expected[name] = expectation(tensors[name])
        for quantized, plain in QUANTIZED.items():
            name = f"{quantized.name}/{shape}"
            bits = random_bits(generator, plain, shape)
            tensors[name] = tf.bitcast(bits, quantized)
            expected[name] = expectation(bits, quantized)
    tensors["strings"] = tf.constant([[b"ab", b""], [b"x" * 300, b"\0\xff"]])
    tensors["string"] = tf.constant(b"one")
    tensors["no_strings"] = tf.zeros([0, 2], tf.string)
    for name in ("strings", "string", "no_strings"):
        expected[name] = expectation(tensors[name])
    write(directory, "types", [(name, "", tensors[name]) for name in sorted(tensors)], expected)


def slices(directory):
    """Tensors in rows, in columns, in a grid; strings too."""
    full = {
        "columns": tf.constant(np.arange(24, dtype=np.float16).reshape(4, 6)),
        "grid": tf.constant(np.arange(16, dtype=np.int32).reshape(4, 4)),
        "rows": tf.constant(np.arange(10, dtype=np.float64).reshape(5, 2)),
        "words": tf.constant([b"in", b"slices", b"too"]),
    }
    places = {
        "columns": ["0,4:0,1", "0,4:1,5"],
        "grid": ["0,2:0,3", "0,2:3,1", "2,2:0,3", "2,2:3,1"],
        "rows": ["0,3:0,2", "3,2:0,2"],
        "words": ["0,1", "1,2"],
    }
    entries, expected = [], {}
    for name, tensor in full.items():
        expected[name] = expectation(tensor) | {"slices": places[name]}
        for place in places[name]:
            ranges = [[int(number) for number in part.split(",")] for part in place.split(":")]
            index = tuple(slice(start, start + length) for start, length in ranges)
            shape = " ".join(str(size) for size in tensor.shape)
            entries.append((name, f"{shape} {place}", tensor[index]))
    write(directory, "slices", entries, expected)


def sharded(directory):
    v1 = tf.compat.v1
    expected = {}
    with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as session:
        for device in range(2):
            with tf.device(f"/cpu:{device}"):
                values = np.arange(6, dtype=np.float32).reshape(2, 3) + 10 * device
                v1.get_variable(f"w{device}", initializer=values, use_resource=False)
                expected[f"w{device}"] = expectation(values, tf.float32)
        with tf.device("/cpu:1"):
            values = np.arange(12, dtype=np.float32).reshape(6, 2)
            v1.get_variable(
                "parts", shape=[6, 2], use_resource=False, initializer=v1.constant_initializer(7),
                partitioner=v1.fixed_size_partitioner(3),
            )
            expected["parts"] = expectation(np.full([6, 2], 7, np.float32), tf.float32) | {
                "slices": ["0,2:0,2", "2,2:0,2", "4,2:0,2"]
            }
        session.run(v1.global_variables_initializer())
        v1.train.Saver(sharded=True).save(session, os.path.join(directory, "sharded"))
    write_expected(directory, "sharded", expected)


def main():
    directory = sys.argv[1]
    types(directory)
    slices(directory)
    sharded(directory)


if __name__ == "__main__":
    main()
