// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/restoring.h"

#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/chosen_checkpoint.h"
#include "crochet/checkpoint/saver/stored_names.h"
#include "crochet/run/resized_values.h"

namespace crochet::inline v0::internal {

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
  Saver saver(std::move(saver_options));
  const ResizedValues resized(session.graph());
  RestoreReport report =
      saver.restore(session, chosen_checkpoint(saver.files(), options.from, options.which));
  resized.log(report.prefix);
  return report;
}

}  // namespace crochet::inline v0::internal
