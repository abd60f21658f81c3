// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/summary/histogram.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

// The value of a tag in an events file: a histogram or a text if one of them is set, otherwise a
// point of a curve. Part of TensorFlow's message Summary (summary.proto):
//
//   Summary   := 1 value:Value, repeated
//   Value     := 1 tag:string  2 simple_value:float | 5 histo:HistogramProto |
//                8 tensor:TensorProto, 9 metadata:SummaryMetadata
//   HistogramProto := 1 min  2 max  3 num  4 sum  5 sum_squares:double
//                     6 bucket_limit:double, packed  7 bucket:double, packed
//   TensorProto := 1 dtype:enum  2 tensor_shape:{2 dim:{1 size:int64}, repeated}
//                  8 string_val:bytes, repeated
//   SummaryMetadata := 1 plugin_data:{1 plugin_name:string}
//
// A text is a tensor of strings whose plugin_name is "text".
struct SummaryValue {
  std::string tag = {};
  // An events file has single precision: values beyond its range become infinities.
  double simple_value = 0;
  std::optional<Histogram> histogram = {};
  // Strings of any shape; TensorBoard shows a vector or a matrix as a table.
  Tensor text = {};

  bool operator==(const SummaryValue&) const = default;
};

// The bytes of a Summary, identical to TensorFlow's.
CROCHET_EXPORT std::string encode_summary(std::span<const SummaryValue> values);

// Reads a Summary. Values of other kinds (images, audio, numeric tensors) are skipped.
// Throws: DataLossError if the bytes are not a protobuf message.
CROCHET_EXPORT std::vector<SummaryValue> decode_summary(std::string_view bytes);

}  // namespace crochet::inline v0
