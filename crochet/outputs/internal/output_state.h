// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crochet/outputs/internal/output_writer.h"
#include "crochet/outputs/internal/run_output.h"
#include "crochet/outputs/outputs.h"

namespace crochet::inline v0::internal {

// What an OutputFile consists of. In checkpoints: output_position.h.
class OutputState final : public RunOutput {
 public:
  OutputState(std::string path, const OutputFileOptions& options);

  OutputWriter& writer() { return *writer_; }

  void refuse(const char* reason) override { writer_->refuse(reason); }
  void check(bool is_own) override { writer_->check(is_own); }
  void start() override { writer_->start(); }
  bool is_to_start() const override { return writer_->is_to_start(); }
  void begin_step() override { writer_->begin_step(); }
  void end_step() override { writer_->end_step(); }

  TensorMap save() const override { return capture().tensors; }
  CapturedState capture() const override;
  std::vector<StatePart> parts_for(const StoredParts& stored) const override;
  void restore_parts(const StoredParts& stored, PartValues& values) override;

 protected:
  // The files are then "rows.rank-3.csv".
  void set_rank(int64_t rank) override;
  std::string first_path() const override;

 private:
  const std::shared_ptr<OutputWriter> writer_;
};

}  // namespace crochet::inline v0::internal
