// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/event.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/proto_fields.h"

namespace crochet::inline v0 {
namespace {

using namespace internal;

// Field numbers of TensorFlow's event.proto.
enum class EventField {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kSessionLog = 7,
  kTaggedRunMetadata = 8,
};
enum class SessionLogField { kStatus = 1, kCheckpointPath = 2, kMessage = 3 };
enum class TaggedRunMetadataField { kTag = 1, kRunMetadata = 2 };

std::string encode_session_log(const SessionLogEntry& log) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  add_int_unless_zero(message, SessionLogField::kStatus, static_cast<int32_t>(log.status));
  add_text_unless_empty(message, SessionLogField::kCheckpointPath, log.checkpoint_path);
  add_text_unless_empty(message, SessionLogField::kMessage, log.message);
  return bytes;
}

std::string encode_run_metadata(const TaggedRunMetadata& metadata) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  add_text_unless_empty(message, TaggedRunMetadataField::kTag, metadata.tag);
  add_text_unless_empty(message, TaggedRunMetadataField::kRunMetadata, metadata.run_metadata);
  return bytes;
}

SessionLogEntry read_session_log(const protozero::pbf_reader& message) {
  SessionLogEntry log;
  read_fields(message, number_at(SessionLogField::kStatus, log.status),
              text_at(SessionLogField::kCheckpointPath, log.checkpoint_path),
              text_at(SessionLogField::kMessage, log.message));
  return log;
}

TaggedRunMetadata read_run_metadata(const protozero::pbf_reader& message) {
  TaggedRunMetadata metadata;
  read_fields(message, text_at(TaggedRunMetadataField::kTag, metadata.tag),
              text_at(TaggedRunMetadataField::kRunMetadata, metadata.run_metadata));
  return metadata;
}

Event read_event(const protozero::pbf_reader& message) {
  Event event;
  const auto add_values = [&](protozero::pbf_reader& field) {
    const protozero::data_view summary = field.get_view();
    for (SummaryValue& value : decode_summary({summary.data(), summary.size()}))
      event.values.push_back(std::move(value));
  };
  read_fields(message, double_at(EventField::kWallTime, event.wall_time),
              number_at(EventField::kStep, event.step),
              text_at(EventField::kFileVersion, event.file_version),
              field_at(EventField::kSummary, kBytes, add_values),
              message_at(EventField::kSessionLog,
                         [&](const auto& log) { event.session_log = read_session_log(log); }),
              message_at(EventField::kTaggedRunMetadata, [&](const auto& metadata) {
                event.run_metadata = read_run_metadata(metadata);
              }));
  return event;
}

}  // namespace

std::string encode_event(const Event& event) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  add_double_unless_zero(message, EventField::kWallTime, event.wall_time);
  add_int_unless_zero(message, EventField::kStep, event.step);
  add_text_unless_empty(message, EventField::kFileVersion, event.file_version);
  // The fields of a message may be in any order: two concatenated messages are one.
  if (!event.values.empty() || !event.encoded_values.empty())
    message.add_message(number(EventField::kSummary),
                        encode_summary(event.values) + event.encoded_values);
  if (event.session_log)
    message.add_message(number(EventField::kSessionLog), encode_session_log(*event.session_log));
  if (event.run_metadata)
    message.add_message(number(EventField::kTaggedRunMetadata),
                        encode_run_metadata(*event.run_metadata));
  return bytes;
}

Event decode_event(std::string_view bytes) {
  try {
    return read_event(protozero::pbf_reader(bytes.data(), bytes.size()));
  } catch (const protozero::exception& error) {
    throw DataLossError(
        fmt::format("event of {} bytes: not a protobuf message: {}", bytes.size(), error.what()));
  }
}

}  // namespace crochet::inline v0
