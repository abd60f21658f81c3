// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <streambuf>
#include <string>

namespace crochet::tool {

// Who reads our output wants no more of it. No error: `crochet show x | head` ends so.
struct OutputClosed {};

// Writes to a file descriptor, and knows why that fails, which std::cout does not.
class DescriptorBuffer : public std::streambuf {
 public:
  // `name` is for messages. The descriptor is not owned.
  DescriptorBuffer(int descriptor, std::string name);
  // Does not write what is left: flush before.
  ~DescriptorBuffer() override = default;

 protected:
  // Throw: OutputClosed for EPIPE, else the error of the system.
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
