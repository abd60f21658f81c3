// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/event.h"

#include <protozero/pbf_message.hpp>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"

namespace crochet {
namespace {

// Field numbers of TensorFlow's event.proto and summary.proto.
enum class EventField : protozero::pbf_tag_type {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kSessionLog = 7,
};
enum class SummaryField : protozero::pbf_tag_type { kValue = 1 };
enum class ValueField : protozero::pbf_tag_type { kTag = 1, kSimpleValue = 2 };
enum class SessionLogField : protozero::pbf_tag_type {
  kStatus = 1,
  kCheckpointPath = 2,
  kMessage = 3,
};

template <typename Field>
constexpr protozero::pbf_tag_type number(Field field) {
  return static_cast<protozero::pbf_tag_type>(field);
}

// A field with its type on the wire: a known number with a type that is not
// the field's own is skipped like an unknown field.
constexpr uint32_t wire(auto field, protozero::pbf_wire_type type) {
  return protozero::tag_and_type(number(field), type);
}
constexpr auto kVarint = protozero::pbf_wire_type::varint;
constexpr auto kFixed32 = protozero::pbf_wire_type::fixed32;
constexpr auto kFixed64 = protozero::pbf_wire_type::fixed64;
constexpr auto kBytes = protozero::pbf_wire_type::length_delimited;

void write_summary(protozero::pbf_writer& event, const std::vector<SummaryValue>& values) {
  protozero::pbf_writer summary(event, number(EventField::kSummary));
  for (const SummaryValue& value : values) {
    protozero::pbf_writer message(summary, number(SummaryField::kValue));
    if (!value.tag.empty()) message.add_string(number(ValueField::kTag), value.tag);
    message.add_float(number(ValueField::kSimpleValue), value.simple_value);
  }
}

std::string encode_session_log(const SessionLogEntry& log) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  if (log.status != SessionLog::kUnspecified)
    message.add_enum(number(SessionLogField::kStatus), static_cast<int32_t>(log.status));
  if (!log.checkpoint_path.empty())
    message.add_string(number(SessionLogField::kCheckpointPath), log.checkpoint_path);
  if (!log.message.empty()) message.add_string(number(SessionLogField::kMessage), log.message);
  return bytes;
}

std::optional<SummaryValue> read_value(protozero::pbf_reader message) {
  SummaryValue value;
  bool is_point = false;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case wire(ValueField::kTag, kBytes):
        value.tag = message.get_string();
        break;
      case wire(ValueField::kSimpleValue, kFixed32):
        value.simple_value = message.get_float();
        is_point = true;
        break;
      default:
        message.skip();
    }
  }
  return is_point ? std::optional(value) : std::nullopt;
}

void read_summary(protozero::pbf_reader message, std::vector<SummaryValue>& values) {
  while (message.next()) {
    if (message.tag_and_type() != wire(SummaryField::kValue, kBytes)) {
      message.skip();
    } else if (auto value = read_value(message.get_message())) {
      values.push_back(*std::move(value));
    }
  }
}

SessionLogEntry read_session_log(protozero::pbf_reader message) {
  SessionLogEntry log;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case wire(SessionLogField::kStatus, kVarint):
        log.status = static_cast<SessionLog>(message.get_enum());
        break;
      case wire(SessionLogField::kCheckpointPath, kBytes):
        log.checkpoint_path = message.get_string();
        break;
      case wire(SessionLogField::kMessage, kBytes):
        log.message = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return log;
}

Event read_event(protozero::pbf_reader message) {
  Event event;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case wire(EventField::kWallTime, kFixed64):
        event.wall_time = message.get_double();
        break;
      case wire(EventField::kStep, kVarint):
        event.step = message.get_int64();
        break;
      case wire(EventField::kFileVersion, kBytes):
        event.file_version = message.get_string();
        break;
      case wire(EventField::kSummary, kBytes):
        read_summary(message.get_message(), event.values);
        break;
      case wire(EventField::kSessionLog, kBytes):
        event.session_log = read_session_log(message.get_message());
        break;
      default:
        message.skip();
    }
  }
  return event;
}

}  // namespace

std::string encode_event(const Event& event) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  // As protobuf does it, zero and empty are left out.
  if (event.wall_time != 0) message.add_double(number(EventField::kWallTime), event.wall_time);
  if (event.step != 0) message.add_int64(number(EventField::kStep), event.step);
  if (!event.file_version.empty())
    message.add_string(number(EventField::kFileVersion), event.file_version);
  if (!event.values.empty()) write_summary(message, event.values);
  if (event.session_log)
    message.add_message(number(EventField::kSessionLog), encode_session_log(*event.session_log));
  return bytes;
}

Event decode_event(std::string_view bytes) {
  try {
    return read_event(protozero::pbf_reader(bytes.data(), bytes.size()));
  } catch (const protozero::exception& error) {
    throw DataLossError("event of {} bytes: not a protobuf message: {}", bytes.size(),
                        error.what());
  }
}

}  // namespace crochet
