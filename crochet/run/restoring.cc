// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/restoring.h"

#include <memory>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/chosen_checkpoint.h"
#include "crochet/checkpoint/saver/stored_names.h"
#include "crochet/run/restore_purpose.h"

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

void check_options(const RestoreOptions& options, const std::string& checkpoint_dir) {
  check_stored_names(options.rename);
  const auto refuse = [](const std::string& why) {
    throw InvalidArgumentError("LoopOptions: restore" + why);
  };
  if (options.from.empty() && !options.only.is_all())
    refuse(".only has no effect without restore.from");
  if (!options.from.empty() && options.from == checkpoint_dir)
    refuse(".from is checkpoint_dir, from which the run resumes in any case");
}

void set_restore_options(SaverOptions& saver, const RestoreOptions& options) {
  saver.reshape = options.reshape;
  saver.convert_dtype = options.convert_dtype;
  saver.allow_missing = options.allow_missing;
  saver.allow_mismatched = options.allow_mismatched;
  saver.allow_surplus = options.allow_surplus;
  saver.keep = options.keep;
  saver.rename = options.rename;
  if (options.from.empty()) saver.go_back_to = options.which;
}

RestoreReport restore_from(Session& session, const RestoreOptions& options, FileSystem* files) {
  SaverOptions saver_options{.write_state = false, .files = files};
  set_restore_options(saver_options, options);
  if (!options.only.is_all())
    saver_options.filter = [only = options.only](std::string_view name) {
      return only.match(std::string(name));
    };
  const NewTraining new_training(session.graph(), !options.only.is_all());
  Saver saver(std::move(saver_options));
  return saver.restore(session, chosen_checkpoint(saver.files(), options.from, options.which));
}

}  // namespace crochet::inline v0::internal
