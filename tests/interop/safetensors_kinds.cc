// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes checkpoints with everything that safetensors files can hold: `kinds`, with checksums and
// types that the format itself lacks; `shards`, in three files; `plain`, for which Python's package
// must write the same bytes. Prints the contents of each for check_safetensors.py.
//
//   safetensors_kinds <directory>
#include <cstdio>
#include <random>

#include "crochet/checkpoint/safetensors/internal/safetensors_types.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"
#include "crochet/fmt.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/internal/small_number.h"
#include "tests/interop/interop_tensors.h"

using namespace crochet;
using nlohmann::json;

namespace {

// Any bits, except for bool.
Tensor random_bits(DType dtype, const Shape& shape) {
  static std::mt19937 generator(17);
  Tensor tensor(dtype, shape);
  for (std::byte& byte : tensor.mutable_bytes())
    byte = static_cast<std::byte>(generator() & (dtype == DType::kBool ? 1 : 255));
  return tensor;
}

TensorMap numbers(bool (*is_wanted)(DType)) {
  TensorMap tensors;
  for (int32_t number = 1; is_valid_dtype(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    if (element_size(dtype) == 0 || !is_wanted(dtype)) continue;
    // Python's package gives them to torch, but not to NumPy; there are golden files of torch.
    if (internal::is_small_number(dtype) && internal::safetensors_type_of(dtype)) continue;
    tensors[fmt::format("matrix/{}", dtype)] = random_bits(dtype, {5, 7});
    tensors[fmt::format("scalar/{}", dtype)] = random_bits(dtype, {});
    tensors[fmt::format("none/{}", dtype)] = random_bits(dtype, {3, 0});
    tensors[fmt::format("deep/{}", dtype)] = random_bits(dtype, {1, 2, 1, 3, 1, 2});
  }
  return tensors;
}

TensorMap plain() {
  TensorMap tensors =
      numbers([](DType dtype) { return internal::safetensors_type_of(dtype) != nullptr; });
  tensors["large"] = random_bits(DType::kFloat, {1000, 999});
  tensors["\"name\"\\\b\f\n\r\t\x01\x1f\x7f/ \xc3\xa9\xe2\x80\xa8"] =
      random_bits(DType::kInt8, {3});
  return tensors;
}

TensorMap kinds() {
  TensorMap tensors = numbers([](DType) { return true; });
  tensors["no_strings"] = Tensor::from(std::vector<std::string>{}, {0, 2});
  tensors["string"] = Tensor::scalar("one");
  tensors["strings"] =
      Tensor::from({"ab", "", std::string(100'000, 'x'), std::string(3, '\0')}, {2, 2});
  return tensors;
}

json write(const std::string& prefix, const TensorMap& tensors,
           const internal::SafetensorsWriterOptions& options) {
  internal::SafetensorsWriter writer(FileSystem::posix(), prefix, options);
  json expected;
  for (const auto& [name, tensor] : tensors) {
    if (options.num_shards > 1 && expected.size() == 10) writer.next_shard();
    writer.add(name, tensor);
    expected[name] = expectation(tensor);
  }
  writer.finish();
  return expected;
}

}  // namespace

int main(int, char** argv) {
  const std::string directory = argv[1];
  const json expected = {
      {"kinds", write(join_path(directory, "kinds"), kinds(), {})},
      {"shards", write(join_path(directory, "shards"), kinds(), {.num_shards = 3})},
      {"plain", write(join_path(directory, "plain"), plain(), {.checksums = false})},
  };
  fmt::print("{}\n", expected.dump());
}
