// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/libtorch/track.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0::libtorch::internal {

// The values that save() writes into an archive, by their names: those of nested archives are
// joined by ":", as names of values may have a "/". Throws: InvalidArgumentError for one that is
// neither a tensor nor a number, text or nothing.
TensorMap values_of_archive(const ArchiveFunctions& functions);
// Has load() read these values.
void load_archive(const TensorMap& values, const ArchiveFunctions& functions);

}  // namespace crochet::inline v0::libtorch::internal
