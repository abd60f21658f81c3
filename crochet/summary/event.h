// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

// The distribution of the numbers of a tensor: TensorFlow's HistogramProto.
//
// bucket[i] numbers are below bucket_limit[i] and not below the limit before it. The limits are
// those of TensorFlow: 0, and 1e-12 times powers of 1.1 up to 1e20, with either sign; the largest
// one is the largest double. Consecutive empty buckets are merged.
struct Histogram {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> bucket_limit = {};
  std::vector<double> bucket = {};

  bool operator==(const Histogram&) const = default;
};

// The histogram of a tensor's finite elements; NaN and infinities are left out, so `num` may be
// less than the number of elements. Without numbers, min to sum_squares are zero.
// Throws: InvalidArgumentError for strings, complex numbers, and an unset tensor.
CROCHET_EXPORT Histogram make_histogram(const Tensor& values);

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

// Events of a session, with the numbers of TensorFlow's SessionLog.SessionStatus.
enum class SessionLog { kUnspecified = 0, kStart = 1, kStop = 2, kCheckpoint = 3 };

struct SessionLogEntry {
  SessionLog status = SessionLog::kUnspecified;
  // Only for kCheckpoint.
  std::string checkpoint_path = {};
  std::string message = {};

  bool operator==(const SessionLogEntry&) const = default;
};

// The engine's measurements of one run, for TensorBoard's graph and profile pages.
struct TaggedRunMetadata {
  std::string tag = {};
  // The bytes of TensorFlow's message RunMetadata; see traced_run.h.
  std::string run_metadata = {};

  bool operator==(const TaggedRunMetadata&) const = default;
};

// One record of a TensorBoard events file: the part of TensorFlow's Event
// message (event.proto) that this library writes. One of file_version, values
// (with encoded_values), session_log and run_metadata is set.
//
//   Event      := 1 wall_time:double  2 step:int64  3 file_version:string
//                 5 summary:Summary (see above)  7 session_log:SessionLog
//                 8 tagged_run_metadata:TaggedRunMetadata
//   SessionLog := 1 status:enum  2 checkpoint_path:string  3 msg:string
//   TaggedRunMetadata := 1 tag:string  2 run_metadata:bytes
struct Event {
  // Seconds since 1970-01-01 UTC.
  double wall_time = 0;
  int64_t step = 0;
  // Only in a file's first event: kEventFileVersion.
  std::string file_version = {};
  std::vector<SummaryValue> values = {};
  // Further values, as bytes of a Summary, as produced by TensorFlow's summary operations. Only for
  // writing; when read, those of a kind that SummaryValue supports are in `values`.
  std::string encoded_values = {};
  std::optional<SessionLogEntry> session_log = {};
  std::optional<TaggedRunMetadata> run_metadata = {};

  bool operator==(const Event&) const = default;
};

inline constexpr std::string_view kEventFileVersion = "brain.Event:2";

// The bytes of the message, identical to TensorFlow's.
CROCHET_EXPORT std::string encode_event(const Event& event);

// Reads a message. Fields that Event does not have are skipped, as are values
// of other kinds (images, audio, numeric tensors).
// Throws: DataLossError if the bytes are not a protobuf message.
CROCHET_EXPORT Event decode_event(std::string_view bytes);

}  // namespace crochet::inline v0
