# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of all formats are read as their own libraries read them."""

import gc
import importlib.util
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import crochet
import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
GOLDEN = pathlib.Path(os.environ["CROCHET_GOLDEN"])
LIBRARIES = ("tensorflow", "safetensors", "torch", "jax", "ml_dtypes", "lightning", "transformers")
HAS = {name: importlib.util.find_spec(name) is not None for name in LIBRARIES}


def has(*names):
    return unittest.skipUnless(all(HAS[name] for name in names), f"needs {', '.join(names)}")


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def bits(self, array):
        return (array.dtype, array.shape, array.tobytes())


class GoldenTest(InFolder):
    @has("tensorflow")
    def test_bundles_are_as_tensorflow_reads_them(self):
        import tensorflow as tf

        for name in ("types", "sharded", "slices"):
            prefix = str(GOLDEN / "bundle" / name)
            reader = tf.train.load_checkpoint(prefix)
            checkpoint = crochet.open(prefix)
            shapes = reader.get_variable_to_shape_map()
            self.assertEqual(set(checkpoint) | set(checkpoint.unreadable), set(shapes))
            for tensor, shape in shapes.items():
                if tensor in checkpoint.unreadable:
                    continue
                self.assertEqual(checkpoint.tensors[tensor].shape, tuple(shape), tensor)
                try:
                    expected = reader.get_tensor(tensor)
                except ValueError:  # It reads only stored slices of these types.
                    self.assertEqual(name, "slices")
                    continue
                for found in (checkpoint[tensor], checkpoint.map(tensor), crochet.open(prefix, mmap=False)[tensor]):
                    self.assertEqual(found.shape, np.shape(expected), tensor)
                    if found.dtype == object:
                        self.assertEqual(found.tolist(), np.asarray(expected, dtype=object).tolist())
                    else:
                        self.assertEqual(found.tobytes(), np.asarray(expected).tobytes(), tensor)

    @has("safetensors", "ml_dtypes")
    def test_safetensors_are_as_their_library_reads_them(self):
        from safetensors import safe_open

        for name in ("types", "metadata", "none"):
            path = str(GOLDEN / "safetensors" / f"{name}.safetensors")
            checkpoint = crochet.open(path)
            with safe_open(path, "numpy") as reader:
                self.assertEqual(set(checkpoint) | set(checkpoint.unreadable), set(reader.keys()))
                for key, value in (reader.metadata() or {}).items():
                    self.assertEqual(checkpoint.metadata[key], value)
                for tensor in checkpoint:
                    try:
                        expected = reader.get_tensor(tensor)
                    except TypeError:  # It cannot give this type to NumPy.
                        self.assertEqual(checkpoint.tensors[tensor].dtype, "bfloat16")
                        continue
                    found = checkpoint[tensor]
                    self.assertEqual(found.tobytes(), expected.tobytes(), tensor)
                    self.assertEqual(found.shape, expected.shape, tensor)

    @has("torch")
    def test_files_of_torch_are_as_torch_reads_them(self):
        import torch

        compared = 0
        for name in ("checkpoint", "legacy", "no_crc"):
            path = str(GOLDEN / "torch" / f"{name}.pt")
            expected = {}

            def flatten(prefix, value):
                if isinstance(value, torch.Tensor):
                    expected[prefix] = value
                elif isinstance(value, dict):
                    for key, item in value.items():
                        flatten(f"{prefix}/{key}" if prefix else str(key), item)
                elif isinstance(value, (list, tuple)):
                    for i, item in enumerate(value):
                        flatten(f"{prefix}/{i}" if prefix else str(i), item)

            flatten("", torch.load(path, weights_only=False))
            checkpoint = crochet.open(path)
            for tensor, value in expected.items():
                if tensor not in checkpoint or tensor in checkpoint.unreadable or value.is_sparse:
                    continue
                found = checkpoint.torch(tensor)
                self.assertEqual((found.dtype, found.shape), (value.dtype, value.shape), tensor)
                same = found.contiguous().reshape(-1).view(torch.uint8)
                self.assertTrue(torch.equal(same, value.contiguous().reshape(-1).view(torch.uint8)), tensor)
                compared += 1
        self.assertGreater(compared, 10)


