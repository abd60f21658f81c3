# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""States of Python programs are saved and restored as they are, and loops resume."""

import collections
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import threading
import unittest

import crochet
import numpy as np

from test_read import InFolder, has


def drain(reader):
    """What a pipe holds now."""
    text = b""
    try:
        while True:
            text += os.read(reader, 65536)
    except BlockingIOError:
        return text


class StateTest(InFolder):
    def restored(self, saved, present, **more):
        with crochet.Saver("run", **more) as saver:
            saver.save(1, {"v": saved})
        state = {"v": present}
        self.assertEqual(crochet.Saver("run", **more).restore(state), 1)
        return state["v"]

    def check(self, values, make_presents):
        """All values are restored, whatever was in their place."""
        for format in ("bundle", "safetensors"):
            saved = {f"v{i}": value for i, value in enumerate(values)}
            with crochet.Saver("run", format=format) as saver:
                saver.save(1, saved)
            for i in range(len(make_presents())):
                state = {name: make_presents()[i] for name in saved}
                crochet.Saver("run").restore(state)
                self.assertEqual(state, saved)
                for name, value in saved.items():
                    self.assertIs(type(state[name]), type(value))

    def test_numbers_texts_and_bytes(self):
        values = (0, -(2**63), 2**63, -(2**200), True, False, 0.1, float("inf"), -0.0, "", "text", "\u00fc\ud800", None)
        self.check((*values, b"", b"\x00\xff", "a" * 100_000), lambda: (None, 1, "x", [1, 2], {"a": 1}))

    def test_containers_become_what_the_checkpoint_has(self):
        values = (
            [], (), {}, [1, 2, 3], [1.5, 2.5], (1, 2), (0.5, 1.0), [1], [1, 2.0], [True, 1], [None, "a", [1, [2]]],
            {"a": 1, 7: "seven", True: "yes", None: "none", "deep": {"er": [1, (2, {"x": None})]}},
            [2**70, 1], [[]], {"a": {}}, {"a/b": 1, "a": {"b": 2}, "": 3, "%00": 4, "%empty": 5, "a%2Fb": 6},
        )
        self.check(values, lambda: (None, [], {}, [5, 6, 7, 8], {"a": [9], "other": 1}, (1,)))

    def test_a_dict_and_a_list_stay_the_same_object(self):
        inner, items, array = {"x": 1}, [1, "a"], np.ones(3)
        saved = {"inner": inner, "items": items, "array": array, "grown": {"new": np.arange(2)}}
        present = {"inner": {"gone": 2}, "items": [], "array": np.zeros(3), "grown": {}}
        before = dict(present)
        found = self.restored(saved, present)
        self.assertIs(found, present)
        for name in before:
            self.assertIs(found[name], before[name])
        self.assertEqual(found["inner"], {"x": 1})
        self.assertEqual(found["items"], [1, "a"])
        self.assertEqual(found["array"].tolist(), [1, 1, 1])
        self.assertEqual(found["grown"]["new"].tolist(), [0, 1])

    def test_arrays_keep_type_shape_and_bits(self):
        types = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128"
        saved = {
            f"{dtype}{shape}": np.resize(np.arange(7), shape).astype(dtype)
            for dtype in types.split()
            for shape in ((), (0,), (3,), (2, 0, 4), (2, 3, 4), (70_000,))
        }
        with crochet.Saver("run") as saver:
            saver.save(1, {"v": saved})
        targets = {name: np.zeros_like(value) for name, value in saved.items()}
        for present in (dict(targets), {}):
            crochet.Saver("run").restore({"v": present})
            for name, value in saved.items():
                self.assertEqual(self.bits(present[name]), self.bits(value))
        for name, target in targets.items():
            self.assertEqual(self.bits(target), self.bits(saved[name]))
        self.assertEqual(self.restored(np.float32(0.5), None), 0.5)

    def test_an_array_of_another_shape_or_type_is_refused_and_unchanged(self):
        for present in (np.zeros(4), np.zeros((3, 1)), np.zeros(3, np.float32)):
            with self.assertRaisesRegex(crochet.InvalidArgumentError, '"?v"?'):
                self.restored(np.ones(3), present)
            self.assertFalse(present.any())
        with self.assertRaises(crochet.Error):
            self.restored({"a": np.ones(3)}, {"b": np.zeros(3)})
        fixed = np.zeros(3)
        fixed.flags.writeable = False
        with self.assertRaisesRegex(crochet.InvalidArgumentError, "written"):
            self.restored(np.ones(3), fixed)

    def test_generators_go_on_where_they_were(self):
        makers = {
            "PCG64": lambda seed: np.random.default_rng(seed),
            "MT19937": lambda seed: np.random.Generator(np.random.MT19937(seed)),
            "Philox": lambda seed: np.random.Generator(np.random.Philox(seed)),
            "SFC64": lambda seed: np.random.Generator(np.random.SFC64(seed)),
            "RandomState": np.random.RandomState,
            "random": random.Random,
        }
        for name, make in makers.items():
            with self.subTest(name):
                generator = make(1)
                first = (lambda g: g.gauss(0, 1)) if name == "random" else (lambda g: g.standard_normal())
                first(generator)
                with crochet.Saver("run") as saver:
                    saver.save(1, {"v": generator})
                expected = [first(generator) for _ in range(5)]
                other = make(2)
                crochet.Saver("run").restore({"v": other})
                self.assertEqual([first(other) for _ in range(5)], expected)

    def test_functions_that_get_a_state_find_those_that_set_it(self):
        random.seed(1)
        np.random.seed(1)
        with crochet.Saver("run") as saver:
            saver.save(1, {"random": random.getstate, "numpy": np.random.get_state})
        expected = random.random(), np.random.random()
        crochet.Saver("run").restore({"random": random.getstate, "numpy": np.random.get_state})
        self.assertEqual((random.random(), np.random.random()), expected)

    def test_objects_with_state_dict(self):
        class Counter:
            def __init__(self):
                self.counts = collections.OrderedDict()

            def state_dict(self):
                return {"counts": dict(self.counts)}

            def load_state_dict(self, state):
                self.counts = collections.OrderedDict(state["counts"])

        counter = Counter()
        counter.counts.update(a=1, b=2)
        other = Counter()
        self.assertIs(self.restored(counter, other), other)
        self.assertEqual(other.counts, {"a": 1, "b": 2})

    def test_what_cannot_be_saved_is_a_typed_error_that_names_it(self):
        for bad in (
            np.array([1, "x"], object), np.ones(3, ">f4"), np.ones((4, 4))[:, ::2], np.ones(3, "M8[s]"), np.array("text"),
            object(), {1.5: 1}, (lambda: 1), {1, 2}, np.ones(2, [("a", "f4")]), [object()],
        ):
            with crochet.Saver("run") as saver, self.assertRaisesRegex(crochet.InvalidArgumentError, '"v/k'):
                saver.save(1, {"v": {"k": bad}})
        cycle = []
        cycle.append(cycle)
        with crochet.Saver("run") as saver, self.assertRaises((crochet.Error, RecursionError)):
            saver.save(1, {"v": cycle})
        self.assertEqual(crochet.checkpoints("run"), [])

    def test_a_checkpoint_of_another_program_has_no_layout(self):
        with crochet.Saver("run") as saver:
            saver.save(1, {"v/a/b": np.ones(2), "v/c": 1, "v/d": "text"})
        target = np.zeros(2)
        state = {"v": {"a": {"b": target}, "gone": 1}}
        crochet.Saver("run").restore(state)
        self.assertIs(state["v"]["a"]["b"], target)
        self.assertEqual(target.tolist(), [1, 1])
        self.assertEqual({key: state["v"][key] for key in "cd"}, {"c": 1, "d": "text"})
        self.assertNotIn("gone", state["v"])


