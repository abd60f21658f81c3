// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// For check_dlpack.py, which loads this with ctypes: holds one tensor, imported and exported.
#include <cstdio>
#include <exception>
#include <string>

#include "crochet/fmt.h"
#include "crochet/tensor/dlpack.h"

namespace {

crochet::Tensor held;
std::string text;

}  // namespace

extern "C" {

// Returns "float32 [2,3]", or the error.
const char* exchange_take(DLManagedTensor* managed) try {
  held = crochet::from_dlpack(managed);
  text = fmt::format("{} {}", held.dtype(), held.shape());
  return text.c_str();
} catch (const std::exception& error) {
  text = error.what();
  return text.c_str();
}

DLManagedTensor* exchange_give() { return to_dlpack(held); }

// Writes to the tensor.
void exchange_zero() {
  for (std::byte& byte : held.mutable_bytes()) byte = std::byte{0};
}

const void* exchange_address() { return held.bytes().data(); }

void exchange_drop() { held = crochet::Tensor(); }

}  // extern "C"
