// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/parted_saveable.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

// Floats, whose number is read before they are, and a text.
class Floats final : public PartedSaveable {
 public:
  TensorMap save() const override { return {}; }
  std::vector<StatePart> parts_for(const StoredParts&) const override { return {}; }
  void restore_parts(const StoredParts& stored, PartValues& values) override {
    EXPECT_EQ(stored.all().size(), values.parts().all().size());
    EXPECT_EQ(values.parts().find("elements")->dtype, DType::kFloat);
    values.read_later("elements", [this](PartValue& value) {
      value.read_into(std::as_writable_bytes(std::span(elements)));
      events.emplace_back("elements");
    });
    values.read_later("text", [this](PartValue& value) {
      const Tensor text = value.read();
      EXPECT_EQ(text.strings()[0], "warm");
      events.emplace_back("text");
    });
    values.read_now("size", [this](PartValue& value) {
      elements.resize(static_cast<size_t>(value.read().scalar<int64_t>()));
      events.emplace_back("size");
    });
  }

  std::vector<float> elements;
  std::vector<std::string> events;
};

TEST(PartedSaveableTest, IsRestoredFromTensorsToo) {
  Floats floats;
  floats.restore({{"elements", Tensor::from<float>({1.5f, -2.0f}, {2})},
                  {"size", Tensor::scalar<int64_t>(2)},
                  {"text", Tensor::scalar("warm")}});
  EXPECT_THAT(floats.elements, ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(floats.events, ElementsAre("size", "elements", "text"));
}

TEST(PartedSaveableTest, RefusesAValueOfAnotherSize) {
  Floats floats;
  EXPECT_THAT(
      [&] {
        floats.restore({{"elements", Tensor::from<float>({1.5f, -2.0f}, {2})},
                        {"size", Tensor::scalar<int64_t>(3)},
                        {"text", Tensor::scalar("warm")}});
      },
      ThrowsMessage<InvalidArgumentError>("found 8 bytes, expected 12"));
}

}  // namespace
}  // namespace crochet
