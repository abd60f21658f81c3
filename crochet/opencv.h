// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tracks OpenCV's cv::Mat and cv::Mat_ in place, and fixed ones, cv::Matx and cv::Vec. In
// checkpoints the channels are the last dimension, if there are several. As with Eigen's, a size
// stays what it is when the loop begins, but in a container, where an empty matrix takes that of
// the checkpoint; the type and the number of dimensions always stay. Source: OpenCV 4.6,
// https://docs.opencv.org/4.x/d3/d63/classcv_1_1Mat.html.

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "crochet/base/error.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {

namespace internal {

// By cv::Mat::depth(): CV_8U, CV_8S and so on.
inline constexpr std::array kOpencvDtypes = {DType::kUint8,  DType::kInt8,  DType::kUint16,
                                             DType::kInt16,  DType::kInt32, DType::kFloat,
                                             DType::kDouble, DType::kHalf};

inline ArrayView view_of_mat(const cv::Mat& mat) {
  if (!mat.empty() && !mat.isContinuous())
    throw InvalidArgumentError(
        "a cv::Mat is tracked whose rows are not one piece of memory, as it is a part of another; "
        "track that, or a clone()");
  std::vector<int64_t> sizes(mat.size.p, mat.size.p + mat.dims);
  if (mat.dims == 0) sizes = {0, 0};
  if (mat.channels() > 1) sizes.push_back(mat.channels());
  return {.dtype = kOpencvDtypes.at(static_cast<size_t>(mat.depth())),
          .shape = Shape(std::move(sizes)),
          .data = reinterpret_cast<std::byte*>(mat.data)};
}

}  // namespace internal

// Throws: InvalidArgumentError for a part of another matrix whose rows are apart.
inline BorrowedArray borrow_array(Tracker& tracker, cv::Mat& mat) {
  BorrowedArray borrowed{.view = [&mat] { return internal::view_of_mat(mat); }};
  if ((tracker.is_restoring() && mat.empty()) || tracker.has_rows())
    borrowed.resize = [&mat](const Shape& shape) {
      std::vector<int> sizes(shape.dimensions().begin(), shape.dimensions().end());
      if (mat.channels() > 1) sizes.pop_back();
      mat.create(static_cast<int>(sizes.size()), sizes.data(), mat.type());
    };
  return borrowed;
}
template <typename E, int kRows, int kColumns>
BorrowedArray borrow_array(Tracker&, cv::Matx<E, kRows, kColumns>& matrix) {
  return {.view = [&matrix] {
    return ArrayView{.dtype = dtype_of<E>,
                     .shape = Shape({kRows, kColumns}),
                     .data = reinterpret_cast<std::byte*>(matrix.val)};
  }};
}

}  // namespace crochet::inline v0
