// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What the programs share: where they save, when they end, and what they print.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "crochet/crochet.h"

// program DIRECTORY LAST_STEP
inline crochet::LoopOptions options_of(char** argv) {
  return {.checkpoint = {.dir = argv[1], .every_secs = 0.1},
          .hooks = {crochet::StopAtStepHook({.last_step = std::atoll(argv[2])})}};
}

// Of all bits that a program has computed.
class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes)
      value_ = (value_ ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  }
  template <typename T>
  void add(const T* values, size_t number) {
    add(std::string_view(reinterpret_cast<const char*>(values), number * sizeof(T)));
  }
  template <typename T>
  void add_value(const T& value) {
    add(&value, 1);
  }
  void print() const { std::cout << "digest " << value_ << "\n"; }

 private:
  uint64_t value_ = 14695981039346656037u;
};