class OpenTest(InFolder):
    def save(self, *steps, **more):
        with crochet.Saver("run", max_to_keep=0, **more) as saver:
            for step in steps:
                state = {"w": np.full(300_000, step, np.float32), "small": step}
                saver.save(step, state, metrics={"loss": abs(step - 20)})

    def test_chooses_the_newest_a_step_or_the_best(self):
        self.save(10, 20, 30)
        self.assertEqual(crochet.open("run").step, 30)
        self.assertEqual(crochet.open("run", step=10)["small"], 10)
        self.assertEqual(crochet.open("run", best="loss", better="lower").step, 20)
        self.assertEqual(crochet.open("run/model.ckpt-20").info.metrics, {"loss": 0.0})
        self.assertEqual([found.step for found in crochet.checkpoints("run")], [10, 20, 30])
        with self.assertRaisesRegex(crochet.NotFoundError, "11"):
            crochet.open("run", step=11)
        with self.assertRaises(crochet.InvalidArgumentError):
            crochet.open("run", best="loss")
        with self.assertRaises(crochet.InvalidArgumentError):
            crochet.open("run", step=10, best="loss")

    def test_a_large_value_is_mapped_and_stays_when_the_checkpoint_is_removed(self):
        for format in ("bundle", "safetensors"):
            with self.subTest(format):
                shutil.rmtree("run", ignore_errors=True)
                self.save(10, format=format)
                checkpoint = crochet.open("run")
                mapped = checkpoint["w"]
                read = crochet.open("run", mmap=False)["w"]
                self.assertFalse(mapped.flags.writeable)
                self.assertTrue(read.flags.writeable)
                shutil.rmtree("run")
                del checkpoint
                gc.collect()
                self.assertTrue((mapped == 10).all())
                self.assertTrue((read == 10).all())

    def test_a_removed_checkpoint_raises_a_typed_error(self):
        self.save(10)
        checkpoint = crochet.open("run", mmap=False)
        shutil.rmtree("run")
        with self.assertRaisesRegex(crochet.NotFoundError, "removed"):
            checkpoint["w"]

    def test_a_damaged_value_is_never_returned(self):
        for format in ("bundle", "safetensors"):
            shutil.rmtree("run", ignore_errors=True)
            self.save(10, format=format)
            (data,) = [path for path in pathlib.Path("run").iterdir() if path.stat().st_size > 1_000_000]
            with data.open("r+b") as file:
                file.seek(600_000)
                file.write(b"\x01")
            for mmap in (True, False):
                with self.assertRaises(crochet.DataLossError):
                    crochet.open("run", mmap=mmap)["w"]
            with self.assertRaises(crochet.DataLossError):
                crochet.verify("run")

    def test_goes_back_to_the_newest_sound_one_with_a_warning(self):
        self.save(10, 20)
        pathlib.Path("run/model.ckpt-20.index").write_bytes(b"torn")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(crochet.open("run").step, 10)
        self.assertIn("model.ckpt-20", str(caught[0].message))

    def test_the_classes_of_errors_are_those_of_cxx(self):
        header = pathlib.Path(__file__).parents[2] / "crochet/base/error.h"
        codes = re.findall(r"^  k(\w+) = (\d+),$", header.read_text(), re.MULTILINE)
        classes = {int(code): name + "Error" for name, code in codes}
        self.assertEqual(len(classes), 16)
        self.assertEqual(classes, {i: kind.__name__ for i, kind in enumerate(crochet.Error.__subclasses__(), 1)})

    def test_names_that_are_missing_are_key_errors(self):
        self.save(10)
        checkpoint = crochet.open("run")
        with self.assertRaises(KeyError):
            checkpoint["x"]
        self.assertIsNone(checkpoint.get("x"))
        self.assertNotIn("x", checkpoint)

    def test_diff_names_what_differs(self):
        with crochet.Saver("a") as saver:
            saver.save(1, {"same": np.ones(2), "w": np.zeros(3), "only": 1, "type": 1, "shape": np.ones(2), "t": "x"})
        with crochet.Saver("b") as saver:
            saver.save(
                1, {"same": np.ones(2), "w": np.array([0, 0.5, 0]), "other": 1, "type": 1.0, "shape": np.ones(3), "t": "y"}
            )
        found = {difference.name: difference for difference in crochet.diff("a", "b")}
        self.assertEqual(
            {name: difference.what for name, difference in found.items()},
            {"w": "elements", "only": "only in a", "other": "only in b", "type": "type", "shape": "shape", "t": "elements"},
        )
        self.assertEqual((found["w"].max_difference, found["w"].num_different), (0.5, 1))
        self.assertEqual(crochet.diff("a", "a"), [])

    @has("ml_dtypes")
    def test_bfloat16_and_float8(self):
        import ml_dtypes

        values = {"b": np.arange(3).astype(ml_dtypes.bfloat16), "f": np.arange(3).astype(ml_dtypes.float8_e4m3fn)}
        for format in ("bundle", "safetensors"):
            with crochet.Saver(format, format=format) as saver:
                saver.save(1, dict(values))
            for name, value in values.items():
                self.assertEqual(self.bits(crochet.open(format)[name]), self.bits(value))

    @has("torch", "jax", "ml_dtypes")
    def test_goes_to_torch_and_jax(self):
        import jax
        import ml_dtypes
        import torch

        with crochet.Saver("run") as saver:
            saver.save(1, {"w": np.arange(300_000, dtype=np.float32), "b": np.arange(3).astype(ml_dtypes.bfloat16)})
        checkpoint = crochet.open("run")
        self.assertEqual(checkpoint.torch("b").dtype, torch.bfloat16)
        self.assertTrue(torch.equal(checkpoint.torch("w"), torch.arange(300_000, dtype=torch.float32)))
        array = crochet.open("run", mmap=False)["w"]
        shared = torch.from_dlpack(array)
        self.assertEqual(shared.data_ptr(), array.__array_interface__["data"][0])
        self.assertTrue((np.asarray(jax.numpy.asarray(checkpoint["w"])) == checkpoint["w"]).all())
        self.assertEqual(jax.numpy.asarray(checkpoint["b"]).dtype, jax.numpy.bfloat16)


