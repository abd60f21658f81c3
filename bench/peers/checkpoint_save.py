#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The work of bench/checkpoint_save.cc with libraries that save checkpoints in Python.

Trains a state of random floats by dense updates, saves it several times while training continues as
far as the peer allows, restores it, and prints the costs as JSON: for each save how long the call
blocked, how much longer the steps until the checkpoint was durable took than those around the save,
when it was complete, and when it was durable. Of the peers only SQLite syncs its files and their
names itself: for the others a thread does that as soon as the save is complete; then it counts as
durable.

  python bench/peers/checkpoint_save.py --peer torch_save [--bytes N] [--variables N] [--saves N]
"""

import argparse
import contextlib
import ctypes
import importlib.metadata
import json
import os
import shutil
import sqlite3
import statistics
import threading
import time

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def llama_sizes(num_bytes):
  """As llama_sizes() of bench/random_arrays.h."""
  hidden, feed_forward, keys, words = 4096, 14336, 1024, 128256
  parameters = [words * hidden, words * hidden, hidden]
  for _ in range(32):
    parameters += [hidden * hidden, keys * hidden, keys * hidden, hidden * hidden,
                   *[feed_forward * hidden] * 3, hidden, hidden]
  part = num_bytes / (14 * sum(parameters))
  return [max(1, int(n * part * each)) for n in parameters for each in (0.5, 1, 1, 1)]


def random_arrays(options):
  generator = np.random.default_rng(1)
  sizes = [options.bytes // options.variables // 4] * options.variables
  if options.llama:
    sizes = llama_sizes(options.bytes)
  return [generator.random(size, dtype=np.float32) for size in sizes]


# The first steps use fresh memory.
UNMEASURED = 3


class TensorFlowSaver:
  """tf.compat.v1.train.Saver."""

  package = "tensorflow-cpu"

  def __init__(self, arrays, options):
    import tensorflow as tf  # pylint: disable=import-outside-toplevel
    tf1 = tf.compat.v1
    tf1.disable_v2_behavior()
    self._path = os.path.join(options.dir, "model.ckpt")
    self._graph = tf.Graph()
    with self._graph.as_default():
      values = [tf1.placeholder(tf.float32, a.shape) for a in arrays]
      variables = [tf1.get_variable(f"v{i}", a.shape, initializer=tf1.zeros_initializer())
                   for i, a in enumerate(arrays)]
      assign = [v.assign(p).op for v, p in zip(variables, values)]
      self._train = tf.group(*[v.assign(v * 0.999 + 0.001).op for v in variables])
      self._saver = tf1.train.Saver(max_to_keep=1)
    self._session = tf1.Session(graph=self._graph)
    for op, value, array in zip(assign, values, arrays):
      self._session.run(op, {value: array})

  def step(self):
    self._session.run(self._train)

  def save(self, number):
    return self._saver.save(self._session, self._path, global_step=number)

  def is_complete(self, place):
    return os.path.exists(place + ".index")

  def files(self, place):
    """Without "<name>_temp", which is removed soon after the index exists."""
    directory, name = os.path.split(place)
    return [os.path.join(directory, f) for f in os.listdir(directory)
            if f.startswith(name + ".") or f == "checkpoint"]

  def restore(self, place):
    self._saver.restore(self._session, place)


class TensorFlowAsync:
  """tf.train.Checkpoint with experimental_enable_async_checkpoint."""

  package = "tensorflow-cpu"

  def __init__(self, arrays, options):
    import tensorflow as tf  # pylint: disable=import-outside-toplevel
    self._path = os.path.join(options.dir, "model")
    self._variables = [tf.Variable(a) for a in arrays]
    self._checkpoint = tf.train.Checkpoint(v=self._variables)
    self._options = tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)

    @tf.function
    def train():
      for v in self._variables:
        v.assign(v * 0.999 + 0.001)

    self.step = train

  def save(self, number):
    place = f"{self._path}-{number}"
    self._checkpoint.write(place, options=self._options)
    return place

  is_complete = TensorFlowSaver.is_complete
  files = TensorFlowSaver.files

  def finish(self):
    self._checkpoint.sync()

  def restore(self, place):
    self._checkpoint.read(place).assert_consumed()


class OrbaxAsync:
  """orbax.checkpoint.AsyncCheckpointer over arrays of JAX, as its documents begin."""

  package = "orbax-checkpoint"

  def __init__(self, arrays, options):
    import jax  # pylint: disable=import-outside-toplevel
    import orbax.checkpoint as ocp  # pylint: disable=import-outside-toplevel
    self._jax, self._ocp = jax, ocp
    self._directory = os.path.abspath(options.dir)
    self._state = {f"v{i}": jax.device_put(a) for i, a in enumerate(arrays)}
    self._train = jax.jit(lambda state: jax.tree.map(lambda x: x * 0.999 + 0.001, state))
    self._checkpointer = ocp.AsyncCheckpointer(self._handler())

  def _handler(self):
    return self._ocp.StandardCheckpointHandler()

  def step(self):
    self._state = self._jax.block_until_ready(self._train(self._state))

  def save(self, number):
    place = os.path.join(self._directory, f"step-{number}")
    self._checkpointer.save(place, args=self._ocp.args.StandardSave(self._state))
    return place

  def is_complete(self, place):
    return os.path.isdir(place)  # Renamed to this name once everything is written.

  def files(self, place):
    return [os.path.join(root, f) for root, _, names in os.walk(place) for f in names]

  def finish(self):
    self._checkpointer.wait_until_finished()

  def restore(self, place):
    target = self._jax.tree.map(self._ocp.utils.to_shape_dtype_struct, self._state)
    self._state = self._jax.block_until_ready(
        self._checkpointer.restore(place, args=self._ocp.args.StandardRestore(target)))


class OrbaxPlain(OrbaxAsync):
  """The same without compression, which costs time and gains little on random floats."""

  def _handler(self):
    return self._ocp.PyTreeCheckpointHandler(use_compression=False)

  def save(self, number):
    place = os.path.join(self._directory, f"step-{number}")
    self._checkpointer.save(place, args=self._ocp.args.PyTreeSave(self._state))
    return place

  def restore(self, place):
    restore_args = self._ocp.checkpoint_utils.construct_restore_args(self._state)
    self._state = self._jax.block_until_ready(self._checkpointer.restore(
        place, args=self._ocp.args.PyTreeRestore(self._state, restore_args=restore_args)))


class TorchTraining:
  """Tensors of PyTorch without any saves; see torch_savers."""

  def __init__(self, arrays, options):
    import torch  # pylint: disable=import-outside-toplevel
    self.directory = options.dir
    self._state = {f"v{i}": torch.from_numpy(a) for i, a in enumerate(arrays)}

  def step(self):
    self.update()

  def update(self):
    for value in self._state.values():
      value.mul_(0.999).add_(0.001)

  def state(self):
    return self._state

  def take(self, loaded):
    for name, value in self._state.items():
      value.copy_(loaded[name])


class NumpyTraining:
  """Arrays of NumPy without any saves; a save is one file."""

  def __init__(self, arrays, options):
    self._arrays, self._directory = arrays, options.dir

  def step(self):
    for array in self._arrays:
      array *= 0.999
      array += 0.001

  def place(self, number):
    return os.path.join(self._directory, f"step-{number}")

  def is_complete(self, place):
    return os.path.exists(place)

  def files(self, place):
    return [place]


class Crochet(NumpyTraining):
  """crochet.Saver, from Python."""

  package = "crochet"
  syncs_itself = True

  def __init__(self, arrays, options):
    super().__init__(arrays, options)
    import crochet  # pylint: disable=import-outside-toplevel
    self._saver = crochet.Saver(self._directory, max_to_keep=1)
    self._state = {f"v{i}": a for i, a in enumerate(arrays)}

  def save(self, number):
    self._ticket = self._saver.save(number, self._state)
    return self._ticket.prefix

  def is_complete(self, place):
    return self._ticket.seconds("durable") is not None

  def files(self, place):
    directory, name = os.path.split(place)
    return [os.path.join(directory, f) for f in os.listdir(directory) if f.startswith(name + ".")]

  def finish(self):
    self._saver.wait()

  def restore(self, place):
    self._saver.restore(self._state, place)


class Adios(NumpyTraining):
  """The BP5 engine of ADIOS2: EndStep copies the arrays and returns, and a thread writes the copy."""

  package = "adios2"

  def __init__(self, arrays, options):
    super().__init__(arrays, options)
    import adios2.bindings as adios2  # pylint: disable=import-outside-toplevel
    self._adios2, self._adios = adios2, adios2.ADIOS()
    self._io = self._adios.DeclareIO("write")
    self._io.SetEngine("BP5")
    # Without the least and the greatest value of each array, which take as long as the copy.
    self._io.SetParameters({"AsyncWrite": "On", "StatsLevel": "0"})
    self._variables = [self._io.DefineVariable(f"v{i}", a, list(a.shape), [0], list(a.shape), True)
                       for i, a in enumerate(arrays)]

  def save(self, number):
    place = self.place(number) + ".bp"
    self._engine = self._io.Open(place, self._adios2.Mode.Write)
    self._engine.BeginStep()
    for variable, array in zip(self._variables, self._arrays):
      self._engine.Put(variable, array, self._adios2.Mode.Deferred)
    self._engine.EndStep()
    return place

  def is_complete(self, place):
    """Close would stop training while it waits for the data, since it keeps Python's lock."""
    data = os.path.join(place, "data.0")
    if not os.path.exists(data) or os.path.getsize(data) < sum(a.nbytes for a in self._arrays):
      return False
    self._engine.Close()  # Writes the index.
    return True

  def files(self, place):
    return [os.path.join(place, f) for f in os.listdir(place)]

  def restore(self, place):
    io = self._adios.DeclareIO("read")
    engine = io.Open(place, self._adios2.Mode.ReadRandomAccess)
    for i, array in enumerate(self._arrays):
      engine.Get(io.InquireVariable(f"v{i}"), array, self._adios2.Mode.Deferred)
    engine.PerformGets()
    engine.Close()


