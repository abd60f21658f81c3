// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/event_file_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event_file_reader.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

int64_t seconds_for_new_file(FileSystem& files, const Clock& clock, const std::string& directory) {
  auto seconds = static_cast<int64_t>(clock.wall_time());
  for (const std::string& name : files.list(directory)) {
    const auto other = event_file_seconds(name);
    if (other) seconds = std::max(seconds, *other + 1);
  }
  return seconds;
}

std::string new_file_name(int64_t seconds) {
  static std::atomic<int64_t> next_number = 0;
  return fmt::format("{}{:010d}.{}.{}.{}", kEventFilePrefix, seconds, host_name(), getpid(),
                     next_number++);
}

}  // namespace

EventFileWriter::EventFileWriter(FileSystem& files, const Clock& clock, std::string directory)
    : files_(files), directory_(std::move(directory)) {
  files_.create_directories(directory_);
  path_ = join_path(directory_, new_file_name(seconds_for_new_file(files_, clock, directory_)));
  records_.emplace(files_.create(path_));
  write({.wall_time = clock.wall_time(), .file_version = std::string(kEventFileVersion)});
  flush();
}

void EventFileWriter::write(const Event& event) {
  const std::string bytes = encode_event(event);
  or_end([&](RecordWriter& records) {
    records.write(bytes);
    if (records.buffered_bytes() >= kBufferBytes) records.flush();
  });
}

void EventFileWriter::flush() {
  or_end([](RecordWriter& records) { records.flush(); });
}

void EventFileWriter::sync() {
  or_end([&](RecordWriter& records) {
    records.sync();
    files_.sync_directory(directory_);
  });
}

template <typename Operation>
void EventFileWriter::or_end(Operation operation) {
  if (!records_) throw FailedPreconditionError(fmt::format("{}: write after a write error", path_));
  try {
    operation(*records_);
  } catch (...) {
    end();
    throw;
  }
}

void EventFileWriter::end() {
  const uint64_t whole_bytes = records_->flushed_bytes();
  records_.reset();
  try {
    if (whole_bytes == 0) {
      files_.remove(path_);
    } else {
      files_.truncate(path_, whole_bytes);
    }
  } catch (...) {  // Readers tolerate a truncated record at the end of a file.
  }
}

}  // namespace crochet::inline v0::internal
