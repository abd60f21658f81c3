// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/replica_check_hook.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/group/group.h"
#include "crochet/hooks/guards/internal/program_values.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {
namespace {

using internal::crc32c;
using internal::extend_crc32c;

ReplicaCheckHookOptions checked(ReplicaCheckHookOptions options) {
  internal::check_at_least("ReplicaCheckHook: max_rollbacks", options.max_rollbacks, 0);
  if (options.values.empty())
    throw InvalidArgumentError("ReplicaCheckHook: values has no names: nothing is compared");
  return options;
}

// Of a name with its value.
uint32_t checksum(const std::string& name, const Tensor& value) {
  uint32_t crc = crc32c(fmt::format("{} {} {}", name, value.dtype(), value.shape()));
  if (value.dtype() != DType::kString) return extend_crc32c(crc, value.bytes());
  for (const std::string& text : value.strings()) {
    const uint64_t size = text.size();
    crc = extend_crc32c(crc, std::as_bytes(std::span(&size, 1)));
    crc = extend_crc32c(crc, std::as_bytes(std::span(text)));
  }
  return crc;
}

// The checksums that most ranks have; those of the lowest of these ranks.
struct Majority {
  std::vector<int> ranks = {};
  std::vector<int> others = {};
  size_t first_difference = std::string::npos;  // Which value.
  bool is_sure = false;                         // More than half of the ranks.
};

constexpr size_t kCrcBytes = sizeof(uint32_t);

size_t first_difference(const std::string& a, const std::string& b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin()) / kCrcBytes;
}

// `different` are the checksums that there are, `which` has for each rank which of these it has.
Majority majority_of(const std::vector<Group::Distinct>& different,
                     const std::vector<size_t>& which) {
  std::vector<std::vector<int>> ranks(different.size());
  for (size_t rank = 0; rank < which.size(); ++rank)
    ranks.at(which[rank]).push_back(static_cast<int>(rank));
  const auto most = std::ranges::max_element(
      ranks, [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const auto index = static_cast<size_t>(most - ranks.begin());
  Majority majority{.ranks = *most, .is_sure = 2 * most->size() > which.size()};
  for (size_t i = 0; i < different.size(); ++i) {
    if (i == index) continue;
    majority.others.insert(majority.others.end(), ranks[i].begin(), ranks[i].end());
    majority.first_difference = std::min(
        majority.first_difference, first_difference(different[index].bytes, different[i].bytes));
  }
  std::ranges::sort(majority.others);
  return majority;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

}  // namespace

ReplicaCheckHook::ReplicaCheckHook(ReplicaCheckHookOptions options)
    : internal::PeriodicHook(Fetches::List{}, {.every_steps = options.every_n_steps,
                                               .owner = "ReplicaCheckHook",
                                               .steps_option = "every_n_steps"}),
      options_(checked(std::move(options))) {}

ReplicaCheckHook::~ReplicaCheckHook() = default;
ReplicaCheckHook::ReplicaCheckHook(ReplicaCheckHook&&) noexcept = default;

void ReplicaCheckHook::begin(Graph& graph) {
  internal::PeriodicHook::begin(graph);
  agreement_ = internal::agreement_of(graph);
}

void ReplicaCheckHook::after_create_session(Session& session, Coordinator& coordinator) {
  internal::PeriodicHook::after_create_session(session, coordinator);
  // All ranks have read the same checkpoint.
  agreed_step_ = read_global_step(session);
  const auto layout = internal::RankLayout::find(session.graph());
  values_ = std::make_unique<internal::ProgramValues>(
      session, [patterns = options_.values, layout](const std::string& name, DType) {
        return patterns.match(name) && !(layout && layout->is_own(name));
      });
}

void ReplicaCheckHook::look(int64_t step, const FetchValues&, SessionRunContext& context) {
  if (agreement_->is_alone()) return;
  const std::string found = difference(context.session());
  if (found.empty()) {
    agreed_step_ = step;
    num_rollbacks_ = 0;
    return;
  }
  const std::string what =
      fmt::format("ReplicaCheckHook: after step {}, {}; the ranks last agreed after step {}", step,
                  found, agreed_step_);
  if (num_rollbacks_ == options_.max_rollbacks)
    throw DataLossError(num_rollbacks_ == 0 ? what
                                            : fmt::format("{}; the run went back {} times and ends",
                                                          what, num_rollbacks_));
  ++num_rollbacks_;
  context.go_back_to(agreed_step_, fmt::format("{}; rollback {} of at most {}", what,
                                               num_rollbacks_, options_.max_rollbacks));
}

std::string ReplicaCheckHook::difference(Session& session) {
  Group& group = *agreement_->group();
  std::vector<std::string> names;
  std::string own;
  const internal::ProgramValues::Copy copy = values_->read(session);
  values_->for_each(copy, [&](const std::string& name, const Tensor& value) {
    const uint32_t crc = checksum(name, value);
    names.push_back(name);
    own.append(reinterpret_cast<const char*>(&crc), kCrcBytes);
  });
  const std::vector<Group::Distinct> different = group.all_distinct(own);
  if (different.size() == 1) return "";
  const auto own_place =
      std::ranges::find(different, own, &Group::Distinct::bytes) - different.begin();
  std::vector<size_t> which;
  for (const std::string& place : group.all_gather(std::to_string(own_place)))
    which.push_back(std::stoul(place));
  const Majority majority = majority_of(different, which);
  // Ranks may have other values; those of the others are not known here.
  const std::string name = group.broadcast(
      majority.first_difference < names.size() ? names[majority.first_difference] : "",
      majority.ranks.front());
  const std::string value =
      name.empty() ? "the values that there are" : fmt::format("\"{}\"", name);
  if (!majority.is_sure)
    return fmt::format("{} of {} differs from that of {}, and neither are most ranks", value,
                       ranks_text(majority.others), ranks_text(majority.ranks));
  return fmt::format("{} of {} differs from that of {}", value, ranks_text(majority.others),
                     ranks_text(majority.ranks));
}

}  // namespace crochet::inline v0