class TorchStateTest(InFolder):
    @has("torch")
    def test_a_model_with_its_optimizer_resumes_to_the_bit(self):
        import torch

        def program(state_steps, steps):
            torch.manual_seed(state_steps)
            net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 2))
            adam = torch.optim.AdamW(net.parameters(), lr=0.01)
            schedule = torch.optim.lr_scheduler.StepLR(adam, 3)
            state = {"net": net, "adam": adam, "schedule": schedule, "rng": torch.get_rng_state, "half": torch.zeros(3, dtype=torch.bfloat16)}
            for step in crochet.Loop("run", state, until=steps, every_steps=5):
                adam.zero_grad()
                loss = net(torch.randn(4, 8)).square().mean()
                loss.backward()
                adam.step()
                schedule.step()
                state["half"] += step
            return [p.detach().clone() for p in net.parameters()] + [state["half"]]

        program(1, 7)
        resumed = program(2, 20)
        os.rename("run", "other")
        straight = program(1, 20)
        for a, b in zip(resumed, straight):
            self.assertTrue(torch.equal(a, b))
        checkpoint = crochet.open("run")
        self.assertEqual(checkpoint.tensors["net/0.weight"].shape, (16, 8))
        self.assertEqual(checkpoint["adam/param_groups/0/lr"].shape, ())

    @has("torch")
    def test_tensors_in_any_layout_are_filled_in_place(self):
        import torch

        for value in (torch.arange(6.0).reshape(2, 3).t(), torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last), torch.tensor(3), torch.zeros(0, 3)):
            with crochet.Saver("run") as saver:
                saver.save(1, {"v": value})
            other = torch.zeros_like(value)
            parameter = torch.nn.Parameter(other) if other.is_floating_point() else other
            crochet.Saver("run").restore({"v": parameter})
            self.assertTrue(torch.equal(parameter.detach(), value))
            self.assertEqual(parameter.stride(), value.stride())


