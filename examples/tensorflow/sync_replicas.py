# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Prepares a graph with a SyncReplicasOptimizer for crochet's tensorflow::SyncReplicasHook."""

import tensorflow as tf


def add_sync_replicas(optimizer, num_tokens=-1):
    """Puts the operations of `optimizer` into collections of its graph, which are exported with it.

    Call it after optimizer.apply_gradients() or minimize(), and before export_meta_graph(). `num_tokens` is as in
    optimizer.make_session_run_hook().
    """
    (sync_op,) = optimizer.get_chief_queue_runner().enqueue_ops
    operations = {
        "chief_init_op": optimizer.chief_init_op,
        "local_step_init_op": optimizer.local_step_init_op,
        "ready_for_local_init_op": optimizer.ready_for_local_init_op,
        "init_tokens_op": optimizer.get_init_tokens_op(num_tokens),
        "sync_op": sync_op,
    }
    for name, operation in operations.items():
        tf.compat.v1.add_to_collection(f"sync_replicas/{name}", operation)
