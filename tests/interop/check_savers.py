#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Lets TensorFlow's Saver and crochet's take turns in one directory, and exchanges state files both ways.

    check_savers.py <saver_program> <empty directory>
"""

import json
import os
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class Mismatch(Exception):
    """One side does not see the other one's changes."""


def check_equal(what, found, expected):
    if found != expected:
        raise Mismatch(f"{what}: found {found!r}, expected {expected!r}")


def ours(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.PIPE)
    return json.loads(result.stdout)


def theirs(directory, step):
    """As `saver_program save`: restores the newest, adds one, saves, keeping two."""
    with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as session:
        variable = v1.get_variable("w", shape=[2, 3], initializer=v1.zeros_initializer(), use_resource=False)
        saver = v1.train.Saver(sharded=True, max_to_keep=2)
        session.run(v1.global_variables_initializer())
        state = tf.train.get_checkpoint_state(directory)
        if state is not None:
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
            saver.restore(session, state.model_checkpoint_path)
        value = session.run(v1.assign_add(variable, np.ones([2, 3], np.float32)))
        saver.save(session, os.path.join(directory, "m"), global_step=step)
        check_equal("elements that differ", float(np.ptp(value)), 0.0)
        return float(value[0, 0])


def steps_on_disk(directory):
    names = [name for name in os.listdir(directory) if name.endswith(".index")]
    return sorted(int(name[len("m-") : -len(".index")]) for name in names)


def check_both_see(program, directory, newest, everything):
    paths = [os.path.join(directory, f"m-{step}") for step in everything]
    newest = os.path.join(directory, f"m-{newest}")
    check_equal("TensorFlow's latest", tf.train.latest_checkpoint(directory), newest)
    state = tf.train.get_checkpoint_state(directory)
    check_equal("TensorFlow's list", list(state.all_model_checkpoint_paths), paths)
    state = ours(program, "state", directory)
    check_equal("our latest", state["latest"], newest)
    check_equal("our list", state["all"], paths)


def take_turns(program, directory):
    os.mkdir(directory)
    for step in range(1, 9):
        # Two saves by one, two by the other. TensorFlow removes our checkpoints; its own stay, unlisted:
        # we remove only checkpoints with our sidecar.
        if step % 4 in (1, 2):
            value = theirs(directory, step)
        else:
            answer = ours(program, "save", directory, step)
            check_equal("what we restored", answer["restored"], os.path.join(directory, f"m-{step - 1}"))
            value = answer["value"]
        check_equal(f"value at step {step}", value, float(step))
        kept = [step] if step == 1 else [step - 1, step]
        stay = [old for old in range(1, step - 1) if old % 4 in (1, 2)]
        check_equal(f"checkpoints at step {step}", steps_on_disk(directory), stay + kept)
        check_both_see(program, directory, step, kept)
        leftovers = [name for name in os.listdir(directory) if f"m-{step - 2}." in name and step - 2 not in stay and step > 2]
        check_equal(f"left of an evicted checkpoint at step {step}", [n for n in leftovers if ".json" not in n], [])


def exchange_states(program, directory):
    """Paths written by one side, read by the other: relative, absolute, in other directories, with odd characters."""
    os.makedirs(directory)
    file_name = os.path.join(directory, "checkpoint")
    others = [os.path.join(directory, "m-1"), "/elsewhere/m-0"]
    for name in ("m-2", 'a "b"\\-2', "ü-2"):
        inside = os.path.join(directory, name)
        for given in ([*others, inside], [others[0], inside], [inside]):
            ours(program, "update", directory, inside, *given[:-1])
            state = tf.train.get_checkpoint_state(directory)
            check_equal("newest, ours read by TensorFlow", state.model_checkpoint_path, inside)
            check_equal("list, ours read by TensorFlow", list(state.all_model_checkpoint_paths), given)
            with open(file_name, "rb") as file:
                text = file.read()
            v1.train.update_checkpoint_state(directory, inside, given)
            if name.isascii():  # Other letters may be escaped or not.
                with open(file_name, "rb") as file:
                    check_equal("the bytes of both", text, file.read())
            state = ours(program, "state", directory)
            check_equal("newest, TensorFlow's read by us", state["newest"], inside)
            check_equal("list, TensorFlow's read by us", state["all"], given)
            check_equal("latest of missing checkpoints", state["latest"], "")


