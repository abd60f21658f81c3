#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden files of torch.save and torch.jit.save into the directory that this script is in.

Next to each is a safetensors file with the same tensors, for the tests to compare.
"""

import argparse
import collections
import datetime
import enum
import os
import pathlib

import numpy
import torch
from safetensors.torch import save_file, save_model

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
TYPES = [
    torch.bfloat16, torch.bool, torch.complex64, torch.float16, torch.float32, torch.float64, torch.int16,
    torch.int32, torch.int64, torch.int8, torch.uint16, torch.uint32, torch.uint64, torch.uint8,
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
]  # fmt: skip


def path(name):
    return os.path.join(DIRECTORY, name)


def counting(dtype, shape):
    """Bytes that count from 0; for bool, 0 and 1."""
    size = torch.empty(shape, dtype=dtype).nbytes
    modulus = 2 if dtype is torch.bool else 256
    return torch.tensor([i % modulus for i in range(size)], dtype=torch.uint8).view(dtype).reshape(shape)


def type_name(dtype):
    return str(dtype).removeprefix("torch.")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        self.norm = torch.nn.BatchNorm1d(2)
        self.head = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False))

    def forward(self, x):
        return self.head(self.norm(self.fc(x)))


class Color(enum.Enum):
    RED = 1


class Weights(dict):
    """As Lightning's hyperparameters: a dict of a class of its own."""


Point = collections.namedtuple("Point", ["x", "y"])


def trainer():
    """What a trainer adds to the state_dict, and what crochet reads or lists of it."""
    cycle = {"inner": [1, "two"]}
    cycle["inner"].append(cycle)
    slots = Weights(a=torch.ones(1), b=2)
    slots.attribute = "left out"
    return {
        "model": {"w": counting(torch.float32, (2, 2))},
        "args": argparse.Namespace(lr=0.5, layers=[2, 3], path=pathlib.PurePosixPath("x")),
        "best": numpy.float64(0.75),
        "bytes": b"x",
        "color": Color.RED,
        "complex": 1j,
        "cycle": cycle,
        "date": datetime.datetime(2024, 1, 1),
        "default": collections.defaultdict(int, {"a": 1}),
        "deque": collections.deque([1, 2]),
        "expanded": torch.zeros(1).expand(4096, 4096),
        "function": torch.nn.functional.relu,
        "huge": 1 << 70,
        "hyper": slots,
        "keys": {("a", 1): 1, True: 2, 2.5: 3, None: 4, 7: 5, "": 6, frozenset([1]): 7},
        "large": (1 << 64) - 1,
        "module": torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False)),
        "numpy": numpy.ones(3),
        "point": Point(torch.ones(1), 2),
        "range": range(3),
        "rng": torch.get_rng_state()[:4],
        "set": {1, 2},
        "seed": 1 << 63,
        "sparse": torch.ones(2).to_sparse(),
        "twice/a": 1,
        "twice": {"a": 2},
        "version": torch.__version__,
    }


def save_trainers():
    torch.save(trainer(), path("trainer.pt"))
    for protocol in (3, 4, 5):
        torch.save(trainer(), path(f"trainer{protocol}.pt"), pickle_protocol=protocol)
    torch.save(trainer(), path("trainer_legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save(views(), path("views_legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save(views(), path("views_legacy4.pt"), _use_new_zipfile_serialization=False, pickle_protocol=4)


def save_both(name, tensors):
    """A file of each package; safetensors takes neither views nor shared memory."""
    torch.save(tensors, path(name + ".pt"))
    save_file({key: value.detach().clone().contiguous() for key, value in tensors.items()}, path(name + ".safetensors"))


def views():
    grid = counting(torch.float32, (4, 6))
    return {
        "whole": grid,
        "again": grid,
        "transposed": grid.t(),
        "row": grid[2],
        "column": grid[:, 1],
        "block": grid[1:3, 2:5],
        "every_second": grid[::2, ::3],
        "expanded": grid[:1].expand(3, 6),
        "channels_last": counting(torch.int16, (1, 2, 3, 2)).to(memory_format=torch.channels_last),
        "element": grid[3, 5],
        "empty": grid[:, 6:],
        "no_elements": torch.zeros(0, 5),
    }


def main():
    torch.manual_seed(7)
    save_both("types", {f"types/{type_name(dtype)}": counting(dtype, (2, 3)) for dtype in TYPES})
    save_both("views", views())
    # Torch counts bytes here, safetensors elements.
    save_file({"w": counting(torch.uint8, (2, 4)).view(torch.float4_e2m1fn_x2)}, path("packed.safetensors"))
    net = Net()
    net.tied = net.fc.weight
    save_both("state_dict", net.state_dict())
    save_model(net, path("shared.safetensors"))

    optimizer = torch.optim.Adam(Net().parameters(), lr=0.125)
    optimizer.param_groups[0]["params"][0].grad = torch.ones(2, 3)
    optimizer.step()
    torch.save(
        {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "best": 0.75, "name": "net",
         "done": False, "nothing": None, "shape": torch.Size([2, 3]), "device": torch.device("cpu"),
         "dtype": torch.float32, "large": 1 << 40, "negative": -300, "mixed": [1, "two", torch.tensor([3.0])],
         "parameter": torch.nn.Parameter(torch.ones(2)), "names": ["a", "b"], "empty": [], "flags": (True, False),
         "by_number": collections.OrderedDict({-1: torch.tensor(4, dtype=torch.int32)})},
        path("checkpoint.pt"))  # fmt: skip
    torch.save(counting(torch.int64, (2,)), path("tensor.pt"))

    script = Net()
    script.eval()
    torch.jit.save(torch.jit.script(script), path("script.pt"))
    save_file({key: value.clone() for key, value in script.state_dict().items()}, path("script.safetensors"))

    # Written by make_libtorch.cc.
    module = torch.jit.load(path("libtorch_module.pt")).state_dict()
    save_file({key: value.clone() for key, value in module.items()}, path("libtorch_module.safetensors"))

    save_trainers()
    torch.save(Net(), path("module.pt"))
    torch.save({"w": torch.ones(2)}, path("legacy.pt"), _use_new_zipfile_serialization=False)

    # What crochet lists as unreadable.
    torch.save({"w": torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8)}, path("quantized.pt"))
    torch.save({"w": torch.ones(2).to_sparse()}, path("sparse.pt"))
    torch.save({"w": torch.ones(2, dtype=torch.complex64).conj()}, path("conjugated.pt"))
    torch.serialization.set_crc32_options(False)
    torch.save({"w": torch.ones(2)}, path("no_crc.pt"))


if __name__ == "__main__":
    main()
