// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"

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

// One class for each code, so that callers can catch the kinds they handle. A message is any
// string, and is never taken for a format:
//
//   throw NotFoundError(prefix + ": no such checkpoint");
//   throw UnavailableError(error.what());
class CROCHET_EXPORT CancelledError : public Error {
 public:
  explicit CancelledError(std::string_view message) : Error(Code::kCancelled, message) {}
};
class CROCHET_EXPORT UnknownError : public Error {
 public:
  explicit UnknownError(std::string_view message) : Error(Code::kUnknown, message) {}
};
// Where Python raises ValueError or TypeError.
class CROCHET_EXPORT InvalidArgumentError : public Error {
 public:
  explicit InvalidArgumentError(std::string_view message)
      : Error(Code::kInvalidArgument, message) {}
};
class CROCHET_EXPORT DeadlineExceededError : public Error {
 public:
  explicit DeadlineExceededError(std::string_view message)
      : Error(Code::kDeadlineExceeded, message) {}
};
class CROCHET_EXPORT NotFoundError : public Error {
 public:
  explicit NotFoundError(std::string_view message) : Error(Code::kNotFound, message) {}
};
class CROCHET_EXPORT AlreadyExistsError : public Error {
 public:
  explicit AlreadyExistsError(std::string_view message) : Error(Code::kAlreadyExists, message) {}
};
class CROCHET_EXPORT PermissionDeniedError : public Error {
 public:
  explicit PermissionDeniedError(std::string_view message)
      : Error(Code::kPermissionDenied, message) {}
};
class CROCHET_EXPORT ResourceExhaustedError : public Error {
 public:
  explicit ResourceExhaustedError(std::string_view message)
      : Error(Code::kResourceExhausted, message) {}
};
// Where Python raises RuntimeError.
class CROCHET_EXPORT FailedPreconditionError : public Error {
 public:
  explicit FailedPreconditionError(std::string_view message)
      : Error(Code::kFailedPrecondition, message) {}
};
// "Recreate the session": the monitored session recovers from AbortedError and UnavailableError.
class CROCHET_EXPORT AbortedError : public Error {
 public:
  explicit AbortedError(std::string_view message) : Error(Code::kAborted, message) {}
};
// Means only that the data ended: a run ends cleanly on it.
class CROCHET_EXPORT OutOfRangeError : public Error {
 public:
  explicit OutOfRangeError(std::string_view message) : Error(Code::kOutOfRange, message) {}
};
class CROCHET_EXPORT UnimplementedError : public Error {
 public:
  explicit UnimplementedError(std::string_view message) : Error(Code::kUnimplemented, message) {}
};
class CROCHET_EXPORT InternalError : public Error {
 public:
  explicit InternalError(std::string_view message) : Error(Code::kInternal, message) {}
};
class CROCHET_EXPORT UnavailableError : public Error {
 public:
  explicit UnavailableError(std::string_view message) : Error(Code::kUnavailable, message) {}
};
// Stored bytes are missing or wrong.
class CROCHET_EXPORT DataLossError : public Error {
 public:
  explicit DataLossError(std::string_view message) : Error(Code::kDataLoss, message) {}
};
class CROCHET_EXPORT UnauthenticatedError : public Error {
 public:
  explicit UnauthenticatedError(std::string_view message)
      : Error(Code::kUnauthenticated, message) {}
};

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
