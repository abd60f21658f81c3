#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the graphs in this folder, with tf.compat.v1.train.export_meta_graph of TensorFlow 2.21.

    make_graphs.py <folder>

contract_resource.meta, contract_reference.meta: for the engines' contract tests, with either kind of variables.
kinds.meta: variables of many kinds, and operations that fail or hang.
scaffold.meta: a graph whose Scaffold was finalized before the export.
saving.meta: variables on two devices, with a sharded saver.
scatter.meta: updates of rows.
savers.meta: two savers in the collection, each of its own variable.
control_flow.meta: nested loops and branches, and a gradient through them.
dataset.meta: a data set with a function.
table.meta, iterator.meta: a table that grows and an iterator that advances, both saved by the graph's saver.
initialized_iterator.meta: such an iterator that is initialized as tables are.
renamed.meta: a saver with keys that are not the variables' names.
sync.meta: a SyncReplicasOptimizer of one replica, with its collections.
averages.meta: a saver of ExponentialMovingAverage.variables_to_restore() and the averages themselves.
saved_model, simple_model, module_model: SavedModels by the builder, by simple_save, and from a tf.Module.
module_training: a tf.Module whose signature "train" changes its variables.
"""

import os
import shutil
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "tensorflow"))
from sync_replicas import add_sync_replicas
from tensorflow.core.protobuf import saved_model_pb2

v1 = tf.compat.v1


def export(graph, path, saver=None):
    with graph.as_default():
        meta = v1.train.export_meta_graph(saver_def=saver and saver.as_saver_def())
    # The names of the operations in the exporter's TensorFlow: large, and not used here.
    meta.meta_info_def.ClearField("stripped_op_list")
    with open(path, "wb") as file:
        file.write(meta.SerializeToString(deterministic=True))


def contract(use_resource):
    graph = tf.Graph()
    with graph.as_default():
        v1.placeholder(tf.float32, [None, 2], name="placeholder")
        v1.get_variable("matrix", initializer=tf.constant([[0, 1, 2], [3, 4, 5]], tf.float32), use_resource=use_resource)
        v1.get_variable("vector", initializer=tf.constant([7, 8], tf.int64), use_resource=use_resource)
        probes = v1.get_variable(
            "probes",
            initializer=tf.constant(0, tf.int64),
            use_resource=use_resource,
            trainable=False,
            collections=[v1.GraphKeys.LOCAL_VARIABLES],
        )
        # TensorFlow loses additions to a reference by several threads without its lock.
        tf.identity(v1.assign_add(probes, tf.constant(1, tf.int64), use_locking=True), name="probe")
        # create_global_step() always makes a resource; older graphs have references.
        step = v1.get_variable(
            "global_step",
            initializer=tf.constant(0, tf.int64),
            use_resource=use_resource,
            trainable=False,
            collections=[v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP],
        )
        tf.group(v1.assign_add(step, tf.constant(1, tf.int64), use_locking=True, name="add"), name="train")
    return graph


def kinds():
    graph = tf.Graph()
    with graph.as_default():
        v1.train.create_global_step()
        # Both kinds, and operations that change them.
        resource = v1.get_variable("resource", initializer=tf.fill([64], 1.0, name="resource_initial"), use_resource=True)
        tf.group(v1.assign_sub(resource, tf.fill([64], 0.25)), name="change_resource")
        reference = v1.get_variable("reference", initializer=tf.fill([64], 1.0, name="reference_initial"), use_resource=False)
        tf.group(v1.assign_sub(reference, tf.fill([64], 0.25)), name="change_reference")
        tf.identity(resource * 2.0, name="read_resource")
        # Types.
        v1.get_variable("flag", initializer=tf.constant(True), use_resource=True, trainable=False)
        v1.get_variable("half", initializer=tf.constant([0.5, 1.5], tf.float16), use_resource=True)
        v1.get_variable("words", initializer=tf.constant(["cat", "a longer string than fits"]), use_resource=True,
                        trainable=False)
        # Partitioned: two parts by rows, each kind.
        for name, use_resource in (("parts", True), ("reference_parts", False)):
            v1.get_variable(name, shape=[5, 3], initializer=v1.random_normal_initializer(seed=3),
                            partitioner=v1.fixed_size_partitioner(2), use_resource=use_resource)
        # Two whose initialisers use the same tensor.
        shared = tf.constant([1.0, 2.0], name="shared")
        for name in ("twin_a", "twin_b"):
            v1.Variable(shared, name=name, use_resource=False)
        # Of unknown size.
        unknown = v1.placeholder_with_default(tf.zeros([0, 2]), [None, 2])
        v1.get_variable("grown", initializer=unknown, validate_shape=False, use_resource=True)
        # A local variable and a table.
        v1.get_variable("local", initializer=tf.constant(5.0), collections=[v1.GraphKeys.LOCAL_VARIABLES],
                        use_resource=True, trainable=False)
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.constant(["one", "two"]), tf.constant([1, 2], tf.int64)), -1)
        tf.identity(table.lookup(tf.constant(["two", "three"])), name="looked_up")
        # Operations that fail or hang.
        left = v1.placeholder(tf.float32, name="left")
        right = v1.placeholder(tf.float32, name="right")
        tf.matmul(left, right, name="product")
        queue = v1.FIFOQueue(10, [tf.int64], shapes=[[]], name="queue")
        queue.dequeue(name="dequeue")
        enqueue = queue.enqueue(tf.constant(3, tf.int64), name="enqueue")
        v1.train.add_queue_runner(v1.train.QueueRunner(
            queue, [enqueue], queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError)))
        with tf.control_dependencies([queue.dequeue()]):
            tf.group(v1.assign_sub(resource, tf.fill([64], 0.25)), name="hanging_change")
        v1.summary.scalar("total", tf.reduce_sum(resource))
        v1.add_to_collection("numbers", 7)
        v1.add_to_collection("numbers", -8)
        saver = v1.train.Saver(max_to_keep=3)
    return graph, saver


def scaffold():
    graph = tf.Graph()
    with graph.as_default():
        v1.get_variable("w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        v1.train.create_global_step()
        v1.train.Scaffold().finalize()
    return graph


def saving():
    """Variables saved by the graph's own operations: on two devices, so in two data files."""
    graph = tf.Graph()
    with graph.as_default(), tf.device("/cpu:0"):
        v1.train.create_global_step()
        v1.get_variable("a", initializer=tf.constant([[0, 1, 2], [3, 4, 5]], tf.float32), use_resource=True)
        v1.get_variable("words", initializer=tf.constant(["cat", "a longer string than fits"]), use_resource=True,
                        trainable=False)
        with tf.device("/cpu:1"):
            v1.get_variable("b", initializer=tf.constant([7, 8], tf.int64), use_resource=False)
        parts = v1.get_variable("parts", shape=[5, 3], initializer=v1.random_normal_initializer(seed=3),
                                partitioner=v1.fixed_size_partitioner(2), use_resource=True)
        # TensorFlow accepts this, as it does not see the shape before.
        rows = v1.placeholder_with_default(tf.zeros([4, 3]), None)
        tf.group(tf.raw_ops.AssignVariableOp(resource=list(parts)[1].handle, value=rows), name="grow_part")
        step = v1.train.get_global_step()
        changes = [v1.assign_add(variable, tf.ones_like(variable))
                   for variable in v1.global_variables() if variable.dtype.base_dtype in (tf.float32, tf.int64)
                   and variable is not step]
        tf.group(v1.assign_add(step, 1), *changes, name="train")
        saver = v1.train.Saver(sharded=True)
    return graph, saver


