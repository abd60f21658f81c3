// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "tools/inspection.h"
#include "tools/json.h"

namespace crochet::tool {

// What a checkpoint has recorded of a file that its run writes, or of its own copy of one.
struct RecordedOutput {
  std::string name;  // Under which it is tracked.
  std::string path;
  uint64_t num_bytes = 0;
  std::optional<uint32_t> crc32c = {};  // Of these bytes; unset if it is not known.
  bool is_copy = false;                 // The file has no more bytes.
};

// All files of all outputs of a checkpoint. A state that cannot be read is left out.
std::vector<RecordedOutput> recorded_outputs(const CheckpointReader& reader);

// One line for each output: "rows: rows.csv, 1234 bytes".
std::vector<std::string> output_lines(const std::vector<RecordedOutput>& outputs);
Json outputs_json(const std::vector<RecordedOutput>& outputs);

// Compares what checkpoints have recorded with the files. Each file is read once.
class OutputCheck {
 public:
  // A checkpoint, by its prefix.
  void add(const std::string& prefix, const std::vector<RecordedOutput>& outputs);

  struct Found {
    std::string prefix;
    Problem problem;
  };
  // For each checkpoint from which a run could not continue with its outputs as they are.
  std::vector<Found> problems(FileSystem& files) const;

 private:
  struct Record {
    RecordedOutput output;
    std::string prefix;
  };

  static void check_file(FileSystem& files, const std::string& path, std::vector<Record> records,
                         std::vector<Found>& found);

  std::map<std::string, std::vector<Record>> records_;  // By path.
};

}  // namespace crochet::tool
