// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/run_model.h"

namespace crochet::tool {

enum class Tone { kPlain, kGood, kWarning, kBad };

// Something that happened to a run, in a sentence.
struct StoryLine {
  double time = 0;  // In seconds since 1970-01-01 UTC.
  int64_t life = 0;
  int64_t step = 0;
  Tone tone = Tone::kPlain;
  std::string text = {};  // As the files have it: to be escaped.
};

// What happened to a run, in order: how each life began, what went wrong in it, who asked for what,
// and how it ended. What happens as it should, such as saves, is left out; what happens again and
// again is one line with its number.
std::vector<StoryLine> story_of(const RunHistory& history);

}  // namespace crochet::tool
