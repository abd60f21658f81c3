#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a checkpoint with TensorFlow and compares it, bit for bit, with the contents that a C++ program printed.

    check_checkpoint.py [--no-state] <prefix> <expected.json>

The file has every tensor of the checkpoint:

    {"model/w1": {"dtype": "float32", "shape": [64, 128], "hex": "0000803f..."}, ...}

"hex" holds the bytes of the elements, row-major and little-endian; for dtype "string" it is a list with the bytes of
each element. The checkpoint's state file must list it, and TensorFlow must find it as the latest.
"""

import argparse
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

MAX_ELEMENTS_READ_ONE_BY_ONE = 100_000

# TensorFlow reads any slice of tensors of these types; of others, only stored slices.
SLICEABLE = [
    tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.complex64, tf.complex128, tf.int64, tf.bool,
    tf.qint32, tf.quint8, tf.qint8, tf.bfloat16,
]


class Mismatch(Exception):
    """The checkpoint is not what was expected."""


def check_equal(what, found, expected):
    if found != expected:
        raise Mismatch(f"{what}: found {found!r}, expected {expected!r}")


def check_names(reader, expected):
    found = set(reader.get_variable_to_shape_map())
    missing = sorted(set(expected) - found)
    surplus = sorted(found - set(expected))
    if missing or surplus:
        raise Mismatch(f"missing from the checkpoint: {missing}, only in the checkpoint: {surplus}")


def check_strings(name, tensor, expected):
    found = [bytes(element).hex() for element in np.asarray(tensor, dtype=object).reshape(-1)]
    check_equal(f"{name}: number of elements", len(found), len(expected))
    for index, (ours, theirs) in enumerate(zip(found, expected)):
        check_equal(f"{name}: element {index}", ours, theirs)


def check_bytes(name, tensor, expected):
    found = np.frombuffer(np.ascontiguousarray(tensor).tobytes(), dtype=np.uint8)
    expected = np.frombuffer(expected, dtype=np.uint8)
    check_equal(f"{name}: number of bytes", found.size, expected.size)
    different = np.flatnonzero(found != expected)
    if different.size == 0:
        return
    first = int(different[0]) // tensor.dtype.itemsize
    element = slice(first * tensor.dtype.itemsize, (first + 1) * tensor.dtype.itemsize)
    index = [int(i) for i in np.unravel_index(first, tensor.shape)]
    raise Mismatch(
        f"{name}{index}: found {found[element].tobytes().hex()}, expected {expected[element].tobytes().hex()}; "
        f"{different.size} of {found.size} bytes differ"
    )


def check_matrix_elements(name, tensor, expected):
    """Reads elements by (row, column), as a program that uses the matrix does."""
    num_columns = tensor.shape[1]
    stride = max(1, tensor.size // MAX_ELEMENTS_READ_ONE_BY_ONE)
    for offset in range(0, tensor.size, stride):
        row, column = divmod(offset, num_columns)
        start = offset * tensor.dtype.itemsize
        check_equal(
            f"{name}[{row}, {column}]",
            tensor[row, column].tobytes().hex(),
            expected[start : start + tensor.dtype.itemsize].hex(),
        )


def check_slice(prefix, name, tensor, dtype):
    """Reads a part from the middle as a partitioned variable would."""
    starts = [size // 3 for size in tensor.shape]
    lengths = [max(1, size // 2) for size in tensor.shape]
    ranges = ":".join(f"{start},{length}" for start, length in zip(starts, lengths))
    spec = " ".join(map(str, tensor.shape)) + " " + ranges
    found = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=[name], shape_and_slices=[spec], dtypes=[dtype])[0].numpy()
    index = tuple(slice(start, start + length) for start, length in zip(starts, lengths))
    check_bytes(f"{name}, slice {ranges}", found, np.ascontiguousarray(tensor[index]).tobytes())


def check_tensor(prefix, reader, name, expected):
    dtype = reader.get_variable_to_dtype_map()[name]
    check_equal(f"{name}: dtype", dtype.name, expected["dtype"])
    check_equal(f"{name}: shape", list(reader.get_variable_to_shape_map()[name]), expected["shape"])
    tensor = np.asarray(reader.get_tensor(name))
    check_equal(f"{name}: shape as read", list(tensor.shape), expected["shape"])
    if dtype == tf.string:
        check_strings(name, tensor, expected["hex"])
        return
    data = bytes.fromhex(expected["hex"])
    check_bytes(name, tensor, data)
    if tensor.ndim > 0 and tensor.size > 0 and dtype in SLICEABLE:
        check_slice(prefix, name, tensor, dtype)
    if tensor.ndim == 2:
        check_matrix_elements(name, tensor, data)


def check_state(prefix):
    directory = os.path.dirname(os.path.abspath(prefix))
    state = tf.train.get_checkpoint_state(directory)
    if state is None:
        raise Mismatch(f"{directory}: TensorFlow finds no checkpoint state there")
    latest = tf.train.latest_checkpoint(directory)
    if latest is None:
        raise Mismatch(f"{directory}: TensorFlow finds no files for {state.model_checkpoint_path}")
    check_equal("latest checkpoint", os.path.abspath(latest), os.path.abspath(state.model_checkpoint_path))
    listed = [os.path.abspath(path) for path in state.all_model_checkpoint_paths]
    check_equal("last of all checkpoints in the state", listed[-1:], [os.path.abspath(latest)])
    if os.path.abspath(prefix) not in listed:
        raise Mismatch(f"{prefix}: not among the checkpoints of the state: {listed}")


def check(prefix, expected, with_state):
    if not expected:
        raise Mismatch("no tensors are expected: nothing to check")
    reader = tf.train.load_checkpoint(prefix)
    check_names(reader, expected)
    for name in sorted(expected):
        check_tensor(prefix, reader, name, expected[name])
    if with_state:
        check_state(prefix)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("prefix", help="the checkpoint, without .index")
    parser.add_argument("expected", help="the JSON file with its tensors")
    parser.add_argument("--no-state", action="store_true", help="the checkpoint has no state file")
    arguments = parser.parse_args()
    with open(arguments.expected, encoding="utf-8") as file:
        expected = json.load(file)
    try:
        check(arguments.prefix, expected, with_state=not arguments.no_state)
    except (Mismatch, tf.errors.OpError) as error:
        print(f"{arguments.prefix}: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.prefix}: TensorFlow {tf.__version__} reads {len(expected)} tensors as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
