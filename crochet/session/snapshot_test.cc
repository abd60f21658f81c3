// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/session/session.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor over(const Buffer& buffer) {
  return Tensor::from_buffer(DType::kUint8, {static_cast<int64_t>(buffer.size())}, buffer);
}

void expect_torn(const Snapshot& snapshot, const char* name) {
  EXPECT_THAT([&] { snapshot.verify(); }, ThrowsMessage<FailedPreconditionError>(HasSubstr(name)));
}

TEST(SnapshotTest, IsConsistentIfNothingWasOpenedForWriting) {
  Buffer memory(100);
  memory.mutable_data();
  Snapshot snapshot({{"w", over(memory)}, {"n", Tensor::scalar(1)}});
  snapshot.add({"text", Tensor::from({"a"})});
  Tensor other = snapshot.tensors()[0].tensor;
  other.mutable_bytes();  // A copy: the tensor is shared.
  EXPECT_NO_THROW(snapshot.verify());
  EXPECT_NO_THROW(Snapshot().verify());
}

TEST(SnapshotTest, NamesATensorThatWasOpenedForWriting) {
  Buffer first(100), second(100);
  Snapshot snapshot({{"first", over(first)}});
  snapshot.add({"second", over(second)});
  const Snapshot copy = snapshot;
  second.mutable_data();
  expect_torn(snapshot, "\"second\"");
  expect_torn(copy, "\"second\"");
  first.mutable_data();
  expect_torn(snapshot, "\"first\"");
}

TEST(SnapshotTest, WaitsForAllCopiesAndThenVerifiesEach) {
  class Copies final : public PendingCopies {
   public:
    Copies(int& num_made, const char* error) : num_made_(num_made), error_(error) {}
    void wait() override { ++num_made_; }
    void verify() const override {
      EXPECT_EQ(num_made_, 2);
      if (error_ != nullptr) throw FailedPreconditionError(error_);
    }

   private:
    int& num_made_;
    const char* const error_;
  };
  int num_made = 0;
  Snapshot snapshot({}, std::make_shared<Copies>(num_made, nullptr));
  snapshot.add(std::shared_ptr<PendingCopies>());
  snapshot.add(std::make_shared<Copies>(num_made, "\"second\" was changed"));
  expect_torn(snapshot, "\"second\"");
}

TEST(SnapshotTest, CallsVerifyOfTheEngineOnceTheCopiesAreMade) {
  class Copies final : public PendingCopies {
   public:
    void wait() override { is_made_ = true; }
    void verify() const override {
      if (is_made_) throw FailedPreconditionError("\"array\" was changed");
    }

   private:
    bool is_made_ = false;
  };
  expect_torn(Snapshot({}, std::make_shared<Copies>()), "\"array\"");
}

}  // namespace
}  // namespace crochet
