// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <Eigen/Core>

namespace digits {

inline constexpr int kPixels = 64;  // 8 rows of 8.
inline constexpr int kClasses = 10;

// Images and their labels, one column and one label per sample, so that the
// pixels of a sample are contiguous in memory.
struct Dataset {
  Eigen::MatrixXf images;  // [kPixels, samples], 0 (paper) to 1 (ink).
  Eigen::VectorXi labels;  // [samples], 0 to 9.

  Eigen::Index size() const { return labels.size(); }
};

struct Digits {
  Dataset train;
  Dataset test;  // Held out: not used for training.
};

// Reads the gzip file `path`: one line per sample, 64 pixels of 0 to 16 and the class,
// separated by commas. One sample in five is held out, always the same ones,
// whatever the seed of the run.
//
// Throws: NotFoundError or PermissionDeniedError if the file cannot be opened; DataLossError
// if it is not a complete gzip file; InvalidArgumentError with line and column if its
// text has another format.
Digits load_digits(const std::string& path);

// The file that comes with the examples.
std::string default_digits_file();

// All samples of such a text in their order; `name` is used in messages.
Dataset parse_digits(std::string_view text, const std::string& name);

}  // namespace digits
