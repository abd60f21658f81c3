// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The header and the entries of a bundle's index, the contents of its table.
#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "fuzz_target.h"

using namespace crochet;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = as_text(data, size);
  expect_typed_errors([&] {
    const auto header = internal::decode_header(bytes, "fuzz.index");
    require(internal::decode_header(internal::encode(header), "fuzz.index") == header);
  });
  return expect_typed_errors([&] {
    const auto entry = internal::decode_entry(bytes, "name", "fuzz.index");
    require(internal::decode_entry(internal::encode(entry), "name", "fuzz.index") == entry);
  });
}
