// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/data_file.h"

#include <numeric>
#include <span>
#include <string>

#include "crochet/checkpoint/bundle/internal/string_coding.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::internal {

StoredPlace DataFile::append(const TensorToWrite& added) {
  const Tensor& tensor = added.tensor;
  const size_t alignment = data_alignment(tensor);
  pad(std::lcm(alignment_, alignment));
  StoredPlace place{.file = number_, .offset = static_cast<int64_t>(num_bytes_)};
  uint32_t crc = 0;
  if (tensor.dtype() == DType::kString) {
    const StringsHead head = encode_strings_head(tensor.strings());
    file_.append(head.bytes);
    num_bytes_ += head.bytes.size();
    crc = head.crc;
    for (const std::string& string : tensor.strings())
      crc = file_.append_with_crc32c(crc, std::as_bytes(std::span(string)));
  } else if (added.read) {
    crc = file_.append_read_with_crc32c(0, tensor.num_bytes(), added.read);
  } else if (alignment == 1) {
    crc = file_.append_with_crc32c(0, tensor.bytes());
  } else {
    held_.push_back(tensor);
    crc = file_.append_held_with_crc32c(0, held_.back().bytes());
  }
  num_bytes_ += tensor.num_bytes();
  place.size = static_cast<int64_t>(num_bytes_) - place.offset;
  place.masked_crc32c = mask_crc32c(crc);
  pad(alignment_);
  return place;
}

void DataFile::pad(size_t alignment) {
  const size_t surplus = num_bytes_ % alignment;
  if (surplus == 0) return;
  const std::vector<std::byte> zeros(alignment - surplus);
  file_.append(zeros);
  num_bytes_ += zeros.size();
}

}  // namespace crochet::inline v0::internal