def scatter():
    """Updates of some rows, for every kind of variable, and of all rows in one step."""
    graph = tf.Graph()
    with graph.as_default():
        v1.train.create_global_step()
        ids = v1.placeholder(tf.int32, [None], name="ids")
        rows = tf.ones(tf.stack([tf.size(ids), 8]))
        every = tf.range(64)
        changes, steps = [], []
        for name, use_resource in (("resource_a", True), ("resource_b", True), ("reference_a", False),
                                   ("reference_b", False)):
            table = v1.get_variable(name, initializer=tf.zeros([64, 8]), use_resource=use_resource)
            changes.append(v1.scatter_add(table, ids, rows, use_locking=True))
            for part in (every[:32], every[32:]):
                # Half a table at a time: a step takes long to complete.
                with tf.control_dependencies(steps[-1:]):
                    steps.append(v1.scatter_add(table, part, tf.ones([32, 8]), use_locking=True).op)
        tf.group(*changes, name="change_rows")
        with tf.control_dependencies(steps):
            tf.group(v1.assign_add(v1.train.get_global_step(), 1), name="change_all")
    return graph


def savers():
    graph = tf.Graph()
    with graph.as_default():
        variables = [v1.get_variable(name, initializer=tf.constant(value), use_resource=True)
                     for name, value in (("v0", 10.0), ("v1", 20.0))]
        tf.group(*[v1.assign_add(variable, 1.0) for variable in variables], name="grow")
        for variable in variables:
            saver = v1.train.Saver({variable.op.name: variable}, name=f"saver_{variable.op.name}")
            v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
    return graph


