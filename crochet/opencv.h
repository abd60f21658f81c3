// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tracks OpenCV's cv::Mat and cv::Mat_ in place, and fixed ones, cv::Matx and cv::Vec. In
// checkpoints the channels are the last dimension, if there are several. As with Eigen's, a size
// stays what it is when the loop begins, but that of an empty one, which is that of the checkpoint;
// an empty cv::Mat takes the type, too. Source: OpenCV 4.6,
// https://docs.opencv.org/4.x/d3/d63/classcv_1_1Mat.html.

#include <algorithm>
#include <array>
#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "crochet/base/error.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/session/parted_saveable.h"
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

inline BorrowedArray borrow_mat(Tracker& tracker, cv::Mat& mat) {
  BorrowedArray borrowed{.view = [&mat] { return view_of_mat(mat); }};
  if (tracker.may_resize(mat.total()))
    borrowed.resize = [&mat](const Shape& shape) {
      std::vector<int> sizes(shape.dimensions().begin(), shape.dimensions().end());
      if (mat.channels() > 1) sizes.pop_back();
      mat.create(static_cast<int>(sizes.size()), sizes.data(), mat.type());
    };
  return borrowed;
}

// As many numbers in a third dimension are taken as channels, where a matrix has no type yet.
inline constexpr int64_t kMostChannels = 4;

inline bool has_channels(const Shape& shape) {
  return shape.rank() == 3 && shape.dimensions()[2] > 1 && shape.dimensions()[2] <= kMostChannels;
}

// Throws: InvalidArgumentError for a type or a size that OpenCV does not have.
inline void create_like(cv::Mat& mat, DType dtype, const Shape& shape) {
  const auto depth = std::ranges::find(kOpencvDtypes, dtype);
  const auto stored = shape.dimensions();
  if (depth == kOpencvDtypes.end() ||
      std::ranges::any_of(stored, [](int64_t size) { return size > INT_MAX; }))
    throw InvalidArgumentError("a cv::Mat cannot have the type or the size of a stored array");
  std::vector<int> sizes(stored.begin(), stored.end());
  int channels = 1;
  if (has_channels(shape)) {
    channels = sizes.back();
    sizes.pop_back();
  }
  mat.create(static_cast<int>(sizes.size()), sizes.data(),
             CV_MAKETYPE(static_cast<int>(depth - kOpencvDtypes.begin()), channels));
}

// Throws: InvalidArgumentError if create_like() would make another matrix of it.
inline void check_type_is_found(const cv::Mat& mat) {
  if ((mat.channels() > 1) != has_channels(view_of_mat(mat).shape) && !mat.empty())
    throw InvalidArgumentError(
        "the channels of a cv::Mat in a container are found again if there are at most 4, of a "
        "matrix; give it its type: cv::Mat_<cv::Vec<...>>, or cv::Mat_<float> for a volume");
}

}  // namespace internal

// Throws: InvalidArgumentError for a part of another matrix whose rows are apart.
template <std::same_as<cv::Mat> Mat>
void track(Tracker& tracker, Mat& mat) {
  const auto list = [&mat](Tracker& here) { here.add_array("", internal::borrow_mat(here, mat)); };
  if (tracker.has_rows() || tracker.is_sharded() || (tracker.is_direct() && !mat.empty()))
    return list(tracker);
  tracker.add_provider(Tracker::PartsProvider{
      .list =
          [&mat, list](Tracker& here) {
            internal::check_type_is_found(mat);
            list(here);
          },
      .plan = [&mat](const StoredParts& stored) -> std::vector<StatePart> {
        const StoredParts::Part* const found = stored.find("");
        if (mat.empty() && found != nullptr)
          return {{.key = "", .dtype = found->dtype, .shape = found->shape}};
        const ArrayView own = internal::view_of_mat(mat);
        return {{.key = "", .dtype = own.dtype, .shape = own.shape}};
      },
      .make =
          [&mat](const StoredParts& stored, const StoredParts&) {
            if (const StoredParts::Part& found = *stored.find(""); mat.empty())
              internal::create_like(mat, found.dtype, found.shape);
          }});
}

// One whose type is fixed: cv::Mat_.
template <std::derived_from<cv::Mat> Mat>
requires(!std::same_as<Mat, cv::Mat>) BorrowedArray borrow_array(Tracker& tracker, Mat& mat) {
  return internal::borrow_mat(tracker, mat);
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
