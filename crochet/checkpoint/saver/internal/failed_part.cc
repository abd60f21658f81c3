// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/failed_part.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/untrusted_file.h"

// The file is "<code>\n<message>".
namespace crochet::inline v0::internal {
namespace {

constexpr uint64_t kMaxReasonBytes = 4096;

}  // namespace

void report_failed_part(FileSystem& files, const std::string& prefix,
                        const std::exception_ptr& error) noexcept {
  try {
    Code code = Code::kUnknown;
    try {
      std::rethrow_exception(error);
    } catch (const Error& its) {
      code = its.code();
    } catch (...) {
    }
    const std::string path = failed_part_filename(prefix);
    const std::string text = fmt::format("{}\n{}", static_cast<int>(code), describe(error));
    try {
      replace_file(files, path, text.substr(0, kMaxReasonBytes));
    } catch (const Error&) {
      files.create(path)->close();  // On a full disk there may be room for a name.
    }
  } catch (const std::exception& other) {
    log_lazily(Severity::kWarning, [&] {
      return fmt::format("{}: the reason of a failure cannot be left for the chief: {}", prefix,
                         other.what());
    });
  }
}

void throw_failed_part(FileSystem& files, const std::string& prefix, int rank) {
  const std::string text =
      read_untrusted_file(files, failed_part_filename(prefix), kMaxReasonBytes);
  if (text.empty())
    throw ResourceExhaustedError(fmt::format(
        "rank {} could not write its part, nor the reason: the disk may be full", rank));
  int code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool is_known = error == std::errc() && code >= static_cast<int>(Code::kCancelled) &&
                        code <= static_cast<int>(Code::kUnauthenticated);
  throw_error(
      is_known ? static_cast<Code>(code) : Code::kUnknown,
      fmt::format("rank {} could not write its part: {}", rank, text.substr(text.find('\n') + 1)));
}

}  // namespace crochet::inline v0::internal
