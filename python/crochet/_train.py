# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Saving, and loops that resume."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from . import _crochet
from ._errors import FailedPreconditionError
from ._hooks import Hook, StopAtStepHook
from ._state import states

Ticket = _crochet.Ticket
"""Follows a save: prefix, step, stage, num_bytes, seconds(stage), wait(stage)."""


# The options of C++ that arguments stand for.
_PATHS = {
    name: f"checkpoint.{path}"
    for name, path in {
        "every_steps": "every_steps",
        "every_secs": "every_secs",
        "budget_percent": "budget_percent",
        "fast_dir": "fast_dir",
        "deadline_secs": "saving.deadline_secs",
        "max_to_keep": "saver.max_to_keep",
        "keep_every_n_steps": "saver.keep_checkpoint_every_n_steps",
        "keep_best": "saver.keep_best",
        "format": "saver.format",
        "fallback_dir": "saver.fallback_dir",
        "share_unchanged": "saver.share_unchanged",
    }.items()
} | {"restore_from": "restore.from", "curves_every_steps": "summaries.every_steps"}


def _options(given: dict[str, Any]) -> dict[str, str]:
    """By their paths, as texts; without those that are not set."""

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return " ".join(value) if isinstance(value, tuple) else str(value)

    return {_PATHS[name]: text(value) for name, value in given.items() if value is not None}


class Saver:
    """Saves states to a directory in the background, keeps the newest, and restores them.

    A state is a dict: of arrays of NumPy, tensors of torch, numbers, texts, lists and dicts, and of
    objects with state_dict() and load_state_dict(). It may change once save() has returned.

    >>> import crochet, numpy
    >>> state = {"weights": numpy.ones(3), "epoch": 7}
    >>> with crochet.Saver("runs/saved") as saver:
    ...     ticket = saver.save(100, state, metrics={"loss": 0.5})
    >>> ticket.stage
    'published'
    >>> state["weights"][:] = 0
    >>> crochet.Saver("runs/saved").restore(state)
    100
    >>> state["weights"]
    array([1., 1., 1.])
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        max_to_keep: int = 5,
        keep_every_n_steps: int | None = None,
        keep_best: tuple[str, str] | None = None,
        format: str = "bundle",
        fallback_dir: str | None = None,
        share_unchanged: bool = True,
    ) -> None:
        """`keep_best` is ("accuracy", "higher"); `format` "bundle" or "safetensors"."""
        given = {name: value for name, value in locals().items() if name in _PATHS}
        self._saver = _crochet.Saver(os.fspath(directory), _options(given))
        os.makedirs(directory, exist_ok=True)

    def save(self, step: int, state: dict[str, Any], metrics: dict[str, float] | None = None) -> Ticket:
        """Copies the state and returns; a thread writes it. Waits for an earlier save to end."""
        return self._saver.save(step, states(state), metrics or {})

    def restore(self, state: dict[str, Any], prefix: str | None = None) -> int | None:
        """Restores the newest sound checkpoint, or one by name, into the state. Its step, or None.

        Arrays are filled in place, and entries that cannot be changed are replaced in the dict.
        """
        return self._saver.restore(states(state), prefix)

    def record_metrics(self, prefix: str, metrics: dict[str, float]) -> None:
        """Adds metrics to a checkpoint that exists, as those of an evaluation."""
        self._saver.record_metrics(prefix, metrics)

    def pin(self, prefix: str, pinned: bool = True) -> None:
        """Keeps a checkpoint from being removed."""
        self._saver.pin(prefix, pinned)

    def wait(self, deadline_secs: float | None = None) -> None:
        """Returns once all saves are published or have failed. Raises DeadlineExceededError."""
        self._saver.wait(deadline_secs)

    def close(self, deadline_secs: float | None = None) -> None:
        """The same; after the deadline, what is left is written as long as the process lives."""
        self._saver.close(deadline_secs)

    def __enter__(self) -> Saver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class RunReport:
    """How a run ended."""

    first_step: int
    last_step: int
    resumed_from: int | None
    reason: str
    saves: int
    failed_saves: int
    signal: int
    exit_code: int  # 0, or 128 + the signal that ended it.
    text: str

    def __str__(self) -> str:
        return self.text


class Loop:
    """The steps of a run that resumes where it was, however it ended.

    >>> import crochet, numpy
    >>> state = {"weights": numpy.zeros(2)}
    >>> for step in crochet.Loop("runs/loop", state, until=10):
    ...     state["weights"] += step
    >>> state["weights"]
    array([55., 55.])

    What the program does between two steps of the iteration is one step. To end the run early, call
    request_stop(); a loop that is left by `break` needs finish(), or a `with`, to be saved. An
    exception leaves the last checkpoint as it is.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        state: dict[str, Any],
        *,
        until: int | None = None,
        hooks: Sequence[Any] = (),
        scalars: dict[str, Callable[[], float | None]] | None = None,
        hyperparameters: dict[str, Any] | None = None,
        every_steps: int | None = None,
        every_secs: float | None = None,
        budget_percent: float | None = None,
        fast_dir: str | None = None,
        deadline_secs: float | None = None,
        restore_from: str | None = None,
        curves_every_steps: int | None = None,
        max_to_keep: int = 5,
        keep_every_n_steps: int | None = None,
        keep_best: tuple[str, str] | None = None,
        format: str = "bundle",
        fallback_dir: str | None = None,
    ) -> None:
        """`until` is the last step. `scalars` are numbers for hooks, and curves."""
        given = {name: value for name, value in locals().items() if name in _PATHS}
        all_hooks = [*hooks, StopAtStepHook(last_step=until)] if until is not None else list(hooks)
        held = [hook._held() if isinstance(hook, Hook) else hook for hook in all_hooks]
        self._loop = _crochet.Loop(os.fspath(directory), _options(given), held)
        for name, value in states(state):
            self._loop.track(name, value)
        for name, compute in (scalars or {}).items():
            self._loop.scalar(name, compute)
        for name, value in (hyperparameters or {}).items():
            self._loop.hyperparameter(name, value)
        self._step: int | None = None
        self._report: RunReport | None = None
        self._stop: str | None = None
        self._save: str | None = None

    @property
    def step(self) -> int:
        """The number of completed steps; restores on first use."""
        if self._step is None:
            self._step = self._loop.start()
        return self._step

    @property
    def report(self) -> RunReport:
        """How the run ended."""
        if self._report is None:
            raise FailedPreconditionError("Loop.report: the run has not ended: call finish()")
        return self._report

    def __iter__(self) -> Iterator[int]:
        """The numbers of the steps, from 1 on."""
        number = self.step
        while not self._loop.should_stop():
            number += 1
            yield number
            if self._report is not None:  # finish() was called.
                return
            stop, save = self._stop, self._save
            self._stop = self._save = None
            self._loop.end_step(stop, save)
            self._step = number
        self.finish()

    def request_stop(self, reason: str) -> None:
        """Ends the run after this step, for good."""
        self._stop = self._stop or reason

    def request_save(self, reason: str = "requested by the step") -> None:
        """Saves a checkpoint after this step."""
        self._save = self._save or reason

    def finish(self) -> RunReport:
        """Ends the run, with a last checkpoint of the steps that are complete."""
        if self._report is None:
            self._report = RunReport(**self._loop.finish())
        return self._report

    def __enter__(self) -> Loop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._step is not None:
            self.finish()
