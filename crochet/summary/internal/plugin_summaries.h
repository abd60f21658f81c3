// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Values that TensorBoard's plugins show, each as the bytes of a Summary (see event.h). The
// messages are those of tensorboard/plugins/{hparams,pr_curve,custom_scalar} and of summary.proto.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "crochet/summary/summary_writer.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal::plugins {

// Numbers of hparams' Status.
enum class HyperparameterStatus { kSuccess = 1, kFailure = 2 };

// At the start of a run and at its end; times in seconds since 1970-01-01 UTC.
CROCHET_EXPORT std::string encode_hyperparameters(std::span<const Hyperparameter> hyperparameters,
                                                  double start_time);
CROCHET_EXPORT std::string encode_hyperparameter_end(HyperparameterStatus status, double end_time);

// A PNG of the pixels. Throws: InvalidArgumentError unless they are uint8 [height, width,
// channels], with 1 (gray), 3 (RGB) or 4 (RGBA) channels, and not empty.
CROCHET_EXPORT std::string encode_png(const Tensor& pixels);
CROCHET_EXPORT std::string encode_image(std::string_view tag, const Tensor& pixels);

// Throws: as SummaryWriter::add_pr_curve().
CROCHET_EXPORT std::string encode_pr_curve(std::string_view tag, const Tensor& labels,
                                           const Tensor& predictions, int num_thresholds);

CROCHET_EXPORT std::string encode_layout(std::span<const LayoutCategory> layout);

}  // namespace crochet::inline v0::internal::plugins
