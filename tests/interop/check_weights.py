#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Exchanges weights with LibTorch by way of Python's safetensors package, bit for bit in both directions.

    check_weights.py <libtorch_weights> <directory>
"""

import json
import os
import subprocess
import sys

import numpy as np
from check_safetensors import Mismatch, check_equal, check_file, dtype_of
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

NAMES = [
    "convolutions.0.bias", "convolutions.0.weight", "convolutions.1.bias", "convolutions.1.num_batches_tracked",
    "convolutions.1.running_mean", "convolutions.1.running_var", "convolutions.1.weight", "fc.bias", "fc.weight", "flags",
    "halves", "tied",
]  # fmt: skip


def run(program, action, path):
    return json.loads(subprocess.run([program, action, path], check=True, capture_output=True, text=True).stdout)


def main():
    program, directory = sys.argv[1:]
    ours, theirs = (os.path.join(directory, name) for name in ("ours.safetensors", "theirs.safetensors"))
    written = run(program, "write", ours)
    check_equal("names", sorted(written), NAMES)
    check_file(ours, written)
    with safe_open(ours, framework="np") as file:
        check_equal("format", file.metadata()["format"], "pt")

    # Other values of the same types and shapes.
    reversed_values = {
        name: np.ascontiguousarray(array.ravel()[::-1]).reshape(array.shape) for name, array in load_file(ours).items()
    }
    save_file(reversed_values, theirs)
    read = run(program, "read", theirs)
    check_equal("names", sorted(read), NAMES)
    for name, array in reversed_values.items():
        check_equal(f"{name}: type", dtype_of(read[name]["dtype"]), array.dtype)
        check_equal(f"{name}: shape", read[name]["shape"], list(array.shape))
        check_equal(f"{name}: bytes", read[name]["hex"], array.tobytes().hex())
    check_equal("fc.weight is changed", read["fc.weight"]["hex"] != written["fc.weight"]["hex"], True)
    print(f"{len(NAMES)} tensors agree in both directions, bit for bit")


if __name__ == "__main__":
    try:
        main()
    except Mismatch as mismatch:
        sys.exit(f"check_weights: {mismatch}")