def control_flow():
    """Control flow of the old kind: operations of the graph itself."""
    v1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")

        def double_twice(value):
            return v1.while_loop(lambda i, _: i < 2, lambda i, value: (i + 1, value * 2.0), [0, value])[1]

        def body(i, value):
            return i + 1, v1.cond(value > 100.0, lambda: tf.identity(value), lambda: double_twice(value))

        y = tf.identity(v1.while_loop(lambda i, _: i < 3, body, [0, x])[1], name="y")
        tf.identity(v1.gradients(y, x)[0], name="gradient")
    v1.enable_control_flow_v2()
    return graph


def dataset():
    graph = tf.Graph()
    with graph.as_default():
        squares = tf.data.Dataset.range(4).map(lambda number: number * number)
        iterator = v1.data.make_initializable_iterator(squares)
        tf.identity(iterator.get_next(), name="next")
        with tf.control_dependencies([iterator.initializer]):
            tf.no_op(name="initialize")
    return graph


def table():
    """Each step adds the row step -> step * step to a table."""
    graph = tf.Graph()
    with graph.as_default():
        step = v1.train.create_global_step()
        rows = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1, name="rows")
        number = tf.identity(step, name="number")
        with tf.control_dependencies([rows.insert(number, number * number)]):
            tf.group(v1.assign_add(step, 1), name="train")
        tf.identity(rows.size(), name="size")
        tf.identity(rows.lookup(v1.placeholder(tf.int64, [], name="key")), name="row")
        saver = v1.train.Saver()
    return graph, saver


def iterator():
    """Each step adds the next number of a data set to a variable."""
    graph = tf.Graph()
    with graph.as_default():
        step = v1.train.create_global_step()
        numbers = v1.data.make_one_shot_iterator(tf.data.Dataset.range(1, 1000))
        v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(numbers))
        total = v1.get_variable("total", initializer=tf.constant(0, tf.int64), use_resource=True)
        tf.group(v1.assign_add(step, 1), v1.assign_add(total, numbers.get_next()), name="train")
        saver = v1.train.Saver()
    return graph, saver


def initialized_iterator():
    """As iterator(), with one that exists only after the initializers of tables have run."""
    graph = tf.Graph()
    with graph.as_default():
        step = v1.train.create_global_step()
        total = v1.get_variable("total", initializer=tf.constant(0, tf.int64), use_resource=True)
        numbers = v1.data.make_initializable_iterator(tf.data.Dataset.range(1, 1000))
        v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, numbers.initializer)
        v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(numbers))
        tf.group(v1.assign_add(step, 1), v1.assign_add(total, numbers.get_next()), name="train")
        saver = v1.train.Saver()
    return graph, saver


def renamed():
    graph = tf.Graph()
    with graph.as_default():
        step = v1.train.create_global_step()
        w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        r = v1.get_variable("r", initializer=tf.constant([3.0]), use_resource=False)
        parts = v1.get_variable("parts", initializer=tf.constant([[1.0], [2.0], [3.0]]), use_resource=True,
                                partitioner=v1.fixed_size_partitioner(2))
        v1.get_variable("plain", initializer=tf.constant(4.0), use_resource=True)
        changes = [v1.assign_add(one, tf.ones_like(one)) for one in (w, r, *parts)]
        tf.group(v1.assign_add(step, 1), *changes, name="train")
        saver = v1.train.Saver({"model/w": w, "model/r": r, "model/parts": parts, "global_step": step})
    return graph, saver


def sync():
    graph = tf.Graph()
    with graph.as_default(), tf.device("/job:worker/task:0"):
        step = v1.train.create_global_step()
        w = v1.get_variable("sync_w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        optimizer = v1.train.SyncReplicasOptimizer(v1.train.GradientDescentOptimizer(0.5), 1, total_num_replicas=1)
        tf.group(optimizer.apply_gradients([(tf.ones_like(w), w)], global_step=step), name="train")
        add_sync_replicas(optimizer)
        saver = v1.train.Saver()
    return graph, saver


def averages():
    graph = tf.Graph()
    with graph.as_default():
        step = v1.train.create_global_step()
        w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        average = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([v1.assign_add(w, tf.ones_like(w))]):
            tf.group(v1.assign_add(step, 1), average.apply([w]), name="train")
        saver = v1.train.Saver(average.variables_to_restore())
    return graph, saver


def predictor(vocabulary):
    """A model with a table whose words are in a file."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=tf.constant([[1, 2, 3], [4, 5, 6]], tf.float32), use_resource=True)
        v1.get_variable("parts", initializer=tf.constant([[1.0], [2.0], [3.0]]), use_resource=True,
                        partitioner=v1.fixed_size_partitioner(2))
        y = tf.matmul(x, w, name="y")
        words = v1.placeholder(tf.string, [None], name="words")
        path = tf.constant(vocabulary, name="vocabulary")
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, path)
        table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                          tf.lookup.TextFileIndex.LINE_NUMBER), -1)
        numbers = tf.identity(table.lookup(words), name="numbers")
    return graph, x, y, words, numbers


def strip_op_lists(folder):
    """Removes the names of the exporter's operations: large, and not used here."""
    path = os.path.join(folder, "saved_model.pb")
    model = saved_model_pb2.SavedModel()
    with open(path, "rb") as file:
        model.ParseFromString(file.read())
    for meta_graph in model.meta_graphs:
        meta_graph.meta_info_def.ClearField("stripped_op_list")
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))