class SaverTest(InFolder):
    def test_a_state_may_change_once_save_has_returned(self):
        state = {"w": np.zeros(1_000_000)}
        with crochet.Saver("run", max_to_keep=0) as saver:
            for step in range(1, 6):
                state["w"][:] = step
                saver.save(step, state)
                state["w"][:] = -1
        for found in crochet.checkpoints("run"):
            self.assertTrue((crochet.open(found.prefix)["w"] == found.step).all())

    def test_keeps_the_newest_the_best_and_those_that_are_pinned(self):
        with crochet.Saver("run", max_to_keep=2, keep_best=("loss", "lower")) as saver:
            for step in range(1, 8):
                ticket = saver.save(step, {"n": step}, metrics={"loss": abs(step - 3)})
                ticket.wait()
                if step == 2:
                    saver.pin(ticket.prefix)
        self.assertEqual([found.step for found in crochet.checkpoints("run")], [2, 3, 6, 7])

    def test_values_that_did_not_change_are_shared(self):
        state = {"frozen": np.random.default_rng(1).random(1 << 18), "n": 0}
        with crochet.Saver("run") as saver:
            for step in range(3):  # It is known not to change from the second on.
                ticket = saver.save(step, state)
                ticket.wait()
            self.assertGreater(ticket.shared_bytes, 2_000_000)

    def test_an_error_of_a_save_is_raised_by_wait(self):
        pathlib.Path("run").write_text("in the way")
        with self.assertRaises((crochet.Error, FileExistsError)):
            crochet.Saver("run").save(1, {"n": 1}).wait()

    def test_ctrl_c_ends_each_wait_for_a_save(self):
        saver, state = crochet.Saver("run"), {"w": np.ones(10_000)}
        saver.save(1, state).wait()
        # A program that was started in the background ignores Ctrl-C.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # A full disk.
        try:
            ticket = saver.save(2, state)  # Will be tried again for seconds.
            for wait in (ticket.wait, saver.wait, saver.close):
                self.assertFalse(ticket.finished)
                with self.assertRaises(KeyboardInterrupt):
                    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
                    wait()
            self.assertFalse(ticket.finished)
            with self.assertRaisesRegex(crochet.DeadlineExceededError, "within 0.01 s.*model.ckpt-2"):
                saver.wait(0.01)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        saver.close()
        self.assertEqual(crochet.open("run").step, 2)

    def test_ctrl_c_ends_a_save_that_waits_for_another_which_does_not_wait_long(self):
        saver, state = crochet.Saver("run"), {"w": np.ones(10_000)}
        saver.save(1, state).wait()
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, bytes(1024))
        os.set_blocking(writer, True)
        stderr = os.dup(2)
        os.dup2(writer, 2)  # The background save cannot continue before its log is read.
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # A full disk.
        try:
            ticket = saver.save(2, state)
            with self.assertRaises(KeyboardInterrupt):
                threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
                saver.save(3, state)
            self.assertFalse(ticket.finished)
            os.set_blocking(reader, False)
            drain(reader)
            saver.save(3, state)  # One attempt of the other is left.
            self.assertTrue(ticket.finished)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            os.dup2(stderr, 2)
        self.assertRegex(drain(reader).decode(), "ckpt-2 failed.*abandoned after [123] attempts")
        saver.close()
        self.assertEqual(crochet.open("run").step, 3)
        for descriptor in (reader, writer, stderr):
            os.close(descriptor)

    def test_the_names_of_a_state_may_change(self):
        with crochet.Saver("run") as saver:
            saver.save(1, {"a": 1, "b": 2})
            saver.save(2, {"b": 3, "c": np.ones(3)})
        self.assertEqual(set(crochet.open("run")), {"b", "c", "global_step"})

    def test_restores_a_step_that_a_loop_goes_on_from(self):
        with crochet.Saver("run") as saver:
            saver.save(5, {"n": 5})
        state = {"n": 0}
        self.assertEqual(list(crochet.Loop("run", state, until=8)), [6, 7, 8])
        self.assertEqual(state["n"], 5)
        self.assertEqual(crochet.Saver("run").restore(state), 8)
        self.assertIsNone(crochet.Saver("nothing").restore(state))

    def test_many_threads_may_save_with_savers_of_their_own(self):
        errors = []

        def work(i):
            try:
                state = {"w": np.full(100_000, i)}
                with crochet.Saver(f"run{i}") as saver:
                    for step in range(20):
                        saver.save(step, state)
                assert (crochet.open(f"run{i}")["w"] == i).all()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_a_forked_child_has_to_make_its_own(self):
        saver = crochet.Saver("run")
        saver.save(1, {"n": 1})
        child = os.fork()
        if child == 0:
            code = 1
            try:
                saver.save(2, {"n": 2})
            except crochet.FailedPreconditionError:
                with crochet.Saver("child") as own:
                    own.save(1, {"n": 1})
                code = 0
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(crochet.open("child")["n"], 1)
        saver.close()


