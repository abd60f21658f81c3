// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/json_lines_writer.h"

#include <unordered_map>

#include "crochet/base/internal/json_text.h"
#include "crochet/base/log.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/torn_line.h"

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

constexpr std::string_view kBegins[] = {"{\"step\":", "{\"resumed_at\":"};

}  // namespace

JsonLinesWriter::JsonLinesWriter(FileSystem& files, std::string path)
    : files_(files), path_(std::move(path)) {
  files_.create_directories(directory_of(path_));
  const TornLine torn = cut_torn_line(files_, path_, kBegins);
  if (!torn.warning.empty()) log_warning(torn.warning);
  file_ = files_.append_to(path_);
  if (!torn.begin.empty()) file_->append(torn.begin);
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