class Hdf5(NumpyTraining):
  """A file of contiguous datasets, which gets its name once it is complete."""

  package = "h5py"

  def __init__(self, arrays, options):
    super().__init__(arrays, options)
    import h5py  # pylint: disable=import-outside-toplevel
    self._h5py = h5py

  def save(self, number):
    place = self.place(number)
    with self._h5py.File(place + ".tmp", "w") as file:
      for i, array in enumerate(self._arrays):
        file.create_dataset(f"v{i}", data=array)
    os.rename(place + ".tmp", place)
    return place

  def restore(self, place):
    with self._h5py.File(place, "r") as file:
      for i, array in enumerate(self._arrays):
        file[f"v{i}"].read_direct(array)


class Sqlite(NumpyTraining):
  """A database for each save, written by one transaction, whose commit makes it durable."""

  version = sqlite3.sqlite_version
  syncs_itself = True
  part = 16 << 20  # Elements of an array in one BLOB, which SQLite limits to 10^9 bytes.

  def _parts(self):
    for i, array in enumerate(self._arrays):
      for start in range(0, array.size, self.part):
        yield i, start, array[start:start + self.part]

  def save(self, number):
    place = self.place(number)
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as database:
      database.execute("PRAGMA page_size = 65536")
      # Synced when it is truncated; SQLite would not sync the directory after removing it.
      database.execute("PRAGMA journal_mode = TRUNCATE")
      database.execute("PRAGMA synchronous = FULL")
      database.execute("BEGIN")
      database.execute("CREATE TABLE state (id INTEGER PRIMARY KEY, variable, start, part)")
      database.executemany("INSERT INTO state (variable, start, part) VALUES (?, ?, ?)", self._parts())
      database.execute("COMMIT")
    return place

  def restore(self, place):
    with contextlib.closing(sqlite3.connect(place)) as database:
      for row, i, start in database.execute("SELECT id, variable, start FROM state").fetchall():
        with database.blobopen("state", "part", row, readonly=True) as blob:
          part = np.frombuffer(blob.read(), np.float32)
        self._arrays[i][start:start + part.size] = part


