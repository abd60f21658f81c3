#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the output of the command `crochet` for TensorFlow's checkpoints with TensorFlow and NumPy.

    check_command.py <crochet> <directory that write_bundles.py filled>
"""

import json
import os
import shutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import safetensors.numpy
import tensorflow as tf

# Types that NumPy and safetensors both have.
PLAIN = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def crochet(*arguments):
    return subprocess.run([sys.argv[1], *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def expected_array(entry):
    """From <name>.expected.json: TensorFlow itself does not read partitioned tensors of all types."""
    if entry["dtype"] == "string":
        return np.array([bytes.fromhex(text) for text in entry["hex"]], dtype=object).reshape(entry["shape"])
    numbers = np.frombuffer(bytes.fromhex(entry["hex"]), dtype=tf.as_dtype(entry["dtype"]).as_numpy_dtype)
    return numbers.reshape(entry["shape"])


def check_number(name, key, found, expected):
    equal = found is None if expected is None else np.isclose(found, expected, rtol=1e-9, atol=0)
    if not equal:
        sys.exit(f"{name}: {key} is {found}, expected {expected}")


def check_statistics(name, found, array):
    """Checks the statistics over the finite real numbers and integers."""
    wide = array.astype(np.float64) if array.dtype.kind not in "biu" else array
    finite = wide[np.isfinite(wide)]
    check_number(name, "min", found["min"], finite.min() if finite.size else None)
    check_number(name, "max", found["max"], finite.max() if finite.size else None)
    exact_sum = sum(int(x) for x in finite.flat) if array.dtype.kind in "biu" else None
    if exact_sum is not None and finite.size:
        check_number(name, "mean", found["mean"], exact_sum / finite.size)
    check_number(name, "num_nan", found["num_nan"], np.isnan(wide).sum())
    check_number(name, "num_infinite", found["num_infinite"], np.isinf(wide).sum())


def check_show(prefix, expected):
    shown = json.loads(crochet("show", "--json", prefix))["tensors"]
    if [tensor["name"] for tensor in shown] != sorted(expected):
        sys.exit(f"{prefix}: the names of the tensors differ")
    checked = 0
    for tensor in shown:
        name, entry = tensor["name"], expected[tensor["name"]]
        if tensor["shape"] != entry["shape"] or tensor["type"] != entry["dtype"]:
            sys.exit(f"{name}: {tensor['type']} {tensor['shape']}, not {entry['dtype']} {entry['shape']}")
        dtype = tf.as_dtype(entry["dtype"])
        if (dtype.is_integer or dtype.is_floating or dtype.is_bool) and not dtype.is_quantized:
            check_statistics(name, tensor, expected_array(entry))
            checked += 1
    return checked


def check_convert(prefix, expected, target):
    """TensorFlow reads converted checkpoints, bit for bit; partitioned tensors are whole in them."""
    crochet("convert", "--rename-regex", "s|^|moved/|", prefix, target)
    for name, entry in expected.items():
        dtype = tf.as_dtype(entry["dtype"])
        found = tf.raw_ops.RestoreV2(
            prefix=target, tensor_names=["moved/" + name], shape_and_slices=[""], dtypes=[dtype]
        )[0]
        ours, theirs = np.asarray(found.numpy()), expected_array(entry)
        equal = np.array_equal(ours, theirs) if dtype == tf.string else ours.tobytes() == theirs.tobytes()
        if list(ours.shape) != entry["shape"] or not equal:
            sys.exit(f"{target}: moved/{name} differs")


def check_safetensors(bundle, expected, out):
    """Python's package reads the safetensors that convert writes, and the other way round."""
    plain = {name: expected_array(entry) for name, entry in expected.items() if entry["dtype"] in PLAIN}
    target = os.path.join(out, "ours.safetensors")
    crochet("convert", bundle, target)
    found = safetensors.numpy.load_file(target)
    for name, array in plain.items():
        if found[name].dtype != array.dtype or found[name].tobytes() != array.tobytes():
            sys.exit(f"{target}: {name} differs")
    theirs = os.path.join(out, "theirs.safetensors")
    safetensors.numpy.save_file(plain, theirs, metadata={"format": "np"})
    crochet("verify", theirs)
    shown = json.loads(crochet("show", "--json", theirs))
    if shown["metadata"] != {"format": "np"}:
        sys.exit(f"{theirs}: metadata {shown['metadata']}")
    for tensor in shown["tensors"]:
        check_statistics(tensor["name"], tensor, plain[tensor["name"]])
    check_convert(theirs, {name: expected[name] for name in plain}, os.path.join(out, "from_theirs"))
    crochet("diff", theirs, target, *(f"--only={name.split('/')[0]}/*" for name in plain))
    return len(plain)


def main():
    directory = sys.argv[2]
    out = os.path.join(directory, "converted")
    shutil.rmtree(out, ignore_errors=True)
    checked = 0
    for name in ("types", "slices", "sharded"):
        prefix = os.path.join(directory, name)
        with open(prefix + ".expected.json", encoding="utf-8") as file:
            expected = json.load(file)
        crochet("verify", prefix)
        checked += check_show(prefix, expected)
        check_convert(prefix, expected, os.path.join(out, name))
        if name == "types":
            checked += check_safetensors(prefix, expected, out)
    if checked < 60:
        sys.exit(f"only {checked} tensors were checked")
    print(f"{checked} tensors")


main()
