// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/control/internal/control_files.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{64} << 10;

}  // namespace

ControlFiles::ControlFiles(FileSystem& files, const std::string& directory)
    : files_(files),
      request_path_(join_path(directory, "control.json")),
      taken_path_(join_path(directory, "control.taken")),
      answer_path_(join_path(directory, "control.answer")),
      limit_path_(join_path(directory, "control.limit")) {}

void ControlFiles::ask(const ControlRequest& request) {
  replace_file(files_, request_path_, to_json(request));
}

bool ControlFiles::take_back(const ControlRequest& request) {
  try {
    if (parse_request(read(request_path_), request_path_).id != request.id) return false;
    files_.remove(request_path_);
    return true;
  } catch (const NotFoundError&) {
    return false;
  }
}

std::optional<ControlAnswer> ControlFiles::answer_to(const ControlRequest& request) const {
  try {
    const ControlAnswer answer = parse_answer(read(answer_path_), answer_path_);
    return answer.id == request.id ? std::optional(answer) : std::nullopt;
  } catch (const NotFoundError&) {
    return std::nullopt;
  }
}

// A file is claimed by its new name before it is read: nobody can replace it in between.
std::optional<ControlRequest> ControlFiles::take() {
  try {
    if (!files_.exists(request_path_)) return std::nullopt;
    files_.rename(request_path_, taken_path_);
    std::optional<ControlRequest> request;
    try {
      request = parse_request(read(taken_path_), request_path_);
    } catch (const Error& error) {
      log_warning(fmt::format("a request to the run is ignored: {}", error.what()));
    }
    files_.remove(taken_path_);
    return request;
  } catch (const NotFoundError&) {  // Taken back.
  } catch (const Error& error) {
    if (!std::exchange(has_warned_, true))
      log_warning(fmt::format("requests to the run cannot be read: {}", error.what()));
  }
  return std::nullopt;
}

void ControlFiles::answer(const ControlAnswer& answer) {
  try {
    replace_file(files_, answer_path_, to_json(answer));
  } catch (const Error& error) {
    log_warning(fmt::format("the answer to a request cannot be written: {}", error.what()));
  }
}

std::optional<RunLimit> ControlFiles::limit() const {
  try {
    return parse_request(read(limit_path_), limit_path_).limit;
  } catch (const NotFoundError&) {
  } catch (const Error& error) {
    log_warning(fmt::format("the limit of the run is ignored: {}", error.what()));
  }
  return std::nullopt;
}

void ControlFiles::set_limit(const RunLimit& limit) {
  try {
    if (limit.at_step || limit.until)
      replace_file(
          files_, limit_path_,
          to_json(ControlRequest{.id = "limit", .verb = ControlVerb::kLimit, .limit = limit}));
    else if (files_.exists(limit_path_))
      files_.remove(limit_path_);
  } catch (const Error& error) {
    log_warning(fmt::format("the next start will not know the limit of the run: {}", error.what()));
  }
}

std::string ControlFiles::read(const std::string& path) const {
  if (files_.read_symbolic_link(path))
    throw FailedPreconditionError(
        fmt::format("{}: found a symbolic link, expected a plain file", path));
  return read_untrusted_file(files_, path, kMaxBytes, OwnerOfFile::kThisUserOrRoot);
}

}  // namespace crochet::inline v0::internal
