// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/store_group.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0 {
StoreGroup::StoreGroup(std::shared_ptr<KeyValueStore> store, const GroupOptions& options)
    : Group(options),
      store_(std::move(store)),
      prefix_(fmt::format("crochet/{}/{}/", options.name, options.generation)),
      num_exceptions_(std::uncaught_exceptions()) {
  // Old keys would be taken for those of this run.
  if (store_->add(fmt::format("{}joined/{}", prefix_, rank()), 1) != 1)
    throw AlreadyExistsError(
        fmt::format("{}: another process has already joined generation {} as this rank: a job that "
                    "is started again on the same store needs another generation",
                    who(), generation()));
}

StoreGroup::~StoreGroup() {
  if (std::uncaught_exceptions() > num_exceptions_) leave("an exception ended its program");
}

std::string StoreGroup::key(int64_t number, int rank) const {
  return fmt::format("{}{}/{}", prefix_, number, rank);
}

std::string StoreGroup::answer_key(int64_t number) const {
  return fmt::format("{}{}/answer", prefix_, number);
}

std::string StoreGroup::exchange(int64_t number, const std::string& message, WaitLimit& limit,
                                 const Combine& combine) {
  if (is_chief()) return collect(number, message, limit, combine);
  store_->set(key(number, rank()), message);
  std::optional<Found> answer = wait_for(answer_key(number), limit);
  if (!answer) throw missing_error(number, missing_ranks(number), limit.waited_secs());
  if (!answer->is_failure) store_->remove(key(number, rank()));  // Rank 0 has read it.
  return std::move(answer->value);
}

std::string StoreGroup::collect(int64_t number, const std::string& message, WaitLimit& limit,
                                const Combine& combine) {
  store_->set(key(number, 0), "");  // For ranks that look who is missing.
  std::vector<std::string> messages = {message};
  for (int rank = 1; rank < size(); ++rank) {
    std::optional<Found> found = wait_for(key(number, rank), limit);
    if (!found) {
      const DeadlineExceededError error =
          missing_error(number, missing_ranks(number), limit.waited_secs());
      store_->set(answer_key(number), failure_answer(error));
      throw error;
    }
    if (found->is_failure) {
      store_->set(answer_key(number), found->value);
      return std::move(found->value);
    }
    messages.push_back(std::move(found->value));
  }
  std::string answer = combine(messages);
  store_->set(answer_key(number), answer);
  store_->remove(key(number, 0));
  // All ranks have begun this call, so they have read the answer of the one before it.
  if (number > 1) store_->remove(answer_key(number - 1));
  return answer;
}

std::optional<StoreGroup::Found> StoreGroup::wait_for(const std::string& key, WaitLimit& limit) {
  while (true) {
    if (std::optional<std::string> value = store_->get(key, limit.pause()))
      return Found{*std::move(value)};
    if (std::optional<std::string> failure =
            store_->get(prefix_ + "failed", Clock::Duration::zero()))
      return Found{*std::move(failure), true};
    if (limit.is_over()) return std::nullopt;
  }
}

std::vector<int> StoreGroup::missing_ranks(int64_t number) {
  std::vector<int> missing;
  for (int rank = 0; rank < size(); ++rank)
    if (!store_->get(key(number, rank), Clock::Duration::zero())) missing.push_back(rank);
  return missing;
}

void StoreGroup::send_failure(int64_t number, const std::string& message,
                              const std::string& answer) {
  store_->set(prefix_ + "failed", answer);
  if (is_chief())
    store_->set(answer_key(number), answer);
  else
    store_->set(key(number, rank()), message);
}

}  // namespace crochet::inline v0
