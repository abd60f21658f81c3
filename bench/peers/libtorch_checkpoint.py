#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The training of bench/libtorch_checkpoint.cc, saved by PyTorch and torch_checkpointing.

The net, the optimizer, the arithmetic and the options are the same, and so is the JSON;
checkpoint_save.py defines what is measured, torch_savers.py the ways to save.

  python bench/peers/libtorch_checkpoint.py --peer dcp_stager [--bytes N] [--batch N] [--saves N]
"""

import json
import math
import statistics
import time

import torch

from checkpoint_save import make_parser, measure
from torch_savers import (Dcp, DcpProcess, DcpStager, TorchCheckpointing, TorchCheckpointing2,
                          TorchSave)

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


class WholeOptimizer(TorchCheckpointing):
  """torch_checkpointing, which does not expect by itself that the state of an optimizer grows."""

  def into(self):
    return {"net": self.net.state_dict(), "adam": None}

  def take(self, state):  # It has loaded into the net itself.
    self.adam.load_state_dict(state["adam"])


class WholeOptimizer2(WholeOptimizer, TorchCheckpointing2):
  """The same with two threads, one for the net and one for the optimizer."""


def training_with(saver):
  return type(saver.__name__, (saver, Training), {})


PEERS = {
    "torch_save": training_with(TorchSave),
    "dcp_async": training_with(Dcp),
    "dcp_stager": training_with(DcpStager),
    "dcp_process": training_with(DcpProcess),
    "torch_checkpointing": training_with(WholeOptimizer),
    "torch_checkpointing_2": training_with(WholeOptimizer2),
}


def main():
  parser = make_parser(__doc__, PEERS)
  parser.add_argument("--batch", type=int, default=64, help="examples in a step")
  parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
  options = parser.parse_args()
  print(json.dumps(measure(options, lambda: PEERS[options.peer](options))))


if __name__ == "__main__":
  main()  # Peers start processes, which import this file.
