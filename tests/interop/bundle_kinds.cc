// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes a checkpoint of what only some programs have: strings, numbers of two bytes and a
// partitioned variable, merged from two. Prints what is in it, for check_checkpoint.py.
//
//   bundle_kinds <prefix>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "crochet/checkpoint/bundle_writer.h"
#include "crochet/checkpoint/merge_bundles.h"
#include "crochet/io/file_system.h"

using namespace crochet;

namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

nlohmann::json expectation(const Tensor& tensor) {
  nlohmann::json result = {{"dtype", dtype_name(tensor.dtype())},
                           {"shape", std::vector<int64_t>(tensor.shape().dimensions().begin(),
                                                          tensor.shape().dimensions().end())}};
  if (tensor.dtype() != DType::kString) {
    result["hex"] = hex(tensor.bytes());
  } else {
    result["hex"] = nlohmann::json::array();
    for (const std::string& string : tensor.strings())
      result["hex"].push_back(hex(std::as_bytes(std::span(string))));
  }
  return result;
}

}  // namespace

int main(int, char** argv) {
  const std::string prefix = argv[1];
  FileSystem& files = FileSystem::posix();
  const TensorMap tensors = {
      {"bfloat16", Tensor::from<Bfloat16>({Bfloat16(1.5f), Bfloat16(-2)})},
      {"half", Tensor::from<Half>({Half(0.1f), Half(65504)}, {1, 2})},
      {"no_strings", Tensor::from(std::vector<std::string>{}, {0, 2})},
      {"string", Tensor::scalar("one")},
      {"strings",
       Tensor::from({"ab", "", std::string(100'000, 'x'), std::string(3, '\0')}, {2, 2})},
  };
  const Tensor upper = Tensor::from<float>({0, 1, 2, 3}, {2, 2});
  const Tensor lower = Tensor::from<float>({4, 5, 6, 7, 8, 9}, {3, 2});
  BundleWriter first(files, prefix + "-first");
  for (const auto& [name, tensor] : tensors) first.add(name, tensor);
  first.add_slice("parts", {5, 2}, parse_slice("0,2:-"), upper);
  first.finish();
  BundleWriter second(files, prefix + "-second");
  second.add_slice("parts", {5, 2}, parse_slice("2,3:-"), lower);
  second.finish();
  merge_bundles(files, {{prefix + "-first", prefix + "-second"}}, prefix);

  nlohmann::json expected;
  for (const auto& [name, tensor] : tensors) expected[name] = expectation(tensor);
  expected["parts"] = expectation(Tensor::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {5, 2}));
  std::puts(expected.dump(1).c_str());
}
