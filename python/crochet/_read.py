# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Reading checkpoints, curves and the journal of a run."""

from __future__ import annotations

import builtins
import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _crochet
from ._dtypes import array_of, torch_tensor_of
from ._errors import DataLossError, NotFoundError, UnimplementedError


@dataclass(frozen=True)
class TensorInfo:
    """What is known of a value before it is read."""

    dtype: str  # "float32"; "string"; "invalid" for a type that cannot be read.
    shape: tuple[int, ...]


@dataclass(frozen=True)
class CheckpointInfo:
    """A checkpoint by its name and its sidecar; its data is not read."""

    prefix: str
    step: int | None
    time: float  # When it was saved, in seconds since 1970-01-01 UTC.
    bytes: int
    format: str
    metrics: dict[str, float] = field(default_factory=dict)
    pinned: bool = False


class Checkpoint(Mapping[str, np.ndarray]):
    """The values of a checkpoint, by name. Each is read, and verified, when it is asked for.

    A large value is mapped: its array is the file's own pages, which are only for reading, and
    stays valid if the checkpoint is removed. On a file system of another machine, or with
    mmap=False, values are read to memory of their own.
    """

    def __init__(self, prefix: str, *, mmap: bool = True) -> None:
        self._reader = _crochet.Reader(prefix)
        self._maps = mmap and _crochet.may_map(prefix)
        self._tensors = {
            name: TensorInfo(dtype, tuple(shape)) for name, (dtype, shape) in self._reader.tensors().items()
        }

    @property
    def prefix(self) -> str:
        return self._reader.prefix

    @property
    def format(self) -> str:
        """"bundle", "safetensors" or "torch"."""
        return self._reader.format

    @property
    def has_checksums(self) -> bool:
        """Whether every byte is verified: files of other programs may have no checksums."""
        return self._reader.has_checksums

    @property
    def metadata(self) -> dict[str, str]:
        """That of a safetensors file."""
        return self._reader.metadata

    @property
    def tensors(self) -> dict[str, TensorInfo]:
        """Types and shapes by name, without reading a value."""
        return dict(self._tensors)

    @property
    def unreadable(self) -> dict[str, str]:
        """Values that cannot be read, and why."""
        return self._reader.unreadable()

    @property
    def info(self) -> CheckpointInfo:
        return CheckpointInfo(**_crochet.look_at(self.prefix))

    @property
    def step(self) -> int | None:
        return self.info.step

    def __getitem__(self, name: str) -> np.ndarray:
        info = self._info(name)
        read = self._reader.map_verified if self._maps else self._reader.read
        return array_of(self._read(read, name), info.dtype, list(info.shape), name)

    def map(self, name: str) -> np.ndarray:
        """The array of a value of which nothing is read, or verified, until its elements are used.

        For values larger than memory. A file that is truncated while it is mapped ends the process.
        """
        info = self._info(name)
        return array_of(self._read(self._reader.map, name), info.dtype, list(info.shape), name)

    def torch(self, name: str) -> Any:
        """A value as a tensor of torch, with memory of its own; also of types that NumPy lacks."""
        info = self._info(name)
        if info.dtype == "string":
            raise UnimplementedError(f'"{name}": torch has no tensors of strings: use [{name!r}]')
        return torch_tensor_of(self._read(self._reader.read, name), info.dtype, list(info.shape))

    def verify(self) -> None:
        """Reads everything that has a checksum, and compares it. Raises DataLossError."""
        self._reader.verify()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __repr__(self) -> str:
        return f"<crochet.Checkpoint {self.prefix}: {len(self)} values>"

    def _info(self, name: str) -> TensorInfo:
        try:
            return self._tensors[name]
        except KeyError:
            self._reader.read(name)  # Its error has names that are like it.
            raise

    def _read(self, read: Any, name: str) -> Any:
        try:
            return read(name)
        except (DataLossError, NotFoundError):
            if _crochet.exists(self.prefix):
                raise
            raise NotFoundError(f'{self.prefix} was removed before "{name}" was read') from None


