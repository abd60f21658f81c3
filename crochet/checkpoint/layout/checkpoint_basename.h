// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/base/export.h"
#include "crochet/io/file_name.h"

namespace crochet::inline v0 {

// What the checkpoints of a run are called in their directory: "model.ckpt" in
// "runs/digits/model.ckpt-2000". What is saved under such a name is found by every later start.
class CROCHET_EXPORT CheckpointBasename {
 public:
  // Throws: InvalidArgumentError as FileName; for a name of more than 128 bytes, to which files of
  // checkpoints append up to 100; and for a name whose checkpoints are not recognized in a listing,
  // such as "m-00001-of", since "m-00001-of-00000100.safetensors" is a part of a checkpoint "m".
  CheckpointBasename(std::string name);
  CheckpointBasename(const char* name) : CheckpointBasename(std::string(name)) {}

  const std::string& str() const { return name_.str(); }
  operator const std::string&() const { return name_; }

  friend bool operator==(const CheckpointBasename&, const CheckpointBasename&) = default;

 private:
  FileName name_;
};

}  // namespace crochet::inline v0
