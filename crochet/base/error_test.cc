// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/error.h"

#include <array>
#include <new>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet {
namespace {

using ::testing::ThrowsMessage;

constexpr std::array kCodes = {
    Code::kCancelled,        Code::kUnknown,           Code::kInvalidArgument,
    Code::kDeadlineExceeded, Code::kNotFound,          Code::kAlreadyExists,
    Code::kPermissionDenied, Code::kResourceExhausted, Code::kFailedPrecondition,
    Code::kAborted,          Code::kOutOfRange,        Code::kUnimplemented,
    Code::kInternal,         Code::kUnavailable,       Code::kDataLoss,
    Code::kUnauthenticated};

TEST(ErrorTest, HasTensorFlowsNumbersAndNames) {
  constexpr std::array kNames = {"CANCELLED",
                                 "UNKNOWN",
                                 "INVALID_ARGUMENT",
                                 "DEADLINE_EXCEEDED",
                                 "NOT_FOUND",
                                 "ALREADY_EXISTS",
                                 "PERMISSION_DENIED",
                                 "RESOURCE_EXHAUSTED",
                                 "FAILED_PRECONDITION",
                                 "ABORTED",
                                 "OUT_OF_RANGE",
                                 "UNIMPLEMENTED",
                                 "INTERNAL",
                                 "UNAVAILABLE",
                                 "DATA_LOSS",
                                 "UNAUTHENTICATED"};
  for (size_t i = 0; i < kCodes.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kCodes[i]), i + 1);
    EXPECT_STREQ(code_name(kCodes[i]), kNames[i]);
  }
}

TEST(ErrorTest, FormatsItsMessage) {
  EXPECT_THAT([] { throw NotFoundError(fmt::format("{}: no such checkpoint, step {}", "a", 7)); },
              ThrowsMessage<Error>("a: no such checkpoint, step 7"));
}

// The class chosen by throw_error, as its code; braces in the message are kept.
template <Code kCode>
bool throws_class_of_code() {
  try {
    throw_error(kCode, "{}");
  } catch (const CodedError<kCode>& error) {
    return error.code() == kCode && std::string(error.what()) == "{}";
  } catch (...) {
    return false;
  }
}

TEST(ErrorTest, ThrowsTheClassOfEachCode) {
  EXPECT_TRUE(throws_class_of_code<Code::kCancelled>());
  EXPECT_TRUE(throws_class_of_code<Code::kUnknown>());
  EXPECT_TRUE(throws_class_of_code<Code::kInvalidArgument>());
  EXPECT_TRUE(throws_class_of_code<Code::kDeadlineExceeded>());
  EXPECT_TRUE(throws_class_of_code<Code::kNotFound>());
  EXPECT_TRUE(throws_class_of_code<Code::kAlreadyExists>());
  EXPECT_TRUE(throws_class_of_code<Code::kPermissionDenied>());
  EXPECT_TRUE(throws_class_of_code<Code::kResourceExhausted>());
  EXPECT_TRUE(throws_class_of_code<Code::kFailedPrecondition>());
  EXPECT_TRUE(throws_class_of_code<Code::kAborted>());
  EXPECT_TRUE(throws_class_of_code<Code::kOutOfRange>());
  EXPECT_TRUE(throws_class_of_code<Code::kUnimplemented>());
  EXPECT_TRUE(throws_class_of_code<Code::kInternal>());
  EXPECT_TRUE(throws_class_of_code<Code::kUnavailable>());
  EXPECT_TRUE(throws_class_of_code<Code::kDataLoss>());
  EXPECT_TRUE(throws_class_of_code<Code::kUnauthenticated>());
}

std::exception_ptr error_of(Code code) {
  try {
    throw_error(code, "message");
  } catch (...) {
    return std::current_exception();
  }
}

TEST(ErrorTest, ComparesCodesOfErrorsOnly) {
  const std::vector<Code> codes = {Code::kCancelled, Code::kInternal};
  EXPECT_TRUE(has_code(error_of(Code::kInternal), codes));
  EXPECT_FALSE(has_code(error_of(Code::kAborted), codes));
  EXPECT_FALSE(has_code(error_of(Code::kInternal), {}));
  EXPECT_FALSE(has_code(std::make_exception_ptr(std::runtime_error("INTERNAL")), codes));
}

TEST(ErrorTest, TwoCodesMeanPreemption) {
  for (const Code code : kCodes)
    EXPECT_EQ(is_preemption(error_of(code)), code == Code::kAborted || code == Code::kUnavailable)
        << code_name(code);
  EXPECT_FALSE(is_preemption(std::make_exception_ptr(StopIteration())));
  EXPECT_FALSE(is_preemption(std::make_exception_ptr(std::runtime_error("ABORTED"))));
  EXPECT_FALSE(is_preemption(std::make_exception_ptr(10)));
}

TEST(ErrorTest, OneCodeAndStopIterationMeanTheEndOfInput) {
  for (const Code code : kCodes)
    EXPECT_EQ(is_end_of_input(error_of(code)), code == Code::kOutOfRange) << code_name(code);
  EXPECT_TRUE(is_end_of_input(std::make_exception_ptr(StopIteration())));
  EXPECT_FALSE(is_end_of_input(std::make_exception_ptr(std::out_of_range("standard"))));
  EXPECT_FALSE(is_end_of_input(std::make_exception_ptr(11)));
}

// A user's own kind of preemption.
class SpotInstanceLost : public UnavailableError {
 public:
  using UnavailableError::UnavailableError;
};

TEST(ErrorTest, DerivedErrorsCountAsTheirBase) {
  EXPECT_TRUE(is_preemption(std::make_exception_ptr(SpotInstanceLost("gone"))));
}

TEST(ErrorTest, ANanLossIsAFailedPrecondition) {
  EXPECT_EQ(NanLossDuringTrainingError("loss").code(), Code::kFailedPrecondition);
}

struct NotStandard {};

TEST(ErrorTest, DescribesAnyException) {
  EXPECT_EQ(describe(error_of(Code::kAborted)), "message");
  EXPECT_EQ(describe(std::make_exception_ptr(StopIteration())), "StopIteration");
  EXPECT_EQ(describe(std::make_exception_ptr(std::bad_alloc())), "std::bad_alloc");
  EXPECT_EQ(describe(std::make_exception_ptr(NotStandard())), "NotStandard");
  EXPECT_EQ(describe(std::make_exception_ptr(7)), "int");
}

}  // namespace
}  // namespace crochet
