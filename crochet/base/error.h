// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "crochet/base/export.h"

namespace crochet::inline v0 {

// TensorFlow's canonical codes, with its numbers.
enum class Code {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// The code's name as TensorFlow prints it: "INVALID_ARGUMENT".
CROCHET_EXPORT const char* code_name(Code code);

// The base class of every error of this library. what() names the object, what
// happened, where, and what was found and expected, in one line: control characters, including
// line breaks, and bytes that are not UTF-8 are escaped, since it may contain names from files.
class CROCHET_EXPORT Error : public std::runtime_error {
 public:
  Error(Code code, std::string_view message);

  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

// One class for each code, so that callers can catch the kinds they handle.
//
//   throw NotFoundError(prefix + ": no such checkpoint");
template <Code kCode>
class CROCHET_EXPORT CodedError : public Error {
 public:
  explicit CodedError(std::string_view message) : Error(kCode, message) {}
};

using CancelledError = CodedError<Code::kCancelled>;
using UnknownError = CodedError<Code::kUnknown>;
// Where Python raises ValueError or TypeError.
using InvalidArgumentError = CodedError<Code::kInvalidArgument>;
using DeadlineExceededError = CodedError<Code::kDeadlineExceeded>;
using NotFoundError = CodedError<Code::kNotFound>;
using AlreadyExistsError = CodedError<Code::kAlreadyExists>;
using PermissionDeniedError = CodedError<Code::kPermissionDenied>;
using ResourceExhaustedError = CodedError<Code::kResourceExhausted>;
// Where Python raises RuntimeError.
using FailedPreconditionError = CodedError<Code::kFailedPrecondition>;
// "Recreate the session": the monitored session recovers from these two.
using AbortedError = CodedError<Code::kAborted>;
using UnavailableError = CodedError<Code::kUnavailable>;
// Means only that the data ended: a run ends cleanly on it.
using OutOfRangeError = CodedError<Code::kOutOfRange>;
using UnimplementedError = CodedError<Code::kUnimplemented>;
using InternalError = CodedError<Code::kInternal>;
// Stored bytes are missing or wrong.
using DataLossError = CodedError<Code::kDataLoss>;
using UnauthenticatedError = CodedError<Code::kUnauthenticated>;

// Ends a run cleanly, as Python's exception of that name does.
class CROCHET_EXPORT StopIteration : public std::exception {
 public:
  const char* what() const noexcept override { return "StopIteration"; }
};

// The loss became NaN and NanTensorHook is configured to fail.
class CROCHET_EXPORT NanLossDuringTrainingError : public FailedPreconditionError {
 public:
  using FailedPreconditionError::FailedPreconditionError;
};

// Throws the class that belongs to `code`.
[[noreturn]] CROCHET_EXPORT void throw_error(Code code, const std::string& message);

// True for an Error with one of these codes.
CROCHET_EXPORT bool has_code(const std::exception_ptr& error, std::span<const Code> codes);
// True for the errors that mean "recreate the session": kAborted, kUnavailable.
CROCHET_EXPORT bool is_preemption(const std::exception_ptr& error);
// True for the errors that mean "the data ended": OutOfRangeError, StopIteration.
CROCHET_EXPORT bool is_end_of_input(const std::exception_ptr& error);
// One line for a log: the message of a std::exception, or its type's name.
CROCHET_EXPORT std::string describe(const std::exception_ptr& error);

}  // namespace crochet::inline v0
