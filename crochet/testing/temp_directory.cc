// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/temp_directory.h"

#include <errno.h>
#include <stdlib.h>

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/errno_error.h"

namespace crochet::inline v0 {
namespace {

std::string make_fresh_directory() {
  const char* const parent = ::getenv("TMPDIR");
  const bool given = parent != nullptr && *parent != '\0';
  std::string path = join_path(given ? parent : "/tmp", "crochet-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) internal::throw_errno(errno, path, "mkdtemp");
  return path;
}

}  // namespace

TempDirectory::TempDirectory() : path_(make_fresh_directory()) {}

TempDirectory::~TempDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error)
    log_warning(fmt::format("{}: could not be removed completely: {}", path_, error.message()));
}

std::string TempDirectory::operator/(std::string_view name) const { return join_path(path_, name); }

}  // namespace crochet::inline v0
