#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The training of bench/libtorch_checkpoint.cc, saved by PyTorch and torch_checkpointing.

The net, the optimizer, the arithmetic and the options are the same, and so is the JSON;
checkpoint_save.py defines what is measured. Peers that copy the state while the next step computes
make Adam wait for the copy, as their documents advise.

  python bench/peers/libtorch_checkpoint.py --peer dcp_stager [--bytes N] [--batch N] [--saves N]
"""

import json
import math
import os
import statistics
import time

import torch
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

from checkpoint_save import make_parser, measure

TENSORS_OF_A_LAYER = 3  # Its weight, and Adam's two averages for it.


class Net(torch.nn.Module):
  """Layers of the same size."""

  def __init__(self, depth, width):
    super().__init__()
    for i in range(depth):
      layer = torch.nn.Linear(width, width, bias=False)
      torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
      self.add_module(f"layer{i}", layer)

  def forward(self, x):
    for layer in self.children():
      x = torch.relu(layer(x))
    return x


class Training:
  """The training without any saves."""

  package = "torch"

  def __init__(self, options):
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    self.directory = options.dir
    depth = max(1, options.variables // TENSORS_OF_A_LAYER)
    floats = options.bytes // 4 // (TENSORS_OF_A_LAYER * depth)
    self._shape = (options.batch, max(8, math.isqrt(floats) // 8 * 8))
    self.net = Net(depth, self._shape[1])
    self.adam = torch.optim.Adam(self.net.parameters(), lr=1e-4)
    self._variables = TENSORS_OF_A_LAYER * depth
    self._threads = options.threads
    self._passes, self._losses = [], []  # Seconds; of the first steps.

  def step(self):
    start = time.perf_counter()
    x, y = torch.randn(self._shape), torch.randn(self._shape)
    self.net.zero_grad(set_to_none=False)  # Steps that allocate gradients vary more.
    loss = torch.nn.functional.mse_loss(self.net(x), y)
    loss.backward()
    self._passes.append(time.perf_counter() - start)
    self.update()
    if len(self._losses) < 3:
      self._losses.append(loss.item())

  def update(self):
    self.adam.step()

  def report(self):
    return {"bytes": self._variables * self._shape[1]**2 * 4, "variables": self._variables,
            "threads": self._threads, "passes_s": statistics.median(self._passes),
            "losses": self._losses}

  def state(self):
    return {"net": self.net.state_dict(), "adam": self.adam.state_dict()}

  def take(self, state):
    self.net.load_state_dict(state["net"])
    self.adam.load_state_dict(state["adam"])

  def place(self, number):
    return os.path.join(self.directory, f"step-{number}")

  def files(self, place):
    if os.path.isfile(place):
      return [place]
    return [os.path.join(root, f) for root, _, names in os.walk(place) for f in names]


class TorchSave(Training):
  """torch.save: the call returns when the file is written."""

  def save(self, number):
    place = self.place(number)
    torch.save(self.state(), place)
    return place

  def is_complete(self, place):
    return os.path.exists(place)

  def restore(self, place):
    self.take(torch.load(place))


class Dcp(Training):
  """torch.distributed.checkpoint.async_save in a group of one process, as its documents begin."""

  keywords = {}

  def __init__(self, options):
    super().__init__(options)
    store = os.path.join(self.directory, "store")
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0,
                                         world_size=1)
    self._saved = None

  def start(self, place):
    """The future of a save."""
    return dcp.async_save(self.state(), checkpoint_id=place, **self.keywords)

  def save(self, number):
    place = self.place(number)
    self._saved = self.start(place)
    return place

  def is_complete(self, _place):
    return self._saved.done()

  def finish(self):
    self._saved.result()

  def restore(self, place):
    state = self.state()
    dcp.load(state, checkpoint_id=place)
    self.take(state)


class DcpStager(Dcp):
  """The same with a DefaultStager that keeps its memory and copies while the next step computes."""

  shares_memory = False

  def __init__(self, options):
    super().__init__(options)
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


class TorchCheckpointing(Training):
  """CheckpointManager of torch_checkpointing, as its documents configure it without a GPU."""

  package = "torch_checkpointing"
  writers = 1

  def __init__(self, options):
    super().__init__(options)
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
    self._saved = None

  def update(self):
    with self._manager.lock():
      super().update()

  def save(self, number):
    place = self.place(number)
    self._saved = self._manager.save(place, self.state())
    return place

  is_complete = Dcp.is_complete
  finish = Dcp.finish

  def restore(self, place):
    # None: the whole state of the optimizer.
    state = self._manager.load(place, into={"net": self.net.state_dict(), "adam": None})
    self.adam.load_state_dict(state["adam"])

  def close(self):
    self._manager.close()


class TorchCheckpointing2(TorchCheckpointing):
  """The same with two threads that write, one for the net and one for the optimizer."""

  writers = 2


PEERS = {
    "torch_save": TorchSave,
    "dcp_async": Dcp,
    "dcp_stager": DcpStager,
    "dcp_process": DcpProcess,
    "torch_checkpointing": TorchCheckpointing,
    "torch_checkpointing_2": TorchCheckpointing2,
}


def main():
  parser = make_parser(__doc__, PEERS)
  parser.add_argument("--batch", type=int, default=64, help="examples in a step")
  parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
  options = parser.parse_args()
  print(json.dumps(measure(options, lambda: PEERS[options.peer](options))))


if __name__ == "__main__":
  main()  # Peers start processes, which import this file.
