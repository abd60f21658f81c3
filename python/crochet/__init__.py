# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Crash-proof checkpoints and exact resume, and what C++ programs have saved with crochet.

open() reads checkpoints, Saver saves them, and Loop makes a training loop that resumes.
"""

from __future__ import annotations

import importlib

from . import _crochet
from ._errors import *  # noqa: F403

TYPE_CHECKING = False  # As checkers of types know it, without an import.
if TYPE_CHECKING:
    from ._hooks import *  # noqa: F403
    from ._read import *  # noqa: F403
    from ._train import *  # noqa: F403

__version__ = _crochet.version

# Imported when they are used: NumPy takes longer to import than all else.
_MODULES = {
    "_read": "Checkpoint CheckpointInfo Difference TensorInfo checkpoints diff journal metrics open verify",
    "_train": "Loop RunReport Saver Ticket",
    "_hooks": "EarlyStoppingHook HealthHook Hook LoggingTensorHook NanTensorHook ProgressBarHook "
    "SaveOnSignalHook SignalHook StopAfterHook StopAtStepHook",
}
_NAMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_NAMES[name]}", __name__)
    globals()[name] = getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
