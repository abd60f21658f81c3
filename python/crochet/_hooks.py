# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The hooks of crochet, by their names in C++, and hooks of one's own."""

from __future__ import annotations

import os
import signal as _signal
from collections.abc import Sequence
from typing import Any

from . import _crochet


class Hook:
    """A hook of one's own: override what you need.

    `values` are the names of scalars that after_step() gets.

    >>> import crochet
    >>> class Patience(crochet.Hook):
    ...     values = ("loss",)
    ...     def after_step(self, step, values):
    ...         if values["loss"] < 0.1:
    ...             return "the loss is small"    # ends the run
    """

    values: Sequence[str] = ()

    def begin(self, step: int) -> None:
        """Before the first step of this process; `step` are complete."""

    def after_step(self, step: int, values: dict[str, float | None]) -> str | None:
        """After each step. A text is the reason for which the run is to end."""

    def end(self, step: int) -> None:
        """Once the run has ended cleanly."""

    def _held(self) -> Any:
        return _crochet.python_hook(self, list(self.values), type(self).__name__)


def StopAtStepHook(*, last_step: int) -> Any:
    """Ends the run at a step."""
    return _crochet.named_hook("StopAtStepHook", str(last_step))


def StopAfterHook(*, secs: float) -> Any:
    """Ends this process's part of the run after a time."""
    return _crochet.named_hook("StopAfterHook", str(secs))


def NanTensorHook(loss: str, *, fail_on_nan_loss: bool = True) -> Any:
    """Ends the run, unsaved, when a scalar is not a number."""
    return _crochet.nan_tensor_hook(loss, fail_on_nan_loss)


def LoggingTensorHook(
    values: Sequence[str], *, every_steps: int | None = None, every_secs: float | None = None, at_end: bool = False
) -> Any:
    """Logs scalars."""
    return _crochet.logging_tensor_hook(list(values), every_steps, every_secs, at_end)


def ProgressBarHook(values: Sequence[str] = ()) -> Any:
    """Shows the progress, with scalars."""
    return _crochet.named_hook("ProgressBarHook", " ".join(values))


def _signal_hook(name: str, signals: Sequence[int]) -> Any:
    return _crochet.named_hook(name, " ".join(_signal.Signals(number).name for number in signals))


def SignalHook(signals: Sequence[int] = (_signal.SIGINT, _signal.SIGTERM)) -> Any:
    """Ends the run after the step in which a signal comes, with a last checkpoint."""
    return _signal_hook("SignalHook", signals)


def SaveOnSignalHook(signals: Sequence[int] = (_signal.SIGUSR1,)) -> Any:
    """Saves a checkpoint after the step in which a signal comes."""
    return _signal_hook("SaveOnSignalHook", signals)


def EarlyStoppingHook(
    metric: str, *, better: str, max_steps: int, min_steps: int = 0, run_every_steps: int = 100
) -> Any:
    """Ends the run once a scalar has not become better ("higher", "lower") for max_steps."""
    return _crochet.early_stopping_hook(metric, better, max_steps, min_steps, run_every_steps)


def HealthHook(directory: str | os.PathLike[str] = "") -> Any:
    """Warns of memory and disks that will be full, and of a machine that is not well."""
    return _crochet.named_hook("HealthHook", os.fspath(directory))
