// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/output_state.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/outputs/internal/output_position.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {
namespace {

// Makes what an output had written at a step durable, before the checkpoint of that step is.
class OutputSync final : public PendingCopies {
 public:
  OutputSync(std::shared_ptr<OutputWriter> writer, OutputPosition position)
      : writer_(std::move(writer)), position_(std::move(position)) {}

  void wait() override {}
  void make_durable(const std::string&) override { writer_->sync(position_); }

 private:
  const std::shared_ptr<OutputWriter> writer_;
  const OutputPosition position_;
};

}  // namespace

OutputState::OutputState(std::string path, const OutputFileOptions& options)
    : RunOutput(path), writer_(std::make_shared<OutputWriter>(std::move(path), options)) {}

void OutputState::set_rank(int64_t rank) {
  writer_->set_path(path_with(path(), fmt::format("rank-{}", rank)));
}

std::string OutputState::first_path() const {
  return output_path(writer_->path(), writer_->rotates(), 0);
}

CapturedState OutputState::capture() const {
  OutputPosition position = writer_->position();
  CapturedState state{.tensors = {{kOutputFiles, to_tensor(position)},
                                  {kOutputPath, Tensor::scalar(stored_path())}}};
  state.copies.push_back(std::make_shared<OutputSync>(writer_, std::move(position)));
  return state;
}

std::vector<StatePart> OutputState::parts_for(const StoredParts&) const {
  return {
      {.key = kOutputFiles, .dtype = DType::kInt64, .shape = Shape({Shape::kUnknownDimension, 2})},
      {.key = kOutputPath, .dtype = DType::kString}};
}

void OutputState::restore_parts(const StoredParts&, PartValues& values) {
  if (!is_own_restore() || values.parts().find(kOutputFiles) == nullptr) return;
  values.read_later(kOutputFiles, [this](PartValue& value) {
    writer_->restore(output_position_of(value.read(), path()));
  });
}

}  // namespace crochet::inline v0::internal
