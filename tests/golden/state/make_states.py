#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden state files next to this script, with TensorFlow.

  python3 make_states.py
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
update_checkpoint_state = tf.compat.v1.train.update_checkpoint_state

os.chdir(HERE)
# As by a Saver, in a relative directory: relative paths lose it, absolute ones stay.
update_checkpoint_state(".", "./model.ckpt-200", ["/elsewhere/model.ckpt-50", "./model.ckpt-100"],
                        latest_filename="saver")
# As by a CheckpointManager.
update_checkpoint_state(".", "ckpt-3", ["ckpt-2", "ckpt-3"], latest_filename="manager",
                        all_model_checkpoint_timestamps=[1700000000.25, 1700003600.0],
                        last_preserved_timestamp=1699999999.0)
# Names that must be quoted.
name = 'a "b"\\c\té\n-7'
update_checkpoint_state(".", name, [name], latest_filename="quoted")
