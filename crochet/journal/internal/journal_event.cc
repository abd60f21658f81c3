// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/journal/internal/journal_event.h"

#include <algorithm>

#include "crochet/base/internal/json_text.h"

namespace crochet::inline v0::internal {
namespace {

// A line always fits into the part of a file that is read to find the last one.
constexpr size_t kMaxTextBytes = 4096;

std::string cut(const std::string& text, size_t max_bytes) {
  return text.size() <= max_bytes ? text : text.substr(0, max_bytes) + "...";
}

struct AddValue {
  JsonText& line;

  void operator()(bool value) const { line.add(value); }
  void operator()(int64_t value) const { line.add(value); }
  void operator()(double value) const { line.add(value); }
  void operator()(const std::string& value) const { line.add(cut(value, kMaxTextBytes)); }
  void operator()(const std::vector<std::string>& texts) const {
    size_t left = kMaxTextBytes;
    line.begin_list();
    for (const std::string& text : texts) {
      if (left == 0) break;
      const std::string shown = cut(text, left);
      line.add(shown);
      left -= std::min(left, shown.size() + 1);
    }
    line.end_list();
  }
};

}  // namespace

std::string JournalEvent::line(const JournalStamp& stamp) const {
  JsonText line;
  line.begin_object();
  line.member("event", name_);
  line.member("life", stamp.life);
  line.member("step", step_.value_or(stamp.step));
  line.member("time", stamp.time);
  line.member("steady", stamp.steady);
  for (const auto& [key, value] : fields_) {
    line.key(key);
    std::visit(AddValue{line}, value);
  }
  line.end_object();
  return line.take() + '\n';
}

}  // namespace crochet::inline v0::internal
