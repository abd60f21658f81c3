#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The work of trainer.cc with Orbax or torch.distributed.checkpoint.

    peer.py --peer orbax|dcp --dir DIR [the options of trainer.cc]

Saves are asynchronous, as the libraries' documents advise; a checkpoint exists once it has its name.
"""

import argparse
import json
import os
import shutil
import threading
import time

import numpy as np


class Orbax:
  """orbax.checkpoint.CheckpointManager, without compression, over arrays of NumPy."""

  def __init__(self, directory):
    import orbax.checkpoint as ocp  # pylint: disable=import-outside-toplevel
    self._ocp = ocp
    options = ocp.CheckpointManagerOptions(max_to_keep=2, enable_async_checkpointing=True)
    self._manager = ocp.CheckpointManager(
        os.path.abspath(directory), options=options,
        item_handlers=ocp.PyTreeCheckpointHandler(use_compression=False))

  def restore(self, state):
    step = self._manager.latest_step()
    if step is None:
      return 0
    for name, value in self._manager.restore(step).items():
      state[name][...] = value
    return step

  def is_busy(self):
    return self._manager.is_saving_in_progress()

  def save(self, step, state):
    self._manager.save(step, args=self._ocp.args.PyTreeSave(state), force=True)

  def finish(self):
    self._manager.wait_until_finished()


class Dcp:
  """torch.distributed.checkpoint.async_save in one process; a thread names what is complete."""

  def __init__(self, directory):
    import torch  # pylint: disable=import-outside-toplevel
    from torch.distributed import checkpoint as dcp  # pylint: disable=import-outside-toplevel
    self._torch, self._dcp, self._directory = torch, dcp, directory
    store = os.path.join(directory, f"store-{os.getpid()}")
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    self._saving = None

  def _steps(self):
    return sorted(int(n) for n in os.listdir(self._directory) if n.isdigit())

  def _tensors(self, state):
    return {name: self._torch.from_numpy(value) for name, value in state.items()}

  def restore(self, state):
    for name in os.listdir(self._directory):
      if name.endswith(".part"):
        shutil.rmtree(os.path.join(self._directory, name))
    steps = self._steps()
    if not steps:
      return 0
    self._dcp.load(self._tensors(state), checkpoint_id=os.path.join(self._directory, str(steps[-1])))
    return steps[-1]

  def is_busy(self):
    return self._saving is not None and self._saving.is_alive()

  def save(self, step, state):
    part = os.path.join(self._directory, f"{step}.part")
    saved = self._dcp.async_save(self._tensors(state), checkpoint_id=part)

    def publish():
      saved.result()
      os.rename(part, os.path.join(self._directory, str(step)))
      for old in self._steps()[:-2]:
        shutil.rmtree(os.path.join(self._directory, str(old)))

    self._saving = threading.Thread(target=publish)
    self._saving.start()

  def finish(self):
    if self._saving is not None:
      self._saving.join()


class Trainer:
  """Steps and saves, as trainer.cc makes them."""

  def __init__(self, peer, options):
    self._peer, self._options = peer, options
    size = options.bytes // options.variables // 4
    self._state = {f"v{i}": np.zeros(size, np.float32) for i in range(options.variables)}
    self._save_begin, self.save_times = None, []

  def restore(self):
    step = self._peer.restore(self._state)
    if step == 0:
      generator = np.random.default_rng(1)
      for value in self._state.values():
        value[...] = generator.random(value.size, dtype=np.float32)
    return step

  def step(self):
    begin = time.monotonic()
    for value in self._state.values():
      value += 1
    time.sleep(max(0.0, self._options.step_s - (time.monotonic() - begin)))
    self.notice_saved()

  def notice_saved(self):
    if self._save_begin is not None and not self._peer.is_busy():
      self.save_times.append(time.monotonic() - self._save_begin)
      self._save_begin = None

  def save(self, step):
    """Skipped if another one is being written."""
    if self._save_begin is not None:
      return
    self._save_begin = time.monotonic()
    self._peer.save(step, self._state)


def train(peer, options):
  trainer = Trainer(peer, options)
  first = step = trainer.restore()
  begin = last_save = time.monotonic()
  while not options.seconds or time.monotonic() - begin < options.seconds:
    trainer.step()
    step += 1
    if options.save_secs and time.monotonic() - last_save >= options.save_secs:
      last_save = time.monotonic()
      trainer.save(step)
  elapsed = time.monotonic() - begin
  peer.finish()
  trainer.notice_saved()
  times = trainer.save_times
  return {"resumed_from": first, "steps": step - first, "elapsed_s": elapsed, "saves": len(times),
          "save_s": sum(times) / len(times) if times else 0}


PEERS = {"orbax": Orbax, "dcp": Dcp}


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--peer", choices=PEERS, required=True)
  parser.add_argument("--dir", required=True)
  parser.add_argument("--bytes", type=int, default=20 << 20)
  parser.add_argument("--variables", type=int, default=16)
  parser.add_argument("--step-s", type=float, default=0.02)
  parser.add_argument("--save-secs", type=float, default=1.0)
  parser.add_argument("--seconds", type=float, default=0.0)
  options = parser.parse_args()
  os.makedirs(options.dir, exist_ok=True)
  print(json.dumps(train(PEERS[options.peer](options.dir), options)), flush=True)
  os._exit(0)  # Threads of the libraries may outlive the measurement.


if __name__ == "__main__":
  main()