def skip_what_is_being_removed(program, directory):
    """The list of checkpoints to be removed in our state file is a comment for TensorFlow."""
    os.makedirs(directory)
    newest = os.path.join(directory, "m-9")
    for given in (["m-8"], ["m-7", "m-8"], ['a "b"\\-2', "a: #'{-2", "ü-2", "line\nmodel_checkpoint_path: x-1"]):
        removing = [os.path.join(directory, name) for name in given]
        ours(program, "remove", directory, newest, *removing)
        with open(os.path.join(directory, "checkpoint"), "rb") as file:
            check_equal("comments", file.read().count(b"\n# removing: "), len(given))
        state = tf.train.get_checkpoint_state(directory)
        check_equal("newest with comments", state.model_checkpoint_path, newest)
        check_equal("list with comments", list(state.all_model_checkpoint_paths), [newest])
        check_equal("times with comments", list(state.all_model_checkpoint_timestamps), [])
        check_equal("our comments", ours(program, "state", directory)["removing"], removing)
    # As after a kill: newest and oldest are on disk.
    os.remove(os.path.join(directory, "checkpoint"))
    for step in (8, 9):
        ours(program, "save", directory, step)
    ours(program, "remove", directory, newest, os.path.join(directory, "m-8"))
    check_equal("TensorFlow's latest with comments", tf.train.latest_checkpoint(directory), newest)
    reader = tf.train.load_checkpoint(directory)
    check_equal("the value TensorFlow loads with comments", float(reader.get_tensor("w")[0, 0]), 2.0)
    check_equal("the value TensorFlow's Saver adds to", theirs(directory, 10), 3.0)
    check_both_see(program, directory, 10, [9, 10])


def read_shared_files(program, directory):
    """Our checkpoints share a file; TensorFlow reads each of them, and removes them in any order."""
    os.makedirs(directory)
    check_equal("data files", ours(program, "share", directory), [1, 2, 2])
    for step, removed in ((1, 2), (3, 1), (3, None)):
        reader = tf.train.load_checkpoint(os.path.join(directory, f"m-{step}"))
        check_equal("a value that changed", float(reader.get_tensor("step")), float(step))
        frozen = reader.get_tensor("frozen")
        check_equal("values that did not change", bool((frozen.ravel() == np.arange(1 << 16)).all()), True)
        if removed:
            v1.train.remove_checkpoint(os.path.join(directory, f"m-{removed}"))


def read_manager_state(program, directory):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(checkpoint, directory, max_to_keep=2, keep_checkpoint_every_n_hours=1)
    for _ in range(3):
        manager.save()
    state = ours(program, "state", directory)
    check_equal("the manager's list", state["all"], manager.checkpoints)
    check_equal("the manager's latest", state["latest"], manager.latest_checkpoint)
    theirs_state = tf.train.get_checkpoint_state(directory)
    check_equal("the manager's times", state["times"], list(theirs_state.all_model_checkpoint_timestamps))
    check_equal("the time preserved last", state["last_preserved"], theirs_state.last_preserved_timestamp)


def main():
    program, directory = sys.argv[1:]
    try:
        take_turns(program, os.path.join(directory, "turns"))
        exchange_states(program, os.path.join(directory, "states"))
        skip_what_is_being_removed(program, os.path.join(directory, "removing"))
        read_shared_files(program, os.path.join(directory, "shared"))
        read_manager_state(program, os.path.join(directory, "manager"))
    except Mismatch as error:
        print(f"{directory}: {error}", file=sys.stderr)
        return 1
    print(f"{directory}: TensorFlow {tf.__version__} and crochet agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
