#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Ways to save the state of a PyTorch program, to be mixed into a training.

A training has `directory`, state() and take(state), and step(), which calls update() where it changes
the state. Ways that copy the state while the next step computes make update() wait for the copy, as
their documents advise.
"""

import os

import torch
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType


class Saver:
  """The base of all."""

  package = "torch"

  def place(self, number):
    return os.path.join(self.directory, f"step-{number}")

  def is_complete(self, place):
    return os.path.exists(place)

  def files(self, place):
    if os.path.isfile(place):
      return [place]
    return [os.path.join(root, f) for root, _, names in os.walk(place) for f in names]


class TorchSave(Saver):
  """torch.save: the call returns when the file is written."""

  def save(self, number):
    place = self.place(number)
    torch.save(self.state(), place)
    return place

  def restore(self, place):
    self.take(torch.load(place))


class Safetensors(Saver):
  """safetensors.torch.save_file, for a state of tensors."""

  package = "safetensors"

  def save(self, number):
    from safetensors.torch import save_file  # pylint: disable=import-outside-toplevel
    place = self.place(number)
    save_file(self.state(), place)
    return place

  def restore(self, place):
    from safetensors.torch import load_file  # pylint: disable=import-outside-toplevel
    self.take(load_file(place))


class AsyncSaver(Saver):
  """The base of those whose start(place) returns the future of a save."""

  def save(self, number):
    place = self.place(number)
    self._saved = self.start(place)
    return place

  def is_complete(self, _place):
    return self._saved.done()

  def finish(self):
    self._saved.result()


class Dcp(AsyncSaver):
  """torch.distributed.checkpoint.async_save in a group of one process, as its documents begin."""

  keywords = {}

  def __init__(self, *arguments):
    super().__init__(*arguments)
    store = os.path.join(self.directory, "store")
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0,
                                         world_size=1)

  def start(self, place):
    return dcp.async_save(self.state(), checkpoint_id=place, **self.keywords)

  def restore(self, place):
    state = self.state()
    dcp.load(state, checkpoint_id=place)
    self.take(state)

  def close(self):
    torch.distributed.destroy_process_group()  # Its threads may otherwise end the process with an abort.


class DcpStager(Dcp):
  """The same with a DefaultStager that keeps its memory and copies while the next step computes."""

  shares_memory = False

  def __init__(self, *arguments):
    super().__init__(*arguments)
    self._stager = DefaultStager(StagingOptions(
        use_pinned_memory=False, use_shared_memory=self.shares_memory, use_async_staging=True,
        use_non_blocking_copy=False))
    self._staged = None

  def start(self, place):
    response = dcp.async_save(self.state(), checkpoint_id=place, async_stager=self._stager,
                              **self.keywords)
    self._staged = response.staging_completion
    return response.upload_completion

  def update(self):
    if self._staged:
      self._staged.result()
      self._staged = None
    super().update()


class DcpProcess(DcpStager):
  """The same with a process that writes, and memory that both processes share."""

  shares_memory = True
  keywords = {"async_checkpointer_type": AsyncCheckpointerType.PROCESS}


class TorchCheckpointing(AsyncSaver):
  """CheckpointManager of torch_checkpointing, as its documents configure it without a GPU."""

  package = "torch_checkpointing"
  writers = 1

  def __init__(self, *arguments):
    super().__init__(*arguments)
    import torch_checkpointing as tc  # pylint: disable=import-outside-toplevel
    from torch_checkpointing.storage.filesystem import (  # pylint: disable=import-outside-toplevel
        LocalFileSystemStorageConfig)
    staging = tc.CheckpointStagerConfig(use_pinned_memory=False, use_non_blocking_copy=False)
    self._manager = tc.CheckpointManager(tc.CheckpointManager.Config(
        save=tc.AsyncCheckpointSaverConfig(
            staging_config=staging,
            writer_config=tc.CheckpointWriterConfig(file_write_max_threads=self.writers)),
        # Its O_DIRECT writes are not aligned, which most file systems refuse.
        storage_config=LocalFileSystemStorageConfig(use_direct_io=False)))

  def update(self):
    with self._manager.lock():
      super().update()

  def start(self, place):
    return self._manager.save(place, self.state())

  def restore(self, place):
    self.take(self._manager.load(place, into=self.into()))

  def into(self):
    """For each key of the state, what its value is loaded into, or None."""
    return self.state()

  def close(self):
    self._manager.close()


class TorchCheckpointing2(TorchCheckpointing):
  """The same with two threads that write; each writes the values of one or more keys of the state."""

  writers = 2


class TorchSnapshot(AsyncSaver):
  """Snapshot.async_take of TorchSnapshot, which copies the state before the call returns."""

  package = "torchsnapshot"

  def __init__(self, *arguments):
    super().__init__(*arguments)
    import torchsnapshot  # pylint: disable=import-outside-toplevel
    self._torchsnapshot = torchsnapshot

  def _app_state(self):
    return {"state": self._torchsnapshot.StateDict(**self.state())}

  def start(self, place):
    return self._torchsnapshot.Snapshot.async_take(place, self._app_state())

  def finish(self):
    self._saved.wait()

  def restore(self, place):
    app_state = self._app_state()
    self._torchsnapshot.Snapshot(place).restore(app_state)
    self.take(dict(app_state["state"]))