def save_model(folder):
    """By the builder, for two sets of tags."""
    shutil.rmtree(folder, ignore_errors=True)
    saved = v1.saved_model
    with tempfile.TemporaryDirectory() as temporary:
        vocabulary = os.path.join(temporary, "vocabulary.txt")
        with open(vocabulary, "w") as file:
            file.write("cat\ndog\n")
        graph, x, y, words, numbers = predictor(vocabulary)
        with graph.as_default(), v1.Session() as session:
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            info = saved.utils.build_tensor_info
            signatures = {
                "serving_default": saved.signature_def_utils.predict_signature_def({"x": x}, {"y": y}),
                "lookup": saved.signature_def_utils.build_signature_def(
                    {"words": info(words)}, {"numbers": info(numbers)}, "look_up"),
            }
            builder = saved.builder.SavedModelBuilder(folder)
            builder.add_meta_graph_and_variables(
                session, ["serve"], signatures, assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
                main_op=v1.tables_initializer())
            builder.add_meta_graph(["train", "cpu"])
            builder.save()
    strip_op_lists(folder)


def save_simple_model(folder):
    shutil.rmtree(folder, ignore_errors=True)
    graph = tf.Graph()
    with graph.as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        v = v1.get_variable("v", initializer=tf.constant(3.0), use_resource=False)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, folder, {"x": x}, {"y": tf.multiply(x, v, name="y")})
    strip_op_lists(folder)


def save_module(folder):
    """As in TensorFlow 2: no collection has the variables."""
    shutil.rmtree(folder, ignore_errors=True)

    class Scale(tf.Module):
        def __init__(self):
            super().__init__()
            self.factor = tf.Variable(2.5, name="factor")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
        def __call__(self, x):
            return {"y": x * self.factor}

    module = Scale()
    tf.saved_model.save(module, folder, signatures=module.__call__)
    strip_op_lists(folder)


def save_training_module(folder):
    """Counts its steps in a variable that is in no collection, like all variables of TensorFlow 2."""
    shutil.rmtree(folder, ignore_errors=True)

    class Growth(tf.Module):
        def __init__(self):
            super().__init__()
            self.step = tf.Variable(0, dtype=tf.int64, name="global_step")
            self.total = tf.Variable(0.0, name="total")

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
        def train(self, x):
            self.step.assign_add(1)
            return {"total": self.total.assign_add(x)}

    module = Growth()
    tf.saved_model.save(module, folder, signatures={"train": module.train})
    strip_op_lists(folder)


def main():
    folder = sys.argv[1]
    export(contract(True), os.path.join(folder, "contract_resource.meta"))
    export(contract(False), os.path.join(folder, "contract_reference.meta"))
    graph, saver = kinds()
    export(graph, os.path.join(folder, "kinds.meta"), saver)
    export(scaffold(), os.path.join(folder, "scaffold.meta"))
    graph, saver = saving()
    export(graph, os.path.join(folder, "saving.meta"), saver)
    export(scatter(), os.path.join(folder, "scatter.meta"))
    export(savers(), os.path.join(folder, "savers.meta"))
    export(control_flow(), os.path.join(folder, "control_flow.meta"))
    export(dataset(), os.path.join(folder, "dataset.meta"))
    for make in (table, iterator, initialized_iterator, renamed, averages, sync):
        graph, saver = make()
        export(graph, os.path.join(folder, f"{make.__name__}.meta"), saver)
    save_model(os.path.join(folder, "saved_model"))
    save_simple_model(os.path.join(folder, "simple_model"))
    save_module(os.path.join(folder, "module_model"))
    save_training_module(os.path.join(folder, "module_training"))


if __name__ == "__main__":
    main()
