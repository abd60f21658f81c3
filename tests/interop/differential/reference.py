# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios in TensorFlow's Python, patched by patches.py. Writes the words of scenario_program.cc."""

import glob
import os
import shutil
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import tensorflow as tf
from tensorflow.python.training import basic_session_run_hooks
from tensorflow.python.training import monitored_session
from tensorflow.python.training import training_util

import patches

v1 = tf.compat.v1
tf.get_logger().setLevel("CRITICAL")
FIRST_NAN = 3

# A session of some ten runs does not earn back the optimizing of its graph.
CONFIG = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
CONFIG.graph_options.rewrite_options.disable_meta_optimizer = True
CONFIG.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0


class PlainError(Exception):
    """Not TensorFlow's."""


def make_error(name):
    text = f"scripted: {name}"
    if name == "stop_iteration":
        return StopIteration(text)
    if name == "plain":
        return PlainError(text)
    return {"aborted": tf.errors.AbortedError, "unavailable": tf.errors.UnavailableError,
            "out_of_range": tf.errors.OutOfRangeError, "data_loss": tf.errors.DataLossError,
            "cancelled": tf.errors.CancelledError}[name](None, None, text)


NAMES = ((tf.errors.AbortedError, "aborted"), (tf.errors.UnavailableError, "unavailable"),
         (tf.errors.OutOfRangeError, "out_of_range"), (StopIteration, "stop_iteration"),
         (tf.errors.DataLossError, "data_loss"), (tf.errors.CancelledError, "cancelled"), (PlainError, "plain"),
         (basic_session_run_hooks.NanLossDuringTrainingError, "nan"),
         ((tf.errors.FailedPreconditionError, RuntimeError), "precondition"),
         ((tf.errors.InvalidArgumentError, ValueError), "invalid"))


def name_of(error):
    for types, name in NAMES:
        if isinstance(error, types):
            return name
    return f"other: {error!r}"


def text_of(value):
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(text_of, value)) + "]"
    return str(int(value)) if value.dtype.kind == "i" else f"{float(value):.6g}"


