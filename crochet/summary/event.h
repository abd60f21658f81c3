// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crochet {

// What befell a session, with the numbers of TensorFlow's SessionLog.SessionStatus.
enum class SessionLog { kUnspecified = 0, kStart = 1, kStop = 2, kCheckpoint = 3 };

struct SessionLogEntry {
  SessionLog status = SessionLog::kUnspecified;
  // Only for kCheckpoint.
  std::string checkpoint_path = {};
  std::string message = {};

  bool operator==(const SessionLogEntry&) const = default;
};

// A point of a curve.
struct SummaryValue {
  std::string tag = {};
  float simple_value = 0;

  bool operator==(const SummaryValue&) const = default;
};

// One record of a TensorBoard events file: the part of TensorFlow's Event
// message (event.proto, summary.proto) that this library writes. One of
// file_version, values and session_log is set.
//
//   Event      := 1 wall_time:double  2 step:int64  3 file_version:string
//                 5 summary:Summary  7 session_log:SessionLog
//   Summary    := 1 value:Value, repeated
//   Value      := 1 tag:string  2 simple_value:float
//   SessionLog := 1 status:enum  2 checkpoint_path:string  3 msg:string
struct Event {
  // Seconds since 1970-01-01 UTC.
  double wall_time = 0;
  int64_t step = 0;
  // Only in a file's first event: kEventFileVersion.
  std::string file_version = {};
  std::vector<SummaryValue> values = {};
  std::optional<SessionLogEntry> session_log = {};

  bool operator==(const Event&) const = default;
};

inline constexpr std::string_view kEventFileVersion = "brain.Event:2";

// The message's bytes, the same that TensorFlow writes.
std::string encode_event(const Event& event);

// Reads a message. Fields that Event does not have are skipped, also values
// that are no points of a curve (images, histograms, tensors).
// Throws: DataLossError if the bytes are no protobuf message.
Event decode_event(std::string_view bytes);

}  // namespace crochet
