// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/cloud/mirror_hook.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/internal/rehearsal.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/cloud/internal/s3_store.h"
#include "crochet/hooks/guards/cloud/internal/mirror_thread.h"
#include "crochet/hooks/internal/saved_place.h"

namespace crochet::inline v0::cloud {

using crochet::internal::SavedPlace;

MirrorHook::MirrorHook(const std::string& url, const MirrorHookOptions& options)
    : options_(options), url_(url) {
  crochet::internal::check_at_least("MirrorHook: max_to_keep", options.max_to_keep, 0);
  crochet::internal::check_at_least("MirrorHook: end_secs", options.end_secs, 0);
  crochet::internal::check_at_least("MirrorHook: num_parallel", options.num_parallel, 1);
  store_ = std::make_shared<internal::S3Store>(internal::parse_s3_url(url).bucket,
                                               Clock::or_real(options.clock));
}

MirrorHook::~MirrorHook() = default;
MirrorHook::MirrorHook(MirrorHook&&) noexcept = default;

void MirrorHook::begin(Graph& graph) {
  const auto places = graph.attached<SavedPlace>();
  if (places.empty())
    throw FailedPreconditionError(
        fmt::format("MirrorHook(\"{}\"): no hook before it saves checkpoints", url_));
  SavedPlace& place = *places.back();
  if (crochet::internal::is_rehearsed())
    return log_info(fmt::format("{}: nothing is copied in a rehearsal", url_));
  thread_ = std::make_shared<internal::MirrorThread>(
      internal::MirrorTask{
          .directory = place.directory,
          .basename = place.basename,
          .files = place.files,
          .store = store_,
          .place = internal::parse_s3_url(url_),
          .max_to_keep = options_.max_to_keep,
          .num_parallel = options_.num_parallel,
          .journal = crochet::internal::Journal::find(place.directory, place.files)},
      Clock::or_real(options_.clock));
  place.on_published.emplace_back([thread = std::weak_ptr(thread_)] {
    if (const auto held = thread.lock()) held->wake();
  });
  if (list_checkpoints(place.files, place.directory, place.basename).empty())
    thread_->bring_newest_back();
}

void MirrorHook::after_create_session(Session&, Coordinator&) {
  if (thread_) thread_->start();
}

void MirrorHook::end(Session&) { finish(); }
void MirrorHook::on_error(std::exception_ptr) { finish(); }

void MirrorHook::finish() {
  if (thread_) std::exchange(thread_, nullptr)->finish(options_.end_secs);
}

std::string MirrorHook::activity() const { return thread_ ? thread_->activity() : std::string(); }

}  // namespace crochet::inline v0::cloud
