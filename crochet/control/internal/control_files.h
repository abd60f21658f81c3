// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/control/internal/control_request.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The files in the directory of a run by which it is asked and answers. Each is replaced by a
// rename; only files of this user, or of root, count.
//
//   control.json     a request, until the run takes it
//   control.taken    the same, for the moment in which the run reads it
//   control.answer   the answer to the last request
//   control.limit    when the run ends: the request that it has accepted
class CROCHET_EXPORT ControlFiles {
 public:
  // Requires: `files` outlives this.
  ControlFiles(FileSystem& files, const std::string& directory);

  // For the one who asks. Replaces a request that was not taken.
  void ask(const ControlRequest& request);
  // Takes a request back that nobody has taken; false if it has been taken.
  bool take_back(const ControlRequest& request);
  // Unset until it is there.
  std::optional<ControlAnswer> answer_to(const ControlRequest& request) const;

  // For the run: removes the request from the directory and returns it. Unset if there is none. One
  // that does not count is removed, too, and logged. Errors of files are logged, not thrown.
  std::optional<ControlRequest> take();
  void answer(const ControlAnswer& answer);

  // The limit of the run, as accepted: in a life before, perhaps. Unset as with take().
  std::optional<RunLimit> limit() const;
  // Of neither a step nor a time: none.
  void set_limit(const RunLimit& limit);

 private:
  // The content of a small plain file of this user. Throws: FailedPreconditionError if it is not
  // one, and as read_untrusted_file().
  std::string read(const std::string& path) const;

  FileSystem& files_;  // Not owned; outlives this.
  const std::string request_path_;
  const std::string taken_path_;
  const std::string answer_path_;
  const std::string limit_path_;
  bool has_warned_ = false;
};

}  // namespace crochet::inline v0::internal