class Cereal(NumpyTraining):
  """cereal_save.cc: a training in C++, called from here."""

  def __init__(self, arrays, options):
    super().__init__(arrays, options)
    self._library = ctypes.CDLL(os.path.abspath(os.path.join(options.bin, "libcereal_save.so")))
    for function in (self._library.version, self._library.save, self._library.restore):
      function.restype = ctypes.c_char_p
    self.version = self._library.version().decode()
    while arrays:
      array = arrays.pop(0)
      self._library.add(array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.size))

  def step(self):
    self._library.step()

  def save(self, number):
    place = self.place(number)
    self._call("save", place)
    return place

  def restore(self, place):
    self._call("restore", place)

  def _call(self, name, place):
    error = getattr(self._library, name)(place.encode())
    if error:
      raise OSError(f"{place}: {name}: {error.decode()}")


def torch_training(saver):
  """Makes a training whose state a class of torch_savers saves."""

  def make(arrays, options):
    import torch_savers  # pylint: disable=import-outside-toplevel
    return type(saver, (getattr(torch_savers, saver), TorchTraining), {})(arrays, options)

  return make


PEERS = {
    "crochet_python": Crochet,
    "tf_saver": TensorFlowSaver,
    "tf2_async": TensorFlowAsync,
    "orbax_async": OrbaxAsync,
    "orbax_plain": OrbaxPlain,
    "torch_dcp_async": torch_training("Dcp"),
    "torch_dcp_stager": torch_training("DcpStager"),
    "torch_dcp_process": torch_training("DcpProcess"),
    "torch_checkpointing": torch_training("TorchCheckpointing2"),
    "torch_snapshot": torch_training("TorchSnapshot"),
    "torch_save": torch_training("TorchSave"),
    "safetensors": torch_training("Safetensors"),
    "adios2_async": Adios,
    "hdf5": Hdf5,
    "cereal": Cereal,
    "sqlite": Sqlite,
}


def sync(path):
  descriptor = os.open(path, os.O_RDONLY)
  os.fsync(descriptor)
  os.close(descriptor)


