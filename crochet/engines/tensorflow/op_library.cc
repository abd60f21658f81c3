// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/status.h"

namespace crochet::inline v0::tensorflow {

// Deleting the handle leaves the library loaded.
void load_op_library(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw NotFoundError(
        fmt::format("{}: there is no such file: no library of operations is loaded", path));
  internal::Status status;
  // An absolute path: the linker would search other directories first for a bare name.
  const std::string absolute = std::filesystem::absolute(path).string();
  TF_Library* const library = TF_LoadLibrary(absolute.c_str(), status.get());
  status.check(fmt::format("{}: loading a library of operations", path));
  TF_DeleteLibraryHandle(library);
}

}  // namespace crochet::inline v0::tensorflow