class NoWriter:
    """Event files have tests of their own."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


class Model:
    """The graph of all scenarios: sessions have the state."""

    def __init__(self):
        v1.disable_eager_execution()
        self.graph = tf.Graph()
        with self.graph.as_default():
            step = v1.train.create_global_step()
            read = training_util._get_or_create_global_step_read()
            x = v1.get_variable("x", initializer=tf.constant(0.0), use_resource=True)
            y = tf.identity(x.read_value(), name="y")
            loss = tf.where(read >= FIRST_NAN, tf.constant(float("nan")), tf.constant(1.0), name="loss")
            for steps, name in ((1, "train"), (3, "big")):
                with tf.control_dependencies([y, loss]):
                    grow = x.assign_add(1.5 * steps)
                with tf.control_dependencies([grow]):
                    tf.group(training_util._increment_global_step(steps), name=name)
            tf.multiply(v1.placeholder(tf.float32, [], name="p"), 2.0, name="fed")
            self.saver = v1.train.Saver(max_to_keep=100)
            self.scaffold = v1.train.Scaffold(saver=self.saver)
            self.step = step

    def export(self, directory):
        v1.train.export_meta_graph(directory + "/graph.meta", graph=self.graph)
        with open(directory + "/config", "wb") as file:
            file.write(CONFIG.SerializeToString())

    def finalize(self):
        with self.graph.as_default():
            self.scaffold.finalize()
        self.initialize = self.scaffold.init_op

    def fetch(self, name):
        return self.graph.get_operation_by_name(name) if name in ("train", "big") else \
            self.graph.get_tensor_by_name(f"{name}:0")


def acts_of(script, callback, count):
    return [act[2] for act in script["acts"] if act[0] == callback and act[1] == count]


class ScriptedHook(v1.train.SessionRunHook):

    def __init__(self, run, script, number):
        self.run, self.script, self.name = run, script, f"h{number}"
        self.counts = {"created": 0, "before": 0, "after": 0}

    def note(self, callback, rest):
        self.run.note(f"{self.name}.{callback} {rest}")

    def count(self, callback):
        self.counts[callback] += 1
        return self.counts[callback]

    def step(self, session):
        return int(session.run(self.run.model.step))

    def begin(self):
        self.note("begin", "")
        for what in acts_of(self.script, "begin", 1):
            self.run.perform(what, None)

    def after_create_session(self, session, coord):
        self.run.coordinator = coord
        number = self.count("created")
        self.note("created", f"{number} gs={self.step(session)}")
        for what in acts_of(self.script, "created", number):
            if self.run.perform(what, session):
                coord.request_stop()

    def before_run(self, run_context):
        number = self.count("before")
        self.note("before", f"{number} gs={self.step(run_context.session)}")
        for what in acts_of(self.script, "before", number):
            if self.run.perform(what, run_context.session):
                run_context.request_stop()
        fetch = self.run.model.fetch
        if self.script["fetch"] == "y":
            return v1.train.SessionRunArgs(fetch("y"))
        if self.script["fetch"] == "pair":
            return v1.train.SessionRunArgs([fetch("y"), fetch("loss")])
        return None

    def after_run(self, run_context, run_values):
        number = self.count("after")
        self.note("after", f"{number} res={text_of(run_values.results)} gs={self.step(run_context.session)}")
        for what in acts_of(self.script, "after", number):
            if self.run.perform(what, run_context.session):
                run_context.request_stop()

    def end(self, session):
        self.note("end", f"gs={self.step(session)}")
        for what in acts_of(self.script, "end", 1):
            self.run.perform(what, session)


class ScriptedListener(v1.train.CheckpointSaverListener):

    def __init__(self, run, script):
        self.run, self.script, self.counts = run, script, {"before": 0, "after": 0}

    def perform(self, callback):
        count = self.counts[callback] = self.counts.get(callback, 0) + 1
        return any([self.run.perform(what, None) for what in acts_of(self.script, callback, count)])

    def begin(self):
        self.run.note("listener.begin")
        self.perform("begin")

    def before_save(self, session, global_step_value):
        self.run.note(f"listener.before {global_step_value}")
        self.perform("before")

    def after_save(self, session, global_step_value):
        self.run.note(f"listener.after {global_step_value}")
        return self.perform("after")

    def end(self, session, global_step_value):
        self.run.note(f"listener.end {global_step_value}")
        self.perform("end")


class FailingCreator(v1.train.SessionCreator):
    """Creates sessions of which steps fail as scripted."""

    def __init__(self, run, inner):
        self.run, self.inner = run, inner

    def create_session(self):
        session = self.inner.create_session()
        original = session.run

        def run(fetches, *args, **kwargs):
            self.run.before_engine_run(fetches)
            return original(fetches, *args, **kwargs)

        session.run = run
        return session


class Run:
    """One scenario."""

    def __init__(self, model, scenario, directory):
        self.model, self.scenario, self.directory = model, scenario, directory
        self.trace, self.finals, self.coordinator = [], [], None
        self.num_steps = self.num_inits = 0

    def note(self, line):
        self.trace.append(line)

    def before_engine_run(self, fetches):
        caller = fetches.get("caller") if isinstance(fetches, dict) else fetches
        if getattr(caller, "name", "") not in ("train", "big"):
            return
        self.num_steps += 1
        for number, error in self.scenario["step"]:
            if number == self.num_steps:
                raise make_error(error)

    def start_thread(self, body):
        coord = self.coordinator

        def guarded():
            try:
                with coord.stop_on_exception():
                    body(coord)
            except Exception:  # After the join it has nobody to tell.
                pass

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        coord.register_thread(thread)
        return thread

    def report(self, error):
        def body(coord):
            raise make_error(error)

        if self.coordinator is not None:
            self.start_thread(body).join()

    def fail_late(self, error):
        def body(coord):
            coord.wait_for_stop()
            raise make_error(error)

        if self.coordinator is not None:
            self.start_thread(body)

    def perform(self, what, session):
        if what == "stop":
            return True
        if what == "train":
            if session is not None:
                session.run(self.model.fetch("train"))
        elif what == "coord_stop":
            if self.coordinator is not None:
                self.coordinator.request_stop()
        elif what.startswith("coord_"):
            self.report(what[len("coord_"):])
        elif what.startswith("late_"):
            self.fail_late(what[len("late_"):])
        else:
            raise make_error(what)
        return False

    def make_saver(self, save_steps, listeners):
        return v1.train.CheckpointSaverHook(self.directory, save_steps=save_steps, saver=self.model.saver,
                                            listeners=listeners, save_graph_def=False)

    def make_hook(self, script, number):
        kind, fetch = script["type"], self.model.fetch
        if kind == "scripted":
            return ScriptedHook(self, script, number)
        if kind == "stop_last":
            return v1.train.StopAtStepHook(last_step=script["n"])
        if kind == "stop_num":
            return v1.train.StopAtStepHook(num_steps=script["n"])
        if kind == "feed":
            return v1.train.FeedFnHook(lambda: {fetch("p"): 7.0})
        if kind == "nan":
            return v1.train.NanTensorHook(fetch("loss"), fail_on_nan_loss=script["fails"])
        if kind == "wait":
            return v1.train.GlobalStepWaiterHook(script["n"])
        if kind == "final":
            self.finals.append(v1.train.FinalOpsHook(self.model.step))
            return self.finals[-1]
        if kind == "log":
            return v1.train.LoggingTensorHook(
                {"y": fetch("y")}, every_n_iter=script["n"], at_end=script["at_end"],
                formatter=lambda values: self.note(f"log{number} {text_of(values['y'])}") or "")
        return self.make_saver(script["save_steps"], [ScriptedListener(self, script)] if script["listener"] else [])

    def result(self):
        patches.STOP.reset()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.model.saver.set_last_checkpoints_with_time([])
        with self.model.graph.as_default():
            self.write_restored()
            try:
                self.run()
                self.note("exit clean")
            except Exception as error:
                self.note(f"exit {name_of(error)}")
        for number, final in enumerate(self.finals):
            self.note(f"final{number} {text_of(final.final_ops_values)}")
        self.record_checkpoints()
        return self.trace

    def write_restored(self):
        if self.scenario["directory"]:
            os.makedirs(self.directory)
        step = self.scenario["restored"]
        if step < 0:
            return
        with v1.Session(config=CONFIG) as session:
            session.run(self.model.initialize)
            by_name = {one.op.name: one for one in v1.global_variables()}
            by_name["global_step"].load(step, session)
            by_name["x"].load(step * 10.0, session)
            self.model.saver.save(session, self.directory + "/model.ckpt", global_step=step, write_meta_graph=False)

    def record_checkpoints(self):
        if not self.scenario["directory"]:
            return
        steps = [int(path[:-len(".index")].rpartition("-")[2]) for path in glob.glob(self.directory + "/*.index")]
        for step in sorted(steps):
            reader = tf.train.load_checkpoint(f"{self.directory}/model.ckpt-{step}")
            self.note(f"checkpoint {step} gs={reader.get_tensor('global_step')} x={reader.get_tensor('x'):.6g}")

    def make_scaffold(self):
        def init(_, session):
            self.num_inits += 1
            self.note(f"init {self.num_inits}")
            for number, error in self.scenario["init"]:
                if number == self.num_inits:
                    raise make_error(error)

        return v1.train.Scaffold(copy_from_scaffold=self.model.scaffold, init_fn=init)

    def run(self):
        scenario = self.scenario
        hooks = [self.make_hook(script, number) for number, script in enumerate(scenario["hooks"])]
        if scenario["kind"] == "train":
            hooks = patches.order(hooks, [self.make_saver(scenario["save_steps"], [])])
        creator = FailingCreator(self, v1.train.ChiefSessionCreator(
            scaffold=self.make_scaffold(), checkpoint_dir=self.directory if scenario["directory"] else None, config=CONFIG))
        session = monitored_session._MonitoredSession(creator, hooks, should_recover=scenario["kind"] != "singular")
        if scenario["scope"]:
            with session:
                self.body(session)
        else:
            try:
                self.body(session)
            except Exception as error:
                patches.destroy(session, error)
                raise
            session.close()

    def body(self, session):
        self.note("created")
        for i in range(1, self.scenario["max_runs"] + 1):
            if self.scenario["checks"]:
                stops = session.should_stop()
                self.note(f"stop? {int(stops)}")
                if stops:
                    break
            try:
                self.note("ok " + self.step(session, i))
            except Exception as error:
                if not self.scenario["catches"]:
                    raise
                self.note(f"caught {name_of(error)}")
        self.note("body ends")

    def step(self, session, iteration):
        script = self.scenario["user"].get(str(iteration), {"op": "run", "fetch": "train"})
        op = script["op"]
        self.note("do " + op)
        if op == "step_fn":
            return self.run_step_fn(session, script)
        if op == "raise":
            raise make_error(script["error"])
        if op == "should_stop":
            return str(int(session.should_stop()))
        if op == "close":
            session.close()
            return "closed"
        if op == "coord":
            if session._sess is not None and getattr(session._sess, "loss", None) is None:
                self.report(script["error"])
            return "reported"
        fetch = self.model.fetch(script["fetch"])
        feeds = {self.model.fetch("p"): 4.0} if script["fetch"] == "fed" else None
        return text_of(session.run(fetch, feed_dict=feeds))

    def run_step_fn(self, session, script):
        calls = 0

        def function(step_context):
            nonlocal calls
            calls += 1
            self.note(f"function {calls}")

            def perform_at(place):
                for call, at, what in script["acts"]:
                    if call == calls and at == place and self.perform(what, step_context.session):
                        step_context.request_stop()

            perform_at(0)
            results = []
            for i in range(1, script["runs"] + 1):
                results.append(step_context.run_with_hooks(self.model.fetch("train" if i % 2 else "y")))
                perform_at(i)
            return text_of(results)

        return session.run_step_fn(function)


basic_session_run_hooks.SummaryWriterCache.get = lambda directory: NoWriter()
patches.apply()