def open(
    path: str | os.PathLike[str],
    *,
    step: int | None = None,
    best: str | None = None,
    better: str | None = None,
    mmap: bool = True,
) -> Checkpoint:
    """Opens the newest sound checkpoint of a run's directory, or the one that is named.

    `path` may be a directory, one of the checkpoints in it, also one of TensorFlow's, a safetensors
    file, or a file of torch.save(). `step` chooses one of a directory, and `best` the one with the
    best value of a metric, for which `better` is "higher" or "lower" if the run has not said it.

    >>> import crochet
    >>> run = crochet.open("runs/line")
    >>> run["weights"]
    array([ 1., -2.,  3.], dtype=float32)
    """
    path = os.fspath(path)
    if step is not None or best is not None:
        lower = None if better is None else {"lower": True, "higher": False}[better]
        return Checkpoint(_crochet.chosen(path, step, best, lower), mmap=mmap)
    prefixes = _crochet.newest_first(path)
    damaged: Exception | None = None
    for prefix in prefixes:
        try:
            checkpoint = Checkpoint(prefix, mmap=mmap)
            missing = [why for why in checkpoint.unreadable.values() if "missing" in why]
            if missing and len(prefixes) > 1:
                raise DataLossError(f"{prefix}: {missing[0]}")
        except (DataLossError, NotFoundError) as error:
            damaged = damaged or error
            warnings.warn(f"{prefix} is damaged: {error}", stacklevel=2)
            continue
        return checkpoint
    assert damaged is not None
    raise damaged


def checkpoints(directory: str | os.PathLike[str]) -> list[CheckpointInfo]:
    """The checkpoints of a directory, by step."""
    return [CheckpointInfo(**entry) for entry in _crochet.checkpoints(os.fspath(directory))]


def metrics(directory: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The curves of a run as columns: "step", and one for each curve, NaN where it has no value.

    >>> import crochet
    >>> sorted(crochet.metrics("runs/line"))[-2:]
    ['loss', 'step']
    """
    steps, columns = _crochet.metrics(os.fspath(directory))
    table = {"step": np.array(steps, dtype=np.int64)}
    for name, column in columns.items():
        table[name] = np.array(column, dtype=np.float64)
    return table


def journal(directory: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """What happened to a run, the oldest event first: starts, saves, warnings, ends.

    A line that a power cut has torn is left out.
    """
    events = []
    for name in ("events.old.jsonl", "events.jsonl"):
        path = os.path.join(os.fspath(directory), name)
        if not os.path.isfile(path):
            continue
        with builtins.open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict):
                    events.append(event)
    if not events and not os.path.isdir(os.fspath(directory)):
        raise NotFoundError(f"{os.fspath(directory)}: there is no such directory")
    return events


@dataclass(frozen=True)
class Difference:
    """How two values of the same name differ."""

    name: str
    what: str  # "only in a", "only in b", "type", "shape", "elements" or "equal".
    max_difference: float = 0.0  # Of the elements; infinite if one of them is not a number.
    num_different: int = 0


def diff(a: Checkpoint | str, b: Checkpoint | str) -> list[Difference]:
    """Compares two checkpoints, bit by bit: the values that are not equal, by name."""
    first = a if isinstance(a, Checkpoint) else open(a)
    second = b if isinstance(b, Checkpoint) else open(b)
    differences = []
    for name in sorted({*first, *second}):
        if name not in second:
            differences.append(Difference(name, "only in a"))
        elif name not in first:
            differences.append(Difference(name, "only in b"))
        else:
            found = _difference(name, first, second)
            if found.what != "equal":
                differences.append(found)
    return differences


def _difference(name: str, a: Checkpoint, b: Checkpoint) -> Difference:
    if a.tensors[name].dtype != b.tensors[name].dtype:
        return Difference(name, "type")
    if a.tensors[name].shape != b.tensors[name].shape:
        return Difference(name, "shape")
    x, y = a[name], b[name]
    if x.dtype == object:
        num = int(np.sum(x != y))
        return Difference(name, "elements" if num else "equal", math.inf if num else 0.0, num)
    bits = f"V{x.dtype.itemsize}"
    different = np.ascontiguousarray(x).view(bits) != np.ascontiguousarray(y).view(bits)
    num = int(np.sum(different))
    if num == 0:
        return Difference(name, "equal")
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    with np.errstate(invalid="ignore"):
        largest = float(np.max(np.abs(x.astype(wide) - y.astype(wide))))
    return Difference(name, "elements", math.inf if math.isnan(largest) else largest, num)


def verify(path: str | os.PathLike[str]) -> None:
    """Reads a checkpoint whole, and compares all checksums. Raises DataLossError."""
    Checkpoint(_crochet.chosen(os.fspath(path), None, None, None)).verify()
