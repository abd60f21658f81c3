// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/error.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <cxxabi.h>

#include "crochet/base/internal/class_name.h"
#include "crochet/base/internal/escape.h"

namespace crochet::inline v0 {
namespace {

// By number.
constexpr const char* kNames[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};
constexpr int kNumCodes = static_cast<int>(Code::kUnauthenticated);
static_assert(std::size(kNames) == kNumCodes + 1);

}  // namespace

const char* code_name(Code code) {
  const auto number = static_cast<int>(code);
  return number >= 1 && number <= kNumCodes ? kNames[number] : "UNKNOWN";
}

Error::Error(Code code, std::string_view message)
    : std::runtime_error(internal::escape_text(message)), code_(code) {}

void throw_error(Code code, const std::string& message) {
  switch (code) {
    case Code::kCancelled:
      throw CancelledError(message);
    case Code::kInvalidArgument:
      throw InvalidArgumentError(message);
    case Code::kDeadlineExceeded:
      throw DeadlineExceededError(message);
    case Code::kNotFound:
      throw NotFoundError(message);
    case Code::kAlreadyExists:
      throw AlreadyExistsError(message);
    case Code::kPermissionDenied:
      throw PermissionDeniedError(message);
    case Code::kResourceExhausted:
      throw ResourceExhaustedError(message);
    case Code::kFailedPrecondition:
      throw FailedPreconditionError(message);
    case Code::kAborted:
      throw AbortedError(message);
    case Code::kOutOfRange:
      throw OutOfRangeError(message);
    case Code::kUnimplemented:
      throw UnimplementedError(message);
    case Code::kInternal:
      throw InternalError(message);
    case Code::kUnavailable:
      throw UnavailableError(message);
    case Code::kDataLoss:
      throw DataLossError(message);
    case Code::kUnauthenticated:
      throw UnauthenticatedError(message);
    case Code::kUnknown:
      break;
  }
  throw UnknownError(message);
}

bool has_code(const std::exception_ptr& error, std::span<const Code> codes) {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return std::ranges::find(codes, e.code()) != codes.end();
  } catch (...) {
    return false;
  }
}

bool is_preemption(const std::exception_ptr& error) {
  return has_code(error, std::array{Code::kAborted, Code::kUnavailable});
}

bool is_end_of_input(const std::exception_ptr& error) {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const StopIteration&) {
    return true;
  } catch (...) {
    return has_code(error, std::array{Code::kOutOfRange});
  }
}

std::string describe(const std::exception_ptr& error) {
  if (!error) return "pthread_exit or pthread_cancel ended the thread";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    return type == nullptr ? "an exception of unknown type" : internal::class_name(*type);
  }
}

}  // namespace crochet::inline v0
