// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/opencv.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/tracking/sharded.h"
#include "tests/types/types_test.h"

namespace crochet::types {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class OpencvTest : public TypesTest {};
INSTANTIATE_TEST_SUITE_P(Formats, OpencvTest, formats(), format_name);

bool are_equal(const cv::Mat& a, const cv::Mat& b) {
  return a.size == b.size && a.type() == b.type() &&
         std::equal(a.datastart, a.dataend, b.datastart, b.dataend);
}

TEST_P(OpencvTest, ChannelsAreTheLastDimension) {
  cv::Mat image(2, 3, CV_8UC3);
  for (int i = 0; i < 18; ++i) image.data[i] = static_cast<uchar>(i);
  save(image);
  EXPECT_EQ(checkpoint().tensors().at("it").shape, Shape({2, 3, 3}));
  EXPECT_EQ(checkpoint().tensors().at("it").dtype, DType::kUint8);
  cv::Mat other(2, 3, CV_8UC3);
  restore(other);
  EXPECT_TRUE(are_equal(other, image));
}

TEST_P(OpencvTest, EachDepthHasItsType) {
  std::map<std::string, cv::Mat> mats;
  for (const int depth : {CV_8U, CV_8S, CV_16U, CV_16S, CV_32S, CV_32F, CV_64F, CV_16F}) {
    cv::Mat mat(2, 2, CV_MAKETYPE(depth, 2));
    for (size_t i = 0; i < mat.total() * mat.elemSize(); ++i)
      mat.data[i] = static_cast<uchar>(i + static_cast<size_t>(depth));
    mats["depth " + std::to_string(depth)] = mat;
  }
  const std::map<std::string, cv::Mat> before = mats;
  save(mats);
  std::map<std::string, cv::Mat> others;
  for (const auto& [name, mat] : mats) others[name] = cv::Mat::zeros(2, 2, mat.type());
  restore(others);
  for (const auto& [name, mat] : before) EXPECT_TRUE(are_equal(others.at(name), mat)) << name;
}

TEST_P(OpencvTest, InContainersSizesChange) {
  std::map<std::string, std::vector<cv::Mat_<float>>> layers;
  layers["a"] = {cv::Mat_<float>(3, 4, 2.5f), cv::Mat_<float>(1, 2, 1.5f)};
  layers["b"] = {cv::Mat_<float>(2, 2, 0.5f)};
  save(layers);
  std::map<std::string, std::vector<cv::Mat_<float>>> others;
  restore(others);
  ASSERT_EQ(others.at("a").size(), 2);
  EXPECT_TRUE(are_equal(others.at("a")[0], layers.at("a")[0]));
  EXPECT_TRUE(are_equal(others.at("a")[1], layers.at("a")[1]));
  EXPECT_TRUE(are_equal(others.at("b")[0], layers.at("b")[0]));
}

TEST_P(OpencvTest, InContainersTypesAreThoseOfTheCheckpoint) {
  const int sizes[] = {2, 3, 5};
  std::vector<cv::Mat> frames = {cv::Mat(3, 4, CV_8UC3, cv::Scalar(1, 2, 3)),
                                 cv::Mat(2, 2, CV_32F, cv::Scalar(0.5)), cv::Mat(),
                                 cv::Mat(1, 5, CV_64FC4, cv::Scalar(1, 2, 3, 4)),
                                 cv::Mat(3, sizes, CV_16S, cv::Scalar(7))};
  save(frames);
  std::vector<cv::Mat> others;
  restore(others);
  ASSERT_EQ(others.size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i)
    EXPECT_TRUE(frames[i].empty() ? others[i].empty() : are_equal(others[i], frames[i])) << i;
}

TEST_P(OpencvTest, InContainersATypeThatWouldNotBeFoundAgainIsAnError) {
  const int sizes[] = {2, 3, 4};
  for (const cv::Mat& mat : {cv::Mat(2, 2, CV_8UC(5), cv::Scalar(0)), cv::Mat(3, sizes, CV_8U),
                             cv::Mat(3, sizes, CV_8UC2)}) {
    std::vector<cv::Mat> frames = {mat};
    EXPECT_THAT([&] { save(frames); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("at most 4, of a matrix")));
  }
}

TEST_P(OpencvTest, AnEmptyOneTakesTypeAndSizesOfTheCheckpoint) {
  cv::Mat image(3, 4, CV_32FC3, cv::Scalar(1, 2, 3));
  save(image);
  cv::Mat other;
  restore(other);
  EXPECT_TRUE(are_equal(other, image));
}

TEST_P(OpencvTest, AnEmptyOneWithATypeTakesTheSizesOfTheCheckpoint) {
  cv::Mat_<cv::Vec3f> image(3, 4, cv::Vec3f(1, 2, 3));
  save(image);
  cv::Mat_<cv::Vec3f> other;
  restore(other);
  EXPECT_TRUE(are_equal(other, image));
}

TEST_P(OpencvTest, ARankHasAPart) {
  cv::Mat part(2, 3, CV_32FC3, cv::Scalar(1, 2, 3));
  save(sharded(part, {.full_shape = {2, 3, 3}, .offset = {0, 0, 0}}));
  cv::Mat other(2, 3, CV_32FC3, cv::Scalar(0, 0, 0));
  restore(sharded(other, {.full_shape = {2, 3, 3}, .offset = {0, 0, 0}}));
  EXPECT_TRUE(are_equal(other, part));
}

TEST_P(OpencvTest, ARankHasRows) {
  cv::Mat rows(2, 3, CV_32FC3, cv::Scalar(1, 2, 3));
  save(sharded(rows));
  cv::Mat fewer(1, 3, CV_32FC3, cv::Scalar(0, 0, 0));
  restore(sharded(fewer));
  EXPECT_TRUE(are_equal(fewer, rows));
}

TEST_P(OpencvTest, MoreDimensionsAndChannelsAreKept) {
  const int sizes[] = {2, 3, 4};
  cv::Mat volume(3, sizes, CV_64FC2, cv::Scalar(1, 2));
  save(volume);
  EXPECT_EQ(checkpoint().tensors().at("it").shape, Shape({2, 3, 4, 2}));
  cv::Mat other(3, sizes, CV_64FC2, cv::Scalar(0, 0));
  restore(other);
  EXPECT_TRUE(are_equal(other, volume));
}

TEST_P(OpencvTest, FixedOnesAreMatrices) {
  cv::Matx33d camera(1, 2, 3, 4, 5, 6, 7, 8, 9);
  save(camera);
  EXPECT_EQ(checkpoint().read("it"), Tensor::from<double>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3}));
  cv::Matx33d other;
  restore(other);
  EXPECT_EQ(other, camera);
  cv::Vec3f vector(1, 2, 3);
  Loop loop(options());
  loop.track("vector", vector);
}

TEST_P(OpencvTest, APartOfAnotherIsAnError) {
  cv::Mat image(4, 4, CV_32F, cv::Scalar(1));
  cv::Mat part = image(cv::Rect(1, 1, 2, 2));
  EXPECT_THAT([&] { save(part); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("track that, or a clone()")));
}

TEST_P(OpencvTest, AnotherTypeIsAnError) {
  cv::Mat image(2, 2, CV_32F, cv::Scalar(1));
  save(image);
  cv::Mat other(2, 2, CV_64F);
  EXPECT_THAT([&] { restore(other); }, ThrowsMessage<Error>(HasSubstr("\"it\"")));
}

}  // namespace
}  // namespace crochet::types
