// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes a checkpoint with everything that a bundle can hold: every type, strings, several data
// files, partitioned variables, merged from two. Prints its contents for check_checkpoint.py.
//
//   bundle_kinds <prefix>
#include <cstdio>
#include <random>

#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/bundle/merge_bundles.h"
#include "crochet/fmt.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/tensor_slice.h"
#include "tests/interop/interop_tensors.h"

using namespace crochet;

namespace {

// The bits of an element that may be set.
unsigned bits_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kInt2:
    case DType::kUint2:
      return 3;
    case DType::kInt4:
    case DType::kUint4:
    case DType::kFloat4E2m1fn:
      return 15;
    default:
      return 255;
  }
}

// Any bits that the type has.
Tensor random_bits(DType dtype, const Shape& shape) {
  static std::mt19937 generator(17);
  Tensor tensor(dtype, shape);
  for (std::byte& byte : tensor.mutable_bytes())
    byte = static_cast<std::byte>(generator() & bits_of(dtype));
  return tensor;
}

TensorMap numbers_of_all_types() {
  TensorMap tensors;
  for (int32_t number = 1; is_valid_dtype(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    if (element_size(dtype) == 0) continue;
    tensors[fmt::format("matrix/{}", dtype)] = random_bits(dtype, {5, 7});
    tensors[fmt::format("scalar/{}", dtype)] = random_bits(dtype, {});
    tensors[fmt::format("none/{}", dtype)] = random_bits(dtype, {3, 0});
  }
  return tensors;
}

TensorMap strings() {
  return {
      {"no_strings", Tensor::from(std::vector<std::string>{}, {0, 2})},
      {"string", Tensor::scalar("one")},
      {"strings",
       Tensor::from({"ab", "", std::string(100'000, 'x'), std::string(3, '\0')}, {2, 2})},
  };
}

}  // namespace

int main(int, char** argv) {
  const std::string prefix = argv[1];
  FileSystem& files = FileSystem::posix();
  const TensorMap numbers = numbers_of_all_types();
  const TensorMap texts = strings();
  internal::BundleWriter first(files, prefix + "-first", {.alignment = 32, .num_shards = 2});
  for (const auto& [name, tensor] : numbers) first.add(name, tensor);
  first.next_shard();
  for (const auto& [name, tensor] : texts) first.add(name, tensor);
  const Tensor upper = Tensor::from<float>({0, 1, 2, 3}, {2, 2});
  const Tensor lower = Tensor::from<float>({4, 5, 6, 7, 8, 9}, {3, 2});
  const Tensor words = Tensor::from({"in", "slices", "too"});
  first.add_slice("parts", {5, 2}, parse_slice("0,2:-"), upper);
  first.add_slice("words", {3}, parse_slice("0,3"), words);
  // A grid of four slices.
  for (const char* const slice : {"0,1:0,2", "0,1:2,1", "1,1:0,2", "1,1:2,1"}) {
    const TensorSlice place = parse_slice(slice);
    std::vector<int64_t> values;
    for (int64_t column = 0; column < place[1].length; ++column)
      values.push_back(3 * place[0].start + place[1].start + column);
    first.add_slice("grid", {2, 3}, place, Tensor::from(values, {1, place[1].length}));
  }
  first.finish();
  internal::BundleWriter second(files, prefix + "-second");
  second.add_slice("parts", {5, 2}, parse_slice("2,3:-"), lower);
  second.finish();
  merge_bundles(files, {{prefix + "-first", prefix + "-second"}}, prefix);

  nlohmann::json expected;
  for (const TensorMap* const tensors : {&numbers, &texts})
    for (const auto& [name, tensor] : *tensors) expected[name] = expectation(tensor);
  expected["parts"] = expectation(Tensor::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {5, 2}));
  expected["grid"] = expectation(Tensor::from<int64_t>({0, 1, 2, 3, 4, 5}, {2, 3}));
  expected["words"] = expectation(words);
  std::puts(expected.dump(1).c_str());
}