class RunTest(InFolder):
    def test_metrics_are_columns_and_the_journal_has_the_lives(self):
        for until in (10, 20):
            state = {"n": 0}
            for step in crochet.Loop("run", state, until=until, scalars={"loss": lambda: 1 / (state["n"] + 1)}):
                state["n"] = step
        table = crochet.metrics("run")
        self.assertEqual(len({len(column) for column in table.values()}), 1)
        at = dict(zip(table["step"].tolist(), table["loss"].tolist()))
        self.assertEqual(at[20], 1 / 21)
        self.assertTrue(math.isnan(at[0]) if 0 in at else True)
        with open("run/events.jsonl", "a") as file:
            file.write('{"event": "to')
        lives = [event["life"] for event in crochet.journal("run") if event["event"] == "start"]
        self.assertEqual(lives, [1, 2])
        with self.assertRaises(crochet.NotFoundError):
            crochet.journal("nowhere")


class ProcessTest(InFolder):
    def test_ten_thousand_opens_leak_nothing(self):
        with crochet.Saver("run") as saver:
            saver.save(1, {"w": np.ones(300_000), "small": np.ones(2)})

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        def descriptors():
            return len(os.listdir("/proc/self/fd"))

        for i in range(11_000):
            checkpoint = crochet.open("run")
            checkpoint["small"]
            checkpoint.map("w")
            if i == 1000:
                before = resident(), descriptors()
        del checkpoint
        self.assertLessEqual(descriptors(), before[1])
        self.assertLess(resident() - before[0], 4 << 20)

    def test_the_import_takes_no_other_library(self):
        names = "'numpy', 'torch', 'tensorflow', 'jax', 'ml_dtypes'"
        code = f"import sys, crochet; print(sorted({{{names}}} & set(sys.modules)))"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(found.stdout.strip(), "[]")


if __name__ == "__main__":
    unittest.main()
