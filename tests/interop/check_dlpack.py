#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Passes NumPy arrays to crochet by DLPack and back.

    check_dlpack.py <the library built from dlpack_exchange.cc>
"""

import ctypes
import sys
import weakref

import numpy

capsules = ctypes.pythonapi
capsules.PyCapsule_GetPointer.restype = ctypes.c_void_p
capsules.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
capsules.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
capsules.PyCapsule_New.restype = ctypes.py_object
capsules.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Given:
    """A tensor exported by crochet, with the interface that NumPy expects."""

    def __init__(self, library):
        self.library = library

    def __dlpack__(self, **_):
        return capsules.PyCapsule_New(self.library.exchange_give(), b"dltensor", None)

    def __dlpack_device__(self):
        return (1, 0)  # The CPU.


class Array(numpy.ndarray):
    """An array that a weak reference can watch."""


def load(path):
    library = ctypes.CDLL(path)
    library.exchange_take.restype = ctypes.c_char_p
    library.exchange_take.argtypes = [ctypes.c_void_p]
    library.exchange_give.restype = ctypes.c_void_p
    library.exchange_address.restype = ctypes.c_void_p
    return library


def take(library, array):
    capsule = array.__dlpack__()
    managed = capsules.PyCapsule_GetPointer(capsule, b"dltensor")
    capsules.PyCapsule_SetName(capsule, b"used_dltensor")
    return library.exchange_take(managed).decode()


def check_types(library):
    for name in ("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
                 "complex64 complex128 bool").split():
        array = (numpy.arange(60).reshape(3, 4, 5) % 2).astype(name)
        found = take(library, array)
        assert found == f"{name} [3,4,5]", found
        back = numpy.from_dlpack(Given(library))
        assert back.dtype == ("uint8" if name == "bool" else name), (name, back.dtype)
        numpy.testing.assert_array_equal(back, array)


def check_orders(library):
    array = numpy.arange(60, dtype="float32").reshape(3, 4, 5)
    views = [array.T, array[::2], array[:, ::-1, 1:4], array[1, 2, 3, ...], array[:0],
             numpy.lib.stride_tricks.as_strided(array, (2, 5), (0, 4)), numpy.asfortranarray(array)]
    for view in views:
        take(library, view)
        numpy.testing.assert_array_equal(numpy.from_dlpack(Given(library)), view)


def check_ownership(library):
    array = numpy.arange(60, dtype="float32").view(Array)
    watched = weakref.ref(array)
    take(library, array)
    assert library.exchange_address() == array.ctypes.data, "borrowed"
    back = numpy.from_dlpack(Given(library))
    library.exchange_zero()
    assert library.exchange_address() != array.ctypes.data, "a write copies first"
    assert array[1] == 1 and back[1] == 1
    del array
    assert watched() is not None, "the exported tensor keeps it alive"
    del back
    assert watched() is None, "nobody holds it any more"


def main():
    library = load(sys.argv[1])
    check_types(library)
    check_orders(library)
    check_ownership(library)
    library.exchange_drop()


if __name__ == "__main__":
    main()
