// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/variable_reads.h"

#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/internal/checkpoint_contents.h"
#include "crochet/checkpoint/any_format/internal/checkpoint_pass.h"
#include "crochet/tensor/internal/convert.h"

namespace crochet::inline v0::internal {

Shape stored_shape(const StoredTensor& entry, const TensorSlice* slice) {
  if (slice == nullptr) return entry.shape;
  return shape_of(resolved(*slice, entry.shape));
}

class VariableReads::Pass {
 public:
  explicit Pass(const VariableReads& reads) : reads_(reads), pass_(locate(reads), reads.reader_) {}

  std::vector<Assignment> assignments() {
    std::vector<Assignment> assignments;
    assignments.reserve(reads_.reads_.size());
    for (const size_t number : pass_.order()) assignments.push_back(assignment(number));
    return assignments;
  }

 private:
  static std::vector<LocatedTensor> locate(const VariableReads& reads) {
    const CheckpointContents& contents = CheckpointContents::of(reads.reader_);
    std::vector<LocatedTensor> located;
    located.reserve(reads.reads_.size());
    for (const VariableRead& read : reads.reads_)
      located.push_back(contents.locate(*read.item, read.slice));
    return located;
  }

  // Its functions are small enough to be stored without an allocation.
  Assignment assignment(size_t number) {
    const VariableRead& read = reads_.reads_[number];
    if (read.variable.dtype() == DType::kString)
      return {.variable = read.variable, .shape = read.shape(), .strings = [this, number] {
                return strings(number);
              }};
    return {read.variable, read.shape(),
            [this, number](std::span<std::byte> destination) { read_into(number, destination); }};
  }

  Tensor strings(size_t number) {
    const Tensor value = pass_.read(number);
    const auto strings = value.strings();
    return Tensor::from(std::vector<std::string>(strings.begin(), strings.end()),
                        reads_.reads_[number].shape());
  }

  void read_into(size_t number, std::span<std::byte> destination) {
    throw_if_signalled("restoring");
    const VariableRead& read = reads_.reads_[number];
    if (read.is_converted)
      convert_to(read.variable, pass_.read(number), destination);
    else
      pass_.read_into(number, destination);
  }

  void convert_to(const Variable& variable, const Tensor& stored,
                  std::span<std::byte> destination) const {
    try {
      convert(stored, variable.dtype(), destination);
    } catch (const InvalidArgumentError& error) {
      throw InvalidArgumentError(fmt::format("checkpoint {}: \"{}\": {}", reads_.reader_.prefix(),
                                             variable.name(), error.what()));
    }
  }

  const VariableReads& reads_;
  CheckpointPass pass_;
};

void VariableReads::assign(Session& session) const {
  Pass pass(*this);
  session.assign(pass.assignments());
}

}  // namespace crochet::inline v0::internal
