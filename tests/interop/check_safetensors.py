#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the files of safetensors_kinds with Python's safetensors package and compares them, bit for bit.

    check_safetensors.py <directory>

`expected.json` in the directory holds the program's output. The package also writes `plain` again: the files must be the
same, byte for byte. Only the package writes `theirs`, with `theirs.expected.json` for check_bundle.
"""

import json
import os
import sys

import ml_dtypes
import numpy as np
from safetensors import deserialize, safe_open
from safetensors.numpy import load_file, save_file

NUMPY = {"bfloat16": ml_dtypes.bfloat16}
# Types that the format does not have are stored as bytes.
AS_BYTES = {
    "complex128", "qint8", "quint8", "qint32", "qint16", "quint16", "string", "float8_e4m3b11fnuz", "int4", "uint4",
    "int2", "uint2",
}  # fmt: skip


class Mismatch(Exception):
    """A file is not what was expected."""


def check_equal(what, found, expected):
    if found != expected:
        raise Mismatch(f"{what}: found {str(found)[:300]!r}, expected {str(expected)[:300]!r}")


def dtype_of(name):
    return np.dtype(NUMPY.get(name, name))


def strings_of(array, count):
    """As docs/safetensors_format.md describes for Python."""
    data = array.tobytes()
    lengths = np.frombuffer(data[: 8 * count], "<u8").tolist()
    ends = [8 * count + sum(lengths[: i + 1]) for i in range(count)]
    check_equal("length of strings", len(data), ends[-1] if ends else 0)
    return [data[end - length : end].hex() for length, end in zip(lengths, ends)]


def check_tensor(name, array, expected, metadata):
    dtype, shape = expected["dtype"], expected["shape"]
    if dtype not in AS_BYTES:
        check_equal(f"{name}: dtype", array.dtype, dtype_of(dtype))
        check_equal(f"{name}: shape", list(array.shape), shape)
        check_equal(f"{name}: bytes", array.tobytes().hex(), expected["hex"])
        return
    check_equal(f"{name}: dtype", array.dtype, np.uint8)
    note = f"{dtype} [{','.join(map(str, shape))}]"
    check_equal(f"{name}: note", metadata.get(f"crochet.dtype.{name}"), note)
    if dtype == "string":
        check_equal(f"{name}: strings", strings_of(array, int(np.prod(shape, dtype=int))), expected["hex"])
        return
    check_equal(f"{name}: shape", list(array.shape[:-1]), shape)
    check_equal(f"{name}: bytes", array.tobytes().hex(), expected["hex"])
    if dtype == "complex128":
        check_equal(f"{name}: as complex", array.view(np.complex128)[..., 0].shape, tuple(shape))


def check_file(path, expected):
    """Reads a file in each of the package's ways."""
    with safe_open(path, framework="np") as file:
        metadata = file.metadata() or {}
        check_equal(f"{path}: names", sorted(file.keys()), sorted(expected))
        for name in file.keys():
            check_tensor(name, file.get_tensor(name), expected[name], metadata)
    for name, array in load_file(path).items():
        check_tensor(name, array, expected[name], metadata)
    with open(path, "rb") as file:
        for name, view in deserialize(file.read()):
            if expected[name]["dtype"] != "string":
                check_equal(f"{name}: bytes", bytes(view["data"]).hex(), expected[name]["hex"])


def check_shards(directory, expected):
    with open(os.path.join(directory, "shards.safetensors.index.json"), encoding="utf-8") as file:
        weight_map = json.load(file)["weight_map"]
    check_equal("names", sorted(weight_map), sorted(expected))
    for shard in ("00001", "00002", "00003"):
        name = f"shards-{shard}-of-00003.safetensors"
        part = {tensor: expected[tensor] for tensor, place in weight_map.items() if place == name}
        check_file(os.path.join(directory, name), part)


def check_same_bytes(directory, expected):
    tensors = {
        name: np.frombuffer(bytes.fromhex(entry["hex"]), dtype_of(entry["dtype"])).reshape(entry["shape"])
        for name, entry in expected.items()
    }
    save_file(tensors, os.path.join(directory, "again.safetensors"))
    contents = []
    for name in ("plain", "again"):
        with open(os.path.join(directory, name + ".safetensors"), "rb") as file:
            contents.append(file.read())
    check_equal("plain.safetensors, written by both", contents[0], contents[1])


def write_theirs(directory, expected):
    """With metadata, whose order the package does not define."""
    arrays = load_file(os.path.join(directory, "plain.safetensors"))
    save_file(arrays, os.path.join(directory, "theirs.safetensors"), metadata={"format": "np", "b": "é", "a": '"\n'})
    with open(os.path.join(directory, "theirs.expected.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file)


def main():
    directory = sys.argv[1]
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    check_file(os.path.join(directory, "kinds.safetensors"), expected["kinds"])
    check_file(os.path.join(directory, "plain.safetensors"), expected["plain"])
    check_shards(directory, expected["shards"])
    check_same_bytes(directory, expected["plain"])
    write_theirs(directory, expected["plain"])
    print(f"{len(expected['kinds'])} tensors of each kind agree, bit for bit")


if __name__ == "__main__":
    try:
        main()
    except Mismatch as mismatch:
        sys.exit(f"check_safetensors: {mismatch}")
