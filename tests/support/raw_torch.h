// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/tensor/tensor.h"
#include "tests/support/raw_zip.h"

// For tests: files of torch.save(), built operation by operation.
namespace crochet::inline v0::internal {

// Operations of pickles.
inline std::string pickled(uint32_t number) {
  std::string bytes = "J";
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}
inline std::string pickled(std::string_view text) {
  std::string bytes = internal::pickled(static_cast<uint32_t>(text.size()));
  bytes.front() = 'X';
  return bytes.append(text);
}
inline std::string pickled(const std::vector<int64_t>& numbers) {
  std::string tuple = "(";
  for (const int64_t number : numbers) tuple += internal::pickled(static_cast<uint32_t>(number));
  return tuple + 't';
}

// A tensor in a pickle: a view of the storage data/<key>, which has `count` elements.
struct RawTorchTensor {
  std::string storage = "FloatStorage";
  std::string key = "0";
  uint32_t count = 0;
  uint32_t offset = 0;
  std::vector<int64_t> sizes = {};
  std::vector<int64_t> strides = {};

  std::string pickled() const {
    return "ctorch._utils\n_rebuild_tensor_v2\n((" + internal::pickled("storage") + "ctorch\n" +
           storage + '\n' + internal::pickled(key) + internal::pickled("cpu") +
           internal::pickled(count) + "tQ" + internal::pickled(offset) + internal::pickled(sizes) +
           internal::pickled(strides) + "\x89}tR";
  }
};

// The archive a/ with a pickle of these operations, and with storages by number.
inline RawZip torch_archive(const std::string& operations,
                            const std::vector<std::string>& storages = {}) {
  RawZip zip;
  zip.add("a/data.pkl", "\x80\x02" + operations + '.');
  zip.add("a/byteorder", "little");
  for (size_t i = 0; i < storages.size(); ++i) zip.add("a/data/" + std::to_string(i), storages[i]);
  return zip;
}

// The file that torch before 1.6 writes for a pickle of values, with storages "0", "1" and so on.
inline std::string legacy_torch_file(const std::string& values,
                                     const std::vector<std::string>& storages) {
  const auto pickle = [](const std::string& operations) { return "\x80\x02" + operations + '.'; };
  std::string file = pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") +
                     pickle("M\xe9\x03") +
                     pickle("}" + internal::pickled("little_endian") + "\x88s") + values;
  std::string keys, data;
  for (size_t i = 0; i < storages.size(); ++i) {
    keys += internal::pickled(std::to_string(i));
    data += internal::pickled(static_cast<uint32_t>(storages[i].size())).substr(1) +
            std::string(4, '\0') + storages[i];
  }
  return file + pickle("](" + keys + "e") + data;
}

// What torch.save() writes for a dict of tensors. Requires: they are of float32, float64 or int64.
inline std::string torch_file(const TensorMap& tensors) {
  std::string dict = "}(";
  std::vector<std::string> storages;
  for (const auto& [name, tensor] : tensors) {
    const std::string storage = tensor.dtype() == DType::kFloat    ? "FloatStorage"
                                : tensor.dtype() == DType::kDouble ? "DoubleStorage"
                                : tensor.dtype() == DType::kInt64  ? "LongStorage"
                                                                   : "";
    if (storage.empty()) throw std::invalid_argument(name);
    const auto sizes = tensor.shape().dimensions();
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    dict += internal::pickled(name) +
            RawTorchTensor{.storage = storage,
                           .key = std::to_string(storages.size()),
                           .count = static_cast<uint32_t>(tensor.num_elements()),
                           .sizes = {sizes.begin(), sizes.end()},
                           .strides = strides}
                .pickled();
    const auto bytes = tensor.bytes();
    storages.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return torch_archive(dict + 'u', storages).bytes();
}

}  // namespace crochet::inline v0::internal
