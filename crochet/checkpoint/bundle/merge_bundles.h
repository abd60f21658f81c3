// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "crochet/base/export.h"
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
// `files` is not owned.
// Throws: InvalidArgumentError without inputs, if a tensor is in two of them (unless
// as different slices), and if byte order or format version differ; AlreadyExistsError if
// a checkpoint `output` exists; NotFoundError and DataLossError for inputs that are missing
// or damaged.
CROCHET_EXPORT void merge_bundles(FileSystem& files, std::span<const std::string> inputs,
                                  const std::string& output);

}  // namespace crochet::inline v0
