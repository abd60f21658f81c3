// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/restoring.h"

#include <memory>
#include <utility>
#include <vector>

#include "crochet/checkpoint/directory/chosen_checkpoint.h"
#include "crochet/loop/restore_purpose.h"

namespace crochet::inline v0::internal {
namespace {

// While it lives, a restore that selects some values begins another training with them.
class NewTraining {
 public:
  NewTraining(const Graph& graph, bool is_new) {
    if (is_new) purposes_ = graph.attached<RestorePurpose>();
    std::erase_if(purposes_, [](const auto& each) { return !each->is_same_training; });
    for (const auto& each : purposes_) each->is_same_training = false;
  }
  ~NewTraining() {
    for (const auto& each : purposes_) each->is_same_training = true;
  }
  NewTraining(const NewTraining&) = delete;
  NewTraining& operator=(const NewTraining&) = delete;

 private:
  std::vector<std::shared_ptr<RestorePurpose>> purposes_;
};

}  // namespace

RestoreOptions for_saver(RestoreOptions options) {
  if (!options.from.empty()) options.which = Checkpoint::newest();
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

RestoreReport restore_from(Session& session, const RestoreOptions& options, FileSystem* files) {
  SaverOptions saver_options{.write_state = false, .files = files};
  if (!options.only.is_all())
    saver_options.filter = [only = options.only](std::string_view name) {
      return only.match(std::string(name));
    };
  const NewTraining new_training(session.graph(), !options.only.is_all());
  Saver saver(std::move(saver_options), for_saver(options));
  return saver.restore(session, chosen_checkpoint(saver.files(), options.from, options.which));
}

}  // namespace crochet::inline v0::internal
