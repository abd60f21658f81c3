// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <streambuf>
#include <string>

namespace crochet::tool {

// Thrown when the reader of the output has closed it. Not an error: see `crochet show x | head`.
struct OutputClosed {};

// Writes to a file descriptor and, unlike std::cout, reports why that fails.
class DescriptorBuffer : public std::streambuf {
 public:
  // `name` is for messages. The descriptor is not owned.
  DescriptorBuffer(int descriptor, std::string name);
  // Does not write buffered bytes. Requires: flush before.
  ~DescriptorBuffer() override = default;

 protected:
  // Throw: OutputClosed for EPIPE, otherwise the system's error.
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize length) override;
  int sync() override;

 private:
  void write_all();

  const int descriptor_;
  const std::string name_;
  std::string pending_;
};

}  // namespace crochet::tool
