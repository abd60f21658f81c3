# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Types of elements: those of crochet, by name, and what NumPy and torch have for them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._errors import DataLossError, InvalidArgumentError, UnimplementedError

# TensorFlow's quantised numbers are integers.
_INTEGERS = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16", "qint32": "int32"}
_NATIVE = frozenset(
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128".split()
)


# Those of ml_dtypes.
_SMALL = frozenset(
    "bfloat16 float8_e5m2 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2fnuz float8_e8m0fnu "
    "float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2".split()
)


def numpy_dtype(name: str) -> np.dtype:
    """NumPy's type for a name. Those that NumPy lacks, such as bfloat16, are in ml_dtypes."""
    name = _INTEGERS.get(name, name)
    if name in _NATIVE:
        return np.dtype(name)
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    except ImportError:
        raise UnimplementedError(
            f"NumPy has no type {name}: install ml_dtypes, or read the value with torch(name)"
        ) from None
    except AttributeError:
        raise UnimplementedError(f"neither NumPy nor ml_dtypes has a type {name}") from None


def name_of(array: np.ndarray, place: str) -> str:
    """crochet's name of the type of an array's elements, which must be usable as they are."""
    dtype = array.dtype
    if dtype.name not in _NATIVE and dtype.name not in _SMALL:
        raise InvalidArgumentError(f'"{place}": found an array of {dtype}, expected numbers')
    big = dtype.byteorder == ">" or dtype.byteorder == "=" and sys.byteorder == "big"
    if big:
        raise InvalidArgumentError(
            f'"{place}": found big-endian {dtype}, expected the order of this machine: '
            f'array.astype("{dtype.newbyteorder("=").name}")'
        )
    if not array.flags.c_contiguous:
        raise InvalidArgumentError(
            f'"{place}": found an array with the strides {array.strides} of the shape {array.shape}, '
            "expected a contiguous one: numpy.ascontiguousarray(array)"
        )
    return dtype.name


def array_of(elements: Any, dtype: str, shape: list[int], place: str) -> np.ndarray:
    """An array of elements as _crochet gives them."""
    if dtype == "string":
        strings = np.empty(len(elements), dtype=object)
        strings[:] = elements
        return strings.reshape(shape)
    if dtype == "bool" and elements.size and elements.max() > 1:
        raise DataLossError(f'"{place}": found a bool that is neither 0 nor 1')
    return elements.view(numpy_dtype(dtype)).reshape(shape)


def torch_dtype(name: str) -> Any:
    import torch

    found = getattr(torch, _INTEGERS.get(name, name), None)
    if not isinstance(found, torch.dtype):
        raise UnimplementedError(f"torch has no type {name}")
    return found


def torch_tensor_of(elements: np.ndarray, dtype: str, shape: list[int]) -> Any:
    """A tensor of torch over the same memory, which must be for writing, too."""
    import torch

    if elements.size == 0:
        return torch.empty(shape, dtype=torch_dtype(dtype))
    return torch.from_numpy(elements).view(torch_dtype(dtype)).reshape(shape)


def torch_name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
