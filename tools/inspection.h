// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "tools/json.h"

namespace crochet::tool {

enum class Depth {
  kOutside,     // The index and the sizes of the files, compared with the sidecar.
  kEverything,  // All stored data, too.
};

// Why a checkpoint is not known to be sound. Only the first two say that it is not.
enum class Verdict {
  kDamaged,      // Bytes contradict a checksum or a size.
  kIncomplete,   // A file is missing.
  kRefused,      // A file may not be read.
  kUnsupported,  // crochet does not read this format, or not this kind of it.
};
// "damaged", "incomplete", "refused", "unsupported".
const char* verdict_name(Verdict verdict);
// Unset for errors that may be temporary: ResourceExhaustedError, UnknownError (such as EIO).
std::optional<Verdict> verdict_of(const Error& error);
// True if a checkpoint is not sound, false if that is unknown.
bool is_bad(Verdict verdict);

struct Problem {
  Verdict verdict;
  std::string text;
};

struct Inspection {
  // Empty if the checkpoint is sound.
  std::vector<Problem> problems = {};
  // True if a run has removed it since it was found; then there are no problems.
  bool is_gone = false;
  // False for safetensors files of other programs: only their structure can be verified.
  bool has_checksums = true;
  // What is there and as it was written, but is nothing that crochet reads: names and reasons.
  std::vector<std::string> unread = {};

  bool is_sound() const { return problems.empty(); }
  // Requires: not sound. The first that says that it is not, otherwise the first of all.
  Verdict verdict() const;
};
// Throws: errors that are not evidence of anything and may be temporary. Then the result is
// unknown, and nothing must be changed.
Inspection inspect(FileSystem& files, const internal::FoundCheckpoint& checkpoint, Depth depth);

// For commands that inspect several checkpoints: the exit code after another one. A checkpoint that
// is not sound outweighs one that cannot be judged.
int exit_code(int before, const Inspection& inspection);
Json problems_json(const Inspection& inspection);
Json json_lines(const std::vector<std::string>& lines);

// Names with the reason why they cannot be read, in one line for each reason.
std::vector<std::string> unread_lines(const UnreadableValues& values);

// The result of reading a tensor, for a command that continues if one is damaged.
struct ReadResult {
  std::optional<Tensor> tensor = {};
  // Why there is no tensor: it is damaged, or of an unsupported type.
  std::string problem = {};
  bool is_damaged = false;
};
// Reads a tensor and verifies its checksum. A large one is not read into memory but mapped, if
// possible.
ReadResult read_if_sound(const CheckpointReader& reader, const std::string& name);

}  // namespace crochet::tool
