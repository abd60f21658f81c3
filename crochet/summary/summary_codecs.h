// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/base/proto_fields.h"
#include "crochet/summary/histogram.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// The messages that a summary's values consist of; their grammar is in summary_value.h. Decoding
// throws protozero's exceptions for bytes that are not a message.

std::string encode_histogram(const Histogram& histogram);
Histogram decode_histogram(protozero::pbf_reader message);

// Requires: a tensor of strings.
std::string encode_text(const Tensor& text);
// Unset for a message that is not a tensor of strings.
Tensor decode_text(protozero::pbf_reader message);

}  // namespace crochet::inline v0::internal
