// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/output_position.h"

#include <limits>
#include <span>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kFirst = ".000000";

}  // namespace

Tensor to_tensor(const OutputPosition& position) {
  std::vector<int64_t> numbers;
  for (const OutputPosition::File& file : position.files) {
    numbers.push_back(static_cast<int64_t>(file.num_bytes));
    numbers.push_back(file.crc32c);
  }
  return Tensor::from(numbers, Shape({static_cast<int64_t>(position.files.size()), 2}));
}

OutputPosition output_position_of(const Tensor& files, const std::string& path) {
  const Shape& shape = files.shape();
  OutputPosition position;
  bool is_valid = files.dtype() == DType::kInt64 && shape.rank() == 2 && shape[1] == 2;
  if (is_valid) {
    const std::span<const int64_t> numbers = files.flat<int64_t>();
    for (size_t i = 0; i < numbers.size(); i += 2) {
      const int64_t crc = numbers[i + 1];
      is_valid =
          is_valid && numbers[i] >= 0 && crc >= 0 && crc <= std::numeric_limits<uint32_t>::max();
      position.files.push_back({static_cast<uint64_t>(numbers[i]), static_cast<uint32_t>(crc)});
    }
  }
  if (!is_valid)
    throw DataLossError(fmt::format(
        "the recorded state of {}: found {}, expected a length and a crc32c for each file", path,
        describe(files)));
  return position;
}

std::string output_path_of(const Tensor& path) {
  if (path.dtype() != DType::kString || path.num_elements() != 1 || path.strings()[0].empty())
    throw DataLossError(
        fmt::format("the path of an output: found {}, expected a path", describe(path)));
  return path.strings()[0];
}

std::string path_with(const std::string& path, std::string_view part) {
  const size_t name = path.size() - base_name(path).size();
  const size_t dot = path.rfind('.');
  const size_t end = dot == std::string::npos || dot <= name ? path.size() : dot;
  return fmt::format("{}.{}{}", path.substr(0, end), part, path.substr(end));
}

std::string output_path(const std::string& path, bool rotates, size_t n) {
  return rotates ? path_with(path, fmt::format("{:06}", n)) : path;
}

std::string stored_path(const std::string& first, size_t n) {
  const size_t number = first.rfind(kFirst);
  if (n == 0 || number == std::string::npos) return first;
  return fmt::format("{}.{:06}{}", first.substr(0, number), n,
                     first.substr(number + kFirst.size()));
}

}  // namespace crochet::inline v0::internal
