// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads a checkpoint that write_bundles.py made and compares it, bit for bit, with the expected
// contents: the same file format as for check_checkpoint.py, plus "slices" for partitioned tensors.
//
//   check_bundle <prefix> <expected.json>
#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/tensor/tensor_slice.h"
#include "tests/interop/interop_tensors.h"

using namespace crochet;
using nlohmann::json;

namespace {

int num_mismatches = 0;

void check_equal(const std::string& what, const json& found, const json& expected) {
  if (found == expected) return;
  ++num_mismatches;
  fmt::print(stderr, "{}: found {}, expected {}\n", what, found.dump().substr(0, 500),
             expected.dump().substr(0, 500));
}

void check_slices(const CheckpointReader& reader, const std::string& name, const json& expected) {
  json found = json::array();
  for (const TensorSlice& slice : reader.slices(name)) found.push_back(to_string(slice));
  check_equal(name + ": slices", found, expected);
}

}  // namespace

int main(int, char** argv) {
  json expected;
  std::ifstream(argv[2]) >> expected;
  const CheckpointReader reader(argv[1]);
  reader.verify();
  check_equal("number of tensors", reader.tensors().size(), expected.size());
  for (auto& [name, tensor] : expected.items()) {
    const json slices = tensor.value("slices", json::array());
    tensor.erase("slices");
    check_slices(reader, name, slices);
    check_equal(name, expectation(reader.read(name)), tensor);
  }
  return num_mismatches == 0 ? 0 : 1;
}
