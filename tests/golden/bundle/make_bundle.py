#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden bundles next to this script, with TensorFlow.

  python3 make_bundle.py

golden_bundle_test.cc knows the values: element i of `types/<type>` is i - 2 for signed
types, i for unsigned ones, i % 2 for bool and i + (i + 1)j for complex ones.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = [
    tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.complex64, tf.int64, tf.bool,
    tf.bfloat16, tf.uint16, tf.complex128, tf.half, tf.uint32, tf.uint64,
]
QUANTIZED = [(tf.qint8, tf.int8), (tf.quint8, tf.uint8), (tf.qint32, tf.int32), (tf.qint16, tf.int16),
             (tf.quint16, tf.uint16)]


def values(dtype, shape=(2, 3)):
    indices = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if dtype == tf.bool:
        array = indices % 2 == 1
    elif dtype.is_complex:
        array = indices + 1j * (indices + 1)
    elif dtype.is_unsigned:
        array = indices
    else:
        array = indices - 2
    return tf.constant(array.astype(dtype.as_numpy_dtype))


def all_types():
    tensors = {"types/" + t.name: values(t) for t in TYPES}
    for quantized, plain in QUANTIZED:
        tensors["types/" + quantized.name] = tf.bitcast(values(plain), quantized)
    tensors["empty"] = tf.zeros([0, 5])
    tensors["global_step"] = tf.constant(7, tf.int64)
    tensors["high_rank"] = values(tf.int32, (1, 2, 1, 3, 1, 1))
    tensors["tags"] = tf.constant(["ab", "", "x" * 200])
    names = sorted(tensors)
    tf.raw_ops.SaveV2(prefix=os.path.join(HERE, "types"), tensor_names=names,
                      shape_and_slices=[""] * len(names), tensors=[tensors[n] for n in names])


def two_shards():
    with tf.Graph().as_default(), tf.compat.v1.Session(
            config=tf.compat.v1.ConfigProto(device_count={"CPU": 2})) as session:
        for device in range(2):
            with tf.device(f"/cpu:{device}"):
                tf.compat.v1.get_variable(f"shard{device}/w", use_resource=False,
                                          initializer=values(tf.float32) + 10 * device)
        with tf.device("/cpu:0"):
            tf.compat.v1.get_variable("parts", shape=[4, 2], use_resource=False,
                                      initializer=tf.compat.v1.ones_initializer(),
                                      partitioner=tf.compat.v1.fixed_size_partitioner(2))
        session.run(tf.compat.v1.global_variables_initializer())
        saver = tf.compat.v1.train.Saver(sharded=True)
        saver.save(session, os.path.join(HERE, "sharded"), write_meta_graph=False,
                   write_state=False)


def slices():
    places = {
        "columns": (values(tf.half, (4, 3)), ["0,4:0,1", "0,4:1,2"]),
        "grid": (values(tf.int32, (4, 4)), ["0,2:0,3", "0,2:3,1", "2,2:0,3", "2,2:3,1"]),
        "words": (tf.constant(["in", "slices", "too"]), ["0,1", "1,2"]),
    }
    names, specs, tensors = [], [], []
    for name, (tensor, slices_of_it) in places.items():
        for place in slices_of_it:
            ranges = [[int(number) for number in part.split(",")] for part in place.split(":")]
            names.append(name)
            specs.append(" ".join(str(size) for size in tensor.shape) + " " + place)
            tensors.append(tensor[tuple(slice(start, start + length) for start, length in ranges)])
    tf.raw_ops.SaveV2(prefix=os.path.join(HERE, "slices"), tensor_names=names,
                      shape_and_slices=specs, tensors=tensors)


all_types()
two_shards()
slices()
