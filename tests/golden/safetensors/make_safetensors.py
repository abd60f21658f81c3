#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden safetensors files with Python's package, into the directory that this script is in."""

import json
import os

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
TYPES = {
    "bfloat16": ml_dtypes.bfloat16, "bool": bool, "complex64": np.complex64, "float16": np.float16,
    "float32": np.float32, "float64": np.float64, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "int8": np.int8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "uint8": np.uint8,
}  # fmt: skip


def counting(dtype, shape):
    """Bytes that count from 0; for bool, 0 and 1."""
    size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
    modulus = 2 if dtype is bool else 256
    return np.frombuffer(bytes(i % modulus for i in range(size)), dtype).reshape(shape)


def types():
    tensors = {f"types/{name}": counting(dtype, (2, 3)) for name, dtype in TYPES.items()}
    tensors["empty"] = np.zeros((0, 5), np.float32)
    tensors["global_step"] = np.array(7, np.int64)
    tensors["high_rank"] = counting(np.int32, (1, 2, 1, 3, 1, 1))
    tensors['"quoted"\\\n\t\x01\x7f é'] = counting(np.uint8, (3,))
    return tensors


def save(name, tensors, metadata=None):
    save_file(tensors, os.path.join(DIRECTORY, name + ".safetensors"), metadata=metadata)


def main():
    save("types", types())
    save("metadata", {"w": counting(np.float32, (2,))}, {"format": "np"})
    save("none", {})
    # Several files: the package writes the files, and Hugging Face's tools write such an index.
    save("shards-00001-of-00002", {"a": counting(np.float32, (2, 2))})
    save("shards-00002-of-00002", {"b": counting(np.int8, (3,))})
    index = {
        "metadata": {"total_size": 19},
        "weight_map": {"a": "shards-00001-of-00002.safetensors", "b": "shards-00002-of-00002.safetensors"},
    }
    with open(os.path.join(DIRECTORY, "shards.safetensors.index.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(index, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
