// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// tests/interop/check_plugins.py compares these values with those of TensorBoard.
#include "crochet/summary/internal/plugin_summaries.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/summary/event.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal::plugins {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::ThrowsMessage;

Tensor pixels(int64_t height, int64_t width, int64_t channels) {
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < height * width * channels; ++i)
    values.push_back(static_cast<uint8_t>(i * 7));
  return Tensor::from(values, Shape{height, width, channels});
}

TEST(PluginSummariesTest, AnImageIsAPng) {
  for (const int64_t channels : {1, 3, 4})
    EXPECT_THAT(encode_png(pixels(3, 5, channels)), StartsWith("\x89PNG\r\n\x1a\n")) << channels;
  EXPECT_THAT(encode_image("sample", pixels(3, 5, 1)), HasSubstr("IHDR"));
}

TEST(PluginSummariesTest, RefusesOtherTensorsAsImages) {
  const auto refuses = [](const Tensor& tensor) {
    EXPECT_THAT([&] { encode_png(tensor); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("expected uint8 [height,width,")));
  };
  refuses({});
  refuses(pixels(3, 5, 2));
  refuses(pixels(0, 5, 1));
  refuses(Tensor::zeros<float>({3, 5, 1}));
  refuses(Tensor::zeros<uint8_t>({3, 5}));
}

TEST(PluginSummariesTest, RefusesOtherTensorsAsCurves) {
  const Tensor labels = Tensor::zeros<bool>({2});
  const auto refuses = [&](const Tensor& predictions, int num_thresholds, const char* text) {
    EXPECT_THAT([&] { encode_pr_curve("curve", labels, predictions, num_thresholds); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(text)));
  };
  refuses(Tensor::from<float>({0, 1}), 1, "has 1 thresholds");
  refuses(Tensor::from<float>({0, 1, 0.5}), 5, "expected bool and as many numbers");
  refuses(Tensor::from<float>({0, 1.5}), 5, "is 1.5, expected 0 to 1");
  refuses(Tensor::from<float>({0, NAN}), 5, "is nan, expected 0 to 1");
  refuses(Tensor::from<int64_t>({0, 1}), 5, "expected float32 or float64");
  refuses({}, 5, "predictions unset");
  EXPECT_THROW(encode_pr_curve("curve", Tensor::zeros<float>({2}), Tensor::from<float>({0, 1}), 5),
               InvalidArgumentError);
}

// They are for TensorBoard alone.
TEST(PluginSummariesTest, AreNotInJsonLines) {
  FakeClock clock;
  MemoryFileSystem files(clock);
  SummaryWriter writer("run", files, clock);
  writer.add_image("image", pixels(3, 5, 3), 1);
  writer.add_pr_curve("curve", Tensor::zeros<bool>({2}), Tensor::from<double>({0, 1}), 1);
  writer.add_layout(std::vector<LayoutCategory>{{.title = "a", .charts = {{"b", {"c"}}}}});
  writer.add_hyperparameters(
      std::vector<Hyperparameter>{{"rate", 0.5}, {"name", std::string("x")}});
  writer.add_hyperparameter_end(true);
  EXPECT_FALSE(files.exists("run/metrics.jsonl"));
  EXPECT_EQ(writer.dropped_values(), 0);
  for (const std::string& bytes :
       {encode_image("image", pixels(1, 1, 1)),
        encode_hyperparameters(std::vector<Hyperparameter>{{"rate", 0.5}}, 1)})
    EXPECT_THAT(decode_summary(bytes), IsEmpty());
}

}  // namespace
}  // namespace crochet::internal::plugins
