// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/restoring.h"

#include <memory>
#include <utility>

#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/tracking/internal/restore_purpose.h"

namespace crochet::inline v0::internal {
namespace {

// While it lives, the checkpoint of another run is restored; if only some values are selected, they
// begin another training.
class OtherRun {
 public:
  OtherRun(Graph& graph, bool is_new_training)
      : purpose_(RestorePurpose::of(graph)), before_(*purpose_) {
    purpose_->is_own_run = false;
    if (is_new_training) purpose_->is_same_training = false;
  }
  ~OtherRun() { *purpose_ = before_; }
  OtherRun(const OtherRun&) = delete;
  OtherRun& operator=(const OtherRun&) = delete;

 private:
  const std::shared_ptr<RestorePurpose> purpose_;
  const RestorePurpose before_;
};

}  // namespace

RestoreOptions for_saver(RestoreOptions options) {
  if (!options.from.empty()) options.which = CheckpointChoice::newest();
  options.from.clear();
  options.only = true;
  return options;
}

SaverOptions saver_options(const CheckpointOptions& checkpoint, FileSystem* files, Clock* clock) {
  SaverOptions saver = checkpoint.saver;
  if (saver.files == nullptr) saver.files = files;
  if (saver.clock == nullptr) saver.clock = clock;
  return saver;
}

RestoreReport restore_from(Session& session, const RestoreOptions& options, FileSystem* files,
                           const std::function<bool(std::string_view name)>& is_left) {
  SaverOptions saver_options{
      .write_state = false, .allow_empty = static_cast<bool>(is_left), .files = files};
  if (!options.only.is_all() || is_left)
    saver_options.filter = [only = options.only, is_left](std::string_view name) {
      return only.match(std::string(name)) && (!is_left || is_left(name));
    };
  const OtherRun other_run(session.graph(), !options.only.is_all());
  Saver saver(std::move(saver_options), for_saver(options));
  return saver.restore(session, chosen_checkpoint(saver.files(), options.from, options.which));
}

}  // namespace crochet::inline v0::internal