class LoopTest(InFolder):
    def test_resumes_where_it_was(self):
        for until, expected in ((3, [1, 2, 3]), (3, []), (5, [4, 5])):
            state = {"sum": 0, "rng": np.random.default_rng(1)}
            steps = []
            loop = crochet.Loop("run", state, until=until)
            for step in loop:
                state["sum"] += state["rng"].integers(100)
                steps.append(step)
            self.assertEqual(steps, expected)
        generator = np.random.default_rng(1)
        self.assertEqual(state["sum"], sum(generator.integers(100) for _ in range(5)))
        self.assertEqual((loop.report.first_step, loop.report.last_step, loop.report.exit_code), (3, 5, 0))

    def test_the_four_lines_of_the_readme(self):
        state = {"weights": np.zeros(3), "rng": np.random.default_rng(1)}
        for step in crochet.Loop("run", state, until=100):
            state["weights"] += state["rng"].normal(size=3)
        self.assertEqual(crochet.open("run").step, 100)

    def test_an_exception_keeps_the_last_checkpoint(self):
        def run(fail_at):
            state = {"n": 0}
            loop = crochet.Loop("run", state, until=10, every_steps=4)
            for step in loop:
                state["n"] = step
                if step == fail_at:
                    raise ZeroDivisionError
            return state["n"]

        with self.assertRaises(ZeroDivisionError):
            run(7)
        self.assertEqual(crochet.open("run")["n"], 4)
        self.assertEqual(run(None), 10)

    def test_a_loop_that_is_left_is_saved_by_with_or_finish(self):
        state = {"n": 0}
        with crochet.Loop("run", state, until=10) as loop:
            for step in loop:
                state["n"] = step
                if step == 4:
                    break
        # The step that was left is not complete.
        self.assertEqual(crochet.open("run").step, 3)
        loop = crochet.Loop("run", state, until=10)
        for step in loop:
            if step == 6:
                loop.request_stop("enough")
        self.assertEqual(loop.report.reason, "enough")
        self.assertEqual(crochet.open("run").step, 6)

    def test_hooks_by_name_and_of_ones_own(self):
        calls = []

        class Recorder(crochet.Hook):
            values = ("loss",)

            def begin(self, step):
                calls.append(("begin", step))

            def after_step(self, step, values):
                calls.append((step, values["loss"]))
                return "it is small" if values["loss"] < 0.3 else None

            def end(self, step):
                calls.append(("end", step))

        state = {"n": 0}
        hooks = [
            Recorder(), crochet.LoggingTensorHook(["loss"], every_steps=2), crochet.NanTensorHook("loss"),
            crochet.HealthHook(), crochet.SignalHook(), crochet.StopAfterHook(secs=1000),
            crochet.EarlyStoppingHook("loss", better="lower", max_steps=1000),
        ]
        loop = crochet.Loop("run", state, until=100, hooks=hooks, scalars={"loss": lambda: 1 / state["n"]})
        for step in loop:
            state["n"] = step
        self.assertEqual(calls, [("begin", 0), (1, 1.0), (2, 0.5), (3, 1 / 3), (4, 0.25), ("end", 4)])
        self.assertEqual(loop.report.reason, "it is small")

    def test_an_exception_of_a_callback_reaches_the_program(self):
        def fail():
            raise LookupError("in a callback")

        state = {"n": 0}
        with self.assertRaisesRegex(LookupError, "in a callback"):
            for _ in crochet.Loop("run", state, until=10, scalars={"loss": fail}, hooks=[crochet.NanTensorHook("loss")]):
                pass

        class Failing(crochet.Hook):
            def after_step(self, step, values):
                raise KeyError("in a hook")

        with self.assertRaises(KeyError):
            for _ in crochet.Loop("other", state, until=10, hooks=[Failing()]):
                pass

        class Dying:
            def state_dict(self):
                raise ValueError("it is gone")

            def load_state_dict(self, state):
                pass

        with self.assertRaisesRegex(ValueError, "it is gone"):
            for _ in crochet.Loop("third", {"v": Dying()}, until=10):
                pass

    def test_a_nan_is_not_saved(self):
        state = {"loss": 1.0}
        with self.assertRaisesRegex(crochet.Error, "loss"):
            for step in crochet.Loop(
                "run", state, until=10, every_steps=1, hooks=[crochet.NanTensorHook("loss")], scalars={"loss": lambda: state["loss"]}
            ):
                state["loss"] = float("nan") if step == 5 else 1.0
        self.assertEqual(crochet.open("run").step, 4)

    def test_a_signal_ends_a_run_with_a_checkpoint(self):
        program = (
            "import crochet, sys, time\n"
            "state = {'n': 0}\n"
            "loop = crochet.Loop('run', state, hooks=[crochet.SignalHook()])\n"
            "for step in loop:\n"
            "    state['n'] = step\n"
            "    if step == 3: print('ready', flush=True)\n"
            "    time.sleep(0.001)\n"
            "sys.exit(loop.report.exit_code)\n"
        )
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        checkpoint = crochet.open("run")
        self.assertEqual(checkpoint["n"], checkpoint.step)

    def test_a_second_run_in_the_directory_is_refused(self):
        first = crochet.Loop("run", {"n": 0}, until=10)
        self.assertEqual(first.step, 0)
        with self.assertRaisesRegex(crochet.FailedPreconditionError, "run"):
            crochet.Loop("run", {"n": 0}, until=10).step
        first.finish()


if __name__ == "__main__":
    unittest.main()
