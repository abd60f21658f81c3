// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/module_layout.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/group/internal/message_bytes.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  crochet::internal::MessageWriter writer;
  for (const std::string& line : lines) writer.text(line);
  return writer.take();
}

// How `own` differs from the chief's lines; empty if it does not.
std::string difference(const std::string& chiefs, const std::vector<std::string>& own) {
  crochet::internal::MessageReader reader(chiefs);
  for (const std::string& line : own) {
    if (reader.rest().empty()) return fmt::format("has {}, rank 0 has no such", line);
    const std::string_view expected = reader.text();
    if (line != expected) return fmt::format("has {}, rank 0 has {}", line, expected);
  }
  if (reader.rest().empty()) return "";
  return fmt::format("has nothing in the place of rank 0's {}", reader.text());
}

}  // namespace

std::string describe_layout(const char* kind, const NamedTensor& value) {
  return fmt::format(
      "{} \"{}\": {} [{}]{}", kind, value.name, c10::toString(value.tensor.scalar_type()),
      fmt::join(value.tensor.sizes(), ", "), value.tensor.requires_grad() ? ", requires grad" : "");
}

void check_same_lines(Group& group, const std::vector<std::string>& lines) {
  const std::string own = joined(lines);
  const std::string sum =
      fmt::format("{:08x} {}", crochet::internal::crc32c(std::string_view(own)), own.size());
  if (group.all_distinct(sum).size() == 1) return;
  const std::string chiefs = group.broadcast(own);
  for (const auto& [rank, text] : group.all_distinct(difference(chiefs, lines)))
    if (!text.empty())
      throw InvalidArgumentError(
          fmt::format("libtorch::DataParallel: rank {} of {} {}", rank, group.size(), text));
}

}  // namespace crochet::inline v0::libtorch::internal
