// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "crochet/io/file_system.h"

namespace crochet {

// Makes one checkpoint of several whose tensors, or slices of them, belong together:
// what several processes saved of one model.
//
//   merge_bundles(FileSystem::posix(), {{"tmp/part-0", "tmp/part-1"}}, "runs/digits/model.ckpt-7");
//
// The data files are not copied: they are renamed to those of `output`, the first
// input's first, and the inputs are gone afterwards. Everything is checked before
// anything is renamed. `output` exists once its index does, which is the last
// thing made; if the program dies before that, the same call finishes the work.
//
// `files` is not owned.
// Throws: InvalidArgumentError without inputs, if a tensor is in two of them (unless
// as different slices), and if byte order or format version differ; AlreadyExistsError if
// there is a checkpoint `output`; NotFoundError and DataLossError for inputs that are not
// there or not sound.
void merge_bundles(FileSystem& files, std::span<const std::string> inputs,
                   const std::string& output);

}  // namespace crochet
