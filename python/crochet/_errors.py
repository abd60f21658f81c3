# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The errors of crochet. Each is also the exception of Python that comes closest."""

from __future__ import annotations

from . import _crochet


class Error(Exception):
    """The base of all errors of crochet: one line that names what, where, found and expected."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class CancelledError(Error): ...
class UnknownError(Error): ...
class InvalidArgumentError(Error, ValueError): ...
class DeadlineExceededError(Error, TimeoutError): ...
class NotFoundError(Error, KeyError): ...
class AlreadyExistsError(Error, ValueError): ...
class PermissionDeniedError(Error, PermissionError): ...
class ResourceExhaustedError(Error, MemoryError): ...
class FailedPreconditionError(Error, RuntimeError): ...
class AbortedError(Error, RuntimeError): ...
class OutOfRangeError(Error, IndexError): ...
class UnimplementedError(Error, NotImplementedError): ...
class InternalError(Error, RuntimeError): ...
class UnavailableError(Error, OSError): ...
class DataLossError(Error, OSError): ...
class UnauthenticatedError(Error, PermissionError): ...


# By TensorFlow's canonical codes.
_crochet.set_error_classes(
    {
        1: CancelledError,
        2: UnknownError,
        3: InvalidArgumentError,
        4: DeadlineExceededError,
        5: NotFoundError,
        6: AlreadyExistsError,
        7: PermissionDeniedError,
        8: ResourceExhaustedError,
        9: FailedPreconditionError,
        10: AbortedError,
        11: OutOfRangeError,
        12: UnimplementedError,
        13: InternalError,
        14: UnavailableError,
        15: DataLossError,
        16: UnauthenticatedError,
    }
)
