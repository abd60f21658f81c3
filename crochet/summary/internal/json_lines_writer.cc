// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/json_lines_writer.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "crochet/base/internal/json_text.h"
#include "crochet/base/log.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

void add_list(JsonText& line, const char* name, const std::vector<double>& numbers) {
  line.key(name);
  line.begin_list();
  for (const double number : numbers) line.add(number);
  line.end_list();
}

void add_histogram(JsonText& line, const Histogram& histogram) {
  line.begin_object();
  line.member("min", histogram.min);
  line.member("max", histogram.max);
  line.member("num", histogram.num);
  line.member("sum", histogram.sum);
  line.member("sum_squares", histogram.sum_squares);
  add_list(line, "bucket_limit", histogram.bucket_limit);
  add_list(line, "bucket", histogram.bucket);
  line.end_object();
}

// The strings of a text from `next` on, nested like its dimensions from `dimension` on.
void add_text(JsonText& line, const Tensor& text, int dimension, size_t& next) {
  if (dimension == text.shape().rank()) return line.add(text.strings()[next++]);
  line.begin_list();
  for (int64_t i = 0; i < text.shape()[dimension]; ++i) add_text(line, text, dimension + 1, next);
  line.end_list();
}

void add_value(JsonText& line, const SummaryValue& value) {
  if (value.histogram) return add_histogram(line, *value.histogram);
  if (!value.text.is_set()) return line.add(double{value.simple_value});
  size_t next = 0;
  add_text(line, value.text, 0, next);
}

std::string key_for(const std::string& tag) {
  const bool is_taken = tag == "step" || tag == "time" || tag == "resumed_at";
  return is_taken ? tag + "_" : tag;
}

// Of values with the same tag, the last one.
std::string line_of(int64_t step, double time, std::span<const SummaryValue> values) {
  std::unordered_map<std::string, const SummaryValue*> last;
  for (const SummaryValue& value : values) last[key_for(value.tag)] = &value;
  JsonText line;
  line.begin_object();
  line.member("step", step);
  line.member("time", time);
  for (const SummaryValue& value : values) {
    const std::string key = key_for(value.tag);
    if (last.at(key) != &value) continue;
    line.key(key);
    add_value(line, value);
  }
  line.end_object();
  return line.take() + '\n';
}

std::string resumed_line(int64_t step, double time) {
  JsonText line;
  line.begin_object();
  line.member("resumed_at", step);
  line.member("time", time);
  line.end_object();
  return line.take() + '\n';
}

// More than any line: a longer one was not left by a killed run.
constexpr uint64_t kMaxTornBytes = uint64_t{64} << 20;

// The number of bytes up to and including the last newline; unset if the last line is longer than
// kMaxTornBytes.
std::optional<uint64_t> whole_lines_bytes(const ReadableFile& file) {
  constexpr uint64_t kBlockBytes = uint64_t{64} << 10;
  const uint64_t size = file.size();
  for (uint64_t end = size; end > 0;) {
    if (size - end >= kMaxTornBytes) return std::nullopt;
    const uint64_t begin = end - std::min(end, kBlockBytes);
    std::string block(end - begin, '\0');
    file.read_at(begin, std::as_writable_bytes(std::span(block)));
    const size_t newline = block.rfind('\n');
    if (newline != std::string::npos) return begin + newline + 1;
    end = begin;
  }
  return 0;
}

// True if one of our lines may begin like this; some file systems leave zeros after a power cut.
bool is_begin_of_line(std::string_view text) {
  constexpr std::string_view kBegins[] = {"{\"step\":", "{\"resumed_at\":"};
  return text.starts_with('\0') || std::ranges::any_of(kBegins, [&](std::string_view begin) {
           return begin.starts_with(text.substr(0, begin.size()));
         });
}

// Returns the text to write first, so that the next line starts on its own.
std::string_view cut_torn_line(FileSystem& files, const std::string& path) {
  if (!files.exists(path)) return "";
  const std::unique_ptr<ReadableFile> file = files.open(path);
  const std::optional<uint64_t> whole_bytes = whole_lines_bytes(*file);
  if (!whole_bytes) {
    log_warning(fmt::format("{}: no line ends in the last {} bytes; they are left as they are",
                            path, kMaxTornBytes));
    return "\n";
  }
  if (*whole_bytes == file->size()) return "";
  std::string begin(std::min<uint64_t>(16, file->size() - *whole_bytes), '\0');
  file->read_at(*whole_bytes, std::as_writable_bytes(std::span(begin)));
  if (!is_begin_of_line(begin)) {
    log_warning(
        fmt::format("{}: the last line is incomplete and not ours; it is left as it is", path));
    return "\n";
  }
  files.truncate(path, *whole_bytes);
  return "";
}

}  // namespace

JsonLinesWriter::JsonLinesWriter(FileSystem& files, std::string path)
    : files_(files), path_(std::move(path)) {
  files_.create_directories(directory_of(path_));
  const std::string_view begin = cut_torn_line(files_, path_);
  file_ = files_.append_to(path_);
  if (!begin.empty()) file_->append(begin);
}

void JsonLinesWriter::write(int64_t step, double time, std::span<const SummaryValue> values) {
  file_->append(std::string_view(line_of(step, time, values)));
}

void JsonLinesWriter::write_resumed(int64_t step, double time) {
  file_->append(std::string_view(resumed_line(step, time)));
}

void JsonLinesWriter::replace_from(
    int64_t step, double time,
    std::span<const std::pair<int64_t, std::vector<SummaryValue>>> points) {
  std::string lines = resumed_line(step - 1, time);
  for (const auto& [each, values] : points) lines += line_of(each, time, values);
  file_->append(std::string_view(lines));
}

void JsonLinesWriter::sync() {
  file_->sync();
  files_.sync_directory(directory_of(path_));
}

}  // namespace crochet::inline v0::internal
