// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/base/export.h"

namespace crochet::inline v0 {

// The name of a file in a directory, chosen by a program: it cannot lead out of the directory, and
// listings show it.
class CROCHET_EXPORT FileName {
 public:
  // Throws: InvalidArgumentError for a name that is empty, longer than 255 bytes, contains a '/' or
  // a zero byte, or starts with a '.'.
  FileName(std::string name);
  FileName(const char* name) : FileName(std::string(name)) {}

  const std::string& str() const { return name_; }
  operator const std::string&() const { return name_; }

  friend bool operator==(const FileName&, const FileName&) = default;

 private:
  std::string name_;
};

}  // namespace crochet::inline v0
