// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/outputs/internal/file_copy.h"
#include "crochet/outputs/internal/kept_file.h"
#include "crochet/outputs/internal/run_output.h"
#include "crochet/outputs/outputs.h"

namespace crochet::inline v0::internal {

// What a TrackedFile consists of. A checkpoint has a description of the copy (file_copy.h), and the
// copy itself beside its own files.
class FileState final : public RunOutput {
 public:
  FileState(std::string path, TrackedFileOptions options);

  // What a library writes cannot be refused.
  void refuse(const char*) override {}
  void check(bool is_own) override;
  void start() override;
  bool is_to_start() const override { return restored_ && is_open_; }
  // Waits until the copy for a save that has begun is made.
  void begin_step() override;
  void end_step() override {}

  TensorMap save() const override { return capture().tensors; }
  CapturedState capture() const override;
  std::vector<StatePart> parts_for(const StoredParts& stored) const override;
  void restore_parts(const StoredParts& stored, PartValues& values) override;

 private:
  // What a restore has found: the copy in a checkpoint, or that there was no file.
  struct Restored {
    std::string checkpoint;  // Prefix.
    FileCopy copy;
  };
  std::string copy_in(const std::string& checkpoint) const;
  void check_copy(const Restored& restored) const;
  void put_back(const Restored& restored) const;
  void remove_with_companions() const;
  void remove_old_copies() const;

  const TrackedFileOptions options_;
  FileSystem& files_;  // Not owned; outlives this.
  std::optional<Restored> restored_;
  bool is_removed_ = false;  // At the start, as an earlier life without a checkpoint wrote it.
  bool is_open_ = false;
  mutable std::weak_ptr<KeptFile> copying_;
};

}  // namespace crochet::inline v0::internal
