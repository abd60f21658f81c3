// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/error.h"

#include <cxxabi.h>

#include "crochet/base/class_name.h"
#include "crochet/base/escape.h"

namespace crochet::inline v0 {

const char* code_name(Code code) {
  switch (code) {
    case Code::kCancelled:
      return "CANCELLED";
    case Code::kUnknown:
      return "UNKNOWN";
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kAlreadyExists:
      return "ALREADY_EXISTS";
    case Code::kPermissionDenied:
      return "PERMISSION_DENIED";
    case Code::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case Code::kAborted:
      return "ABORTED";
    case Code::kOutOfRange:
      return "OUT_OF_RANGE";
    case Code::kUnimplemented:
      return "UNIMPLEMENTED";
    case Code::kInternal:
      return "INTERNAL";
    case Code::kUnavailable:
      return "UNAVAILABLE";
    case Code::kDataLoss:
      return "DATA_LOSS";
    case Code::kUnauthenticated:
      return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

Error::Error(Code code, std::string_view message)
    : std::runtime_error(internal::escape_text(message)), code_(code) {}

void throw_error(Code code, const std::string& message) {
  switch (code) {
    case Code::kCancelled:
      throw CancelledError(message);
    case Code::kUnknown:
      throw UnknownError(message);
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
  }
  throw UnknownError(message);
}

bool is_preemption(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.code() == Code::kAborted || e.code() == Code::kUnavailable;
  } catch (...) {
    return false;
  }
}

bool is_end_of_input(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.code() == Code::kOutOfRange;
  } catch (const StopIteration&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    return type == nullptr ? "an exception of unknown type" : class_name(*type);
  }
}

}  // namespace crochet::inline v0
