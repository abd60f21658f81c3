# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a Trainer of Lightning, written in the background.

    checkpoint = crochet.lightning.Checkpoint("runs/x", every_n_steps=100)
    trainer = Trainer(callbacks=[checkpoint], enable_checkpointing=False)
    trainer.fit(model, ckpt_path=checkpoint.path)    # resumes; without a checkpoint, path=None
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.plugins import TorchCheckpointIO

from . import Saver, checkpoints, open

# As functions whose state is got and set.
_GENERATORS = {"python": random.getstate, "numpy": np.random.get_state, "torch": torch.get_rng_state}


class _IO(TorchCheckpointIO):
    def load_checkpoint(self, path: Any, *args: Any, **more: Any) -> dict[str, Any]:
        if "model.ckpt-" not in str(path):
            return super().load_checkpoint(path, *args, **more)
        state: dict[str, Any] = {"lightning": {}, "generators": dict(_GENERATORS)}
        Saver(str(path).rpartition("/")[0]).restore(state, str(path))
        return state["lightning"]


class Checkpoint(Callback):
    """Saves the state of the Trainer every n steps, and of Python's, NumPy's and torch's generators."""

    def __init__(self, directory: str, *, every_n_steps: int = 100, **options: Any) -> None:
        self.directory, self.every_n_steps, self.options = directory, every_n_steps, options
        self._saver: Saver | None = None
        self._saved = -1

    @property
    def path(self) -> str | None:
        """The newest sound checkpoint."""
        return open(self.directory).prefix if checkpoints(self.directory) else None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        trainer.strategy.checkpoint_io = _IO()
        self._saver = Saver(self.directory, **self.options) if trainer.is_global_zero else None

    def _save(self, trainer: Trainer) -> None:
        state = trainer._checkpoint_connector.dump_checkpoint(weights_only=False)  # In each rank.
        if self._saver is not None and trainer.global_step != self._saved:
            metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
            self._saver.save(trainer.global_step, {"lightning": state, "generators": dict(_GENERATORS)}, metrics)
            self._saved = trainer.global_step

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        if trainer.global_step % self.every_n_steps == 0:
            self._save(trainer)

    def on_train_end(self, trainer: Trainer, *_: Any) -> None:
        self._save(trainer)
        self.on_exception()

    def on_exception(self, *_: Any) -> None:
        if self._saver is not None:
            self._saver.close()
