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

// A message that is known only at run time; braces in it are kept.
TEST(ErrorTest, TakesAnyString) {
  const std::runtime_error lost("lost {} of {0}");
  const std::string text = lost.what();
  EXPECT_THAT([&] { throw UnavailableError(lost.what()); },
              ThrowsMessage<UnavailableError>("lost {} of {0}"));
  EXPECT_THAT([&] { throw UnavailableError(text); }, ThrowsMessage<UnavailableError>(text));
  EXPECT_THAT([&] { throw UnavailableError(std::string_view(text).substr(0, 4)); },
              ThrowsMessage<UnavailableError>("lost"));
}

// What a program prints that does not catch it.
TEST(ErrorDeathTest, AnUncaughtErrorNamesItsClass) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH([]() noexcept { throw_error(Code::kUnavailable, "the worker is gone"); }(),
               "crochet::v0::UnavailableError.*\n.*the worker is gone");
}

// The class chosen by throw_error, as its code; braces in the message are kept.
template <typename ErrorClass>
bool throws_class_of_code(Code code) {
  try {
    throw_error(code, "{}");
  } catch (const ErrorClass& error) {
    return error.code() == code && std::string(error.what()) == "{}";
  } catch (...) {
    return false;
  }
}

TEST(ErrorTest, ThrowsTheClassOfEachCode) {
  EXPECT_TRUE(throws_class_of_code<CancelledError>(Code::kCancelled));
  EXPECT_TRUE(throws_class_of_code<UnknownError>(Code::kUnknown));
  EXPECT_TRUE(throws_class_of_code<InvalidArgumentError>(Code::kInvalidArgument));
  EXPECT_TRUE(throws_class_of_code<DeadlineExceededError>(Code::kDeadlineExceeded));
  EXPECT_TRUE(throws_class_of_code<NotFoundError>(Code::kNotFound));
  EXPECT_TRUE(throws_class_of_code<AlreadyExistsError>(Code::kAlreadyExists));
  EXPECT_TRUE(throws_class_of_code<PermissionDeniedError>(Code::kPermissionDenied));
  EXPECT_TRUE(throws_class_of_code<ResourceExhaustedError>(Code::kResourceExhausted));
  EXPECT_TRUE(throws_class_of_code<FailedPreconditionError>(Code::kFailedPrecondition));
  EXPECT_TRUE(throws_class_of_code<AbortedError>(Code::kAborted));
  EXPECT_TRUE(throws_class_of_code<OutOfRangeError>(Code::kOutOfRange));
  EXPECT_TRUE(throws_class_of_code<UnimplementedError>(Code::kUnimplemented));
  EXPECT_TRUE(throws_class_of_code<InternalError>(Code::kInternal));
  EXPECT_TRUE(throws_class_of_code<UnavailableError>(Code::kUnavailable));
  EXPECT_TRUE(throws_class_of_code<DataLossError>(Code::kDataLoss));
  EXPECT_TRUE(throws_class_of_code<UnauthenticatedError>(Code::kUnauthenticated));
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