def memory(name):
  with open("/proc/self/status", encoding="utf-8") as status:
    for line in status:
      if line.startswith(name):
        return int(line.split()[1]) * 1024
  return 0


class Save:
  """One save, followed by a thread until it is durable."""

  def __init__(self, peer, number, step):
    self.step = step  # The step after which it is made.
    self.trigger = time.perf_counter()
    self.place = peer.save(number)
    self.blocked = time.perf_counter() - self.trigger
    self.completed = self.durable = self.error = None
    self._thread = threading.Thread(target=self._follow, args=(peer,))
    self._thread.start()

  def _follow(self, peer):
    try:
      self._wait_until_durable(peer)
    except Exception as error:  # pylint: disable=broad-except
      self.error = error

  def _wait_until_durable(self, peer):
    while not peer.is_complete(self.place):
      time.sleep(0.001)
    self.completed = time.perf_counter() - self.trigger
    files = [] if hasattr(peer, "syncs_itself") else peer.files(self.place)
    for path in files + sorted({os.path.dirname(f) for f in files}):
      sync(path)
    self.durable = time.perf_counter() - self.trigger

  def lost(self, starts, quiet):
    """The time lost in the steps until it is durable, relative to the medians just before and after."""
    took = [b - a for a, b in zip(starts, starts[1:])]
    end = self.step + 1
    while end < len(took) and starts[end] <= self.trigger + self.durable:
      end += 1
    before, behind = took[self.step - quiet:self.step], took[end:end + quiet]
    undisturbed = (statistics.median(before) + statistics.median(behind)) / 2
    return sum(took[self.step:end]) - undisturbed * (end - self.step)


def drop_from_page_cache(peer, place):
  for path in peer.files(place):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def remove(peer, place):
  for path in peer.files(place):
    if os.path.exists(path):
      os.remove(path)
  if os.path.isdir(place):
    shutil.rmtree(place)


def measure(options, make_peer):
  """Trains and saves with the peer that make_peer() makes, which may use the directory."""
  shutil.rmtree(options.dir, ignore_errors=True)
  os.makedirs(options.dir)
  peer = make_peer()
  starts, saves, quiet, baseline = [], [], -UNMEASURED, None
  while len(saves) < options.saves or quiet <= options.quiet:
    starts.append(time.perf_counter())
    peer.step()
    if saves and saves[-1].error:
      raise saves[-1].error
    if not saves or saves[-1].durable is not None:
      quiet += 1
    if len(saves) == options.saves or quiet <= options.quiet:
      continue
    if baseline is None:
      baseline = memory("VmRSS:")
      with open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
        file.write("5")
    if saves:
      if hasattr(peer, "finish"):
        peer.finish()
      remove(peer, saves[-1].place)
      for _ in range(options.quiet + 1):
        starts.append(time.perf_counter())
        peer.step()
    saves.append(Save(peer, len(saves), len(starts) - 1))
    quiet = 0
  starts.append(time.perf_counter())
  if hasattr(peer, "finish"):
    peer.finish()
  peak = memory("VmHWM:")
  drop_from_page_cache(peer, saves[-1].place)
  start = time.perf_counter()
  peer.restore(saves[-1].place)
  restore = time.perf_counter() - start
  if hasattr(peer, "close"):
    peer.close()
  return {
      "name": options.peer,
      "version": getattr(peer, "version", None) or importlib.metadata.version(peer.package),
      "bytes": options.bytes,
      "variables": options.variables,
      "step_s": statistics.median(
          b - a for a, b in zip(starts[UNMEASURED:], starts[UNMEASURED + 1:][:options.quiet])),
      "saves": [{"blocked_s": s.blocked, "lost_s": s.lost(starts, options.quiet),
                 "completed_s": s.completed, "durable_s": s.durable} for s in saves],
      "restore_s": restore,
      "extra_memory": peak - baseline,
      **(peer.report() if hasattr(peer, "report") else {}),
  }


def make_parser(description, peers):
  parser = argparse.ArgumentParser(description=description)
  parser.add_argument("--peer", choices=peers, required=True)
  parser.add_argument("--dir", default="checkpoint_save_peer", help="is emptied")
  parser.add_argument("--bin", default="build/release/bench", help="the folder of libcereal_save.so")
  parser.add_argument("--bytes", type=int, default=1 << 30)
  parser.add_argument("--variables", type=int, default=64)
  parser.add_argument("--llama", action="store_true", help="the variables of MLPerf Storage's 8B model")
  parser.add_argument("--saves", type=int, default=3)
  parser.add_argument("--quiet", type=int, default=6, help="steps between a save and the next one")
  return parser


def main():
  options = make_parser(__doc__, PEERS).parse_args()
  print(json.dumps(measure(
      options, lambda: PEERS[options.peer](random_arrays(options), options))))


if __name__ == "__main__":
  main()
