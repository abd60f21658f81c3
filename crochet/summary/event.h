// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/summary/summary_value.h"

namespace crochet::inline v0 {

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
//                 5 summary:Summary (summary_value.h)  7 session_log:SessionLog
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
