// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/initial_values.h"

#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/internal/listed.h"
#include "crochet/io/internal/checksum128.h"
#include "crochet/tensor/internal/visit_type.h"

namespace crochet::inline v0::internal {
namespace {

// Begins the text of a value that counts as its digest.
constexpr std::string_view kDigest = "digest ";

std::string digest(std::span<const std::byte> bytes) {
  const Checksum128 sum = checksum128(bytes);
  return fmt::format("{}{:016x}{:016x}", kDigest, sum.high, sum.low);
}

std::string text_of(const Tensor& value) {
  // It may be a secret.
  if (value.dtype() == DType::kString) return digest(std::as_bytes(std::span(value.strings()[0])));
  std::string text;
  const bool is_number = value.num_elements() == 1;
  if (is_number && visit_real_type(value.dtype(), [&]<typename T>(T) {
        const T number = value.flat<T>()[0];
        if constexpr (std::is_arithmetic_v<T>)
          text = fmt::to_string(number);
        else
          text = fmt::to_string(static_cast<float>(number));
      }))
    return text;
  return digest(value.bytes());
}

// `"lr" = 0.01 (began with 0.1, and has 0.05 in the checkpoint)`.
std::string difference(const std::string& name, const std::string& own, const std::string& before,
                       const std::string& restored) {
  if (own.starts_with(kDigest) || before.starts_with(kDigest))
    return fmt::format("\"{}\" (another text, state or seed)", name);
  return fmt::format("\"{}\" is {} (was {}; {} in the checkpoint)", name, own, before, restored);
}

}  // namespace

InitialValues& InitialValues::of(Graph& graph) {
  if (const auto known = find(graph)) return *known;
  const auto values = std::make_shared<InitialValues>();
  graph.attach(values);
  return *values;
}

std::shared_ptr<InitialValues> InitialValues::find(const Graph& graph) {
  const auto attached = graph.attached<InitialValues>();
  return attached.empty() ? nullptr : attached.front();
}

void InitialValues::add(std::string name, std::function<Tensor()> read) {
  num_name_bytes_ += name.size();
  if (num_name_bytes_ <= kMaxBytes) readers_.insert_or_assign(std::move(name), std::move(read));
}

const InitialValues::Texts& InitialValues::at_start() {
  if (!at_start_) at_start_ = read();
  return *at_start_;
}

InitialValues::Texts InitialValues::read() const {
  Texts texts;
  size_t num_bytes = 0;
  for (const auto& [name, read] : readers_) {
    std::string text = text_of(read());
    num_bytes += name.size() + text.size();
    if (num_bytes > kMaxBytes) break;
    texts.emplace(name, std::move(text));
  }
  return texts;
}

std::string InitialValues::first_differences(const Texts& recorded, const NamePatterns& keep) {
  if (std::exchange(has_compared_, true)) return {};
  const Texts restored = read();
  std::vector<std::string> differences, names;
  for (const auto& [name, own] : at_start()) {
    const auto before = recorded.find(name);
    const auto now = restored.find(name);
    if (before == recorded.end() || now == restored.end() || before->second == own ||
        now->second == own || keep.match(name))
      continue;
    differences.push_back(difference(name, own, before->second, now->second));
    names.push_back(fmt::format("\"{}\"", name));
  }
  if (differences.empty()) return {};
  return fmt::format(
      "this program begins with other settings than before: {}; the checkpoint's count, and "
      ".restore = {{.keep = {{{}}}}} keeps this program's",
      listed(differences), fmt::join(names, ", "));
}

}  // namespace crochet::inline v0::internal
