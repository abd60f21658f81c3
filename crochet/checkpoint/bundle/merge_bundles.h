// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// Merges several checkpoints, whose tensors or slices belong together, into one:
// for example, the parts of one model saved by several processes.
//
//   merge_bundles(FileSystem::posix(), {{"tmp/part-0", "tmp/part-1"}}, "runs/digits/model.ckpt-7");
//
// The data files are not copied: they are renamed to those of `output`, in the order
// of the inputs, which are removed. Everything is checked before anything is renamed.
// `output` exists once its index does, which is written last; if the program dies
// before that, the same call completes the work.
//
// Tensors for which `joins_rows` returns true are in each input as a whole: their rows, in the
// order of the inputs, become one tensor. Inputs may have any number of rows, also none.
//
// `files` is not owned.
// Throws: InvalidArgumentError without inputs, if a tensor is in two of them (unless
// as different slices or rows), if rows are not in all of them, and if byte order or format version
// differ; AlreadyExistsError if a checkpoint `output` exists; NotFoundError and DataLossError for
// inputs that are missing or damaged.
CROCHET_EXPORT void merge_bundles(FileSystem& files, std::span<const std::string> inputs,
                                  const std::string& output,
                                  const std::function<bool(std::string_view)>& joins_rows = {});

}  // namespace crochet::inline v0
