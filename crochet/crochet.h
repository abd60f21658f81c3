// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The core of crochet in one include. For Eigen's matrices, add <crochet/eigen.h>.

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/checkpoint_reader.h"
#include "crochet/checkpoint/checkpoint_state.h"
#include "crochet/checkpoint/saver.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/async_checkpoint_saver_hook.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "crochet/hooks/progress_bar_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/step_counter_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/hooks/summary_saver_hook.h"
#include "crochet/monitor/looper_thread.h"
#include "crochet/monitor/monitored_session.h"
#include "crochet/monitor/session_run_hook.h"
#include "crochet/monitor/singular_monitored_session.h"
#include "crochet/run/loop.h"
#include "crochet/run/monitored_training_session.h"
#include "crochet/run/tracker.h"
