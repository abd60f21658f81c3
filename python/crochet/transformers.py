# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a Trainer of Hugging Face, written in the background.

    checkpoint = crochet.transformers.Checkpoint("runs/x", every_n_steps=100)
    trainer = Trainer(model, TrainingArguments(save_strategy="no"), callbacks=[checkpoint], ...)
    with checkpoint.folder() as folder:                  # None without a checkpoint
        trainer.train(resume_from_checkpoint=folder)
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback

from . import Saver, checkpoints


class Checkpoint(TrainerCallback):
    """Saves model, optimizer, schedule, progress and generators every n steps, and at the end."""

    def __init__(self, directory: str, *, every_n_steps: int = 100, **options: Any) -> None:
        self.directory, self.every_n_steps, self.options = directory, every_n_steps, options
        self._saver: Saver | None = None

    @contextlib.contextmanager
    def folder(self) -> Iterator[str | None]:
        """The newest sound checkpoint as a folder of Hugging Face's, as long as the `with` lasts."""
        state: dict[str, Any] = dict.fromkeys(("model", "optimizer", "schedule", "progress", "generators"))
        if not checkpoints(self.directory) or Saver(self.directory).restore(state) is None:
            yield None
            return
        with tempfile.TemporaryDirectory() as folder:
            torch.save(state["model"], f"{folder}/pytorch_model.bin")
            torch.save(state["optimizer"], f"{folder}/optimizer.pt")
            torch.save(state["schedule"], f"{folder}/scheduler.pt")
            torch.save(state["generators"], f"{folder}/rng_state.pth")
            with open(os.path.join(folder, "trainer_state.json"), "w") as file:
                file.write(state["progress"])
            yield folder

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if not state.is_world_process_zero or state.global_step % self.every_n_steps and not control.should_training_stop:
            return
        self._saver = self._saver or Saver(self.directory, **self.options)
        generators = {"python": random.getstate(), "numpy": np.random.get_state(), "cpu": torch.random.get_rng_state()}
        saved = {
            "model": more["model"].state_dict(),
            "optimizer": more["optimizer"].state_dict(),
            "schedule": more["lr_scheduler"].state_dict(),
            "progress": json.dumps(asdict(state), default=float),
            "generators": generators,
        }
        self._saver.save(state.global_step, saved)

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.close()

    def close(self) -> None:
        """Returns once all saves are written; after an exception of train()."""
        if self._saver is not None:
            self._saver.close()
