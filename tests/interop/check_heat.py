#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow reads an array of which each rank of a job has written a part.

    check_heat.py DIRECTORY

DIRECTORY is that of a run of examples/heat_mpi, with its log.
"""

import pathlib
import re
import sys

import tensorflow as tf

directory = pathlib.Path(sys.argv[1])
prefix = tf.train.latest_checkpoint(str(directory))
parts = list(directory.glob(f"{pathlib.Path(prefix).name}.data-*"))
assert len(parts) == 4, f"found {len(parts)} data files, expected one for each of 4 ranks"
rows = tf.train.load_checkpoint(prefix).get_tensor("plate/rows")
assert rows.shape == (240, 256), rows.shape
logged = re.findall(r"^mean temperature: (\S+)$", (directory / "log").read_text(encoding="utf-8"), re.MULTILINE)[-1]
assert abs(rows.mean() - float(logged)) < 1e-6, f"the mean is {rows.mean()}, the job printed {logged}"
assert (rows[:-1] >= rows[1:]).all(), "the plate is not warmest at its upper edge"
