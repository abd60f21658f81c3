// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/c/internal/error_codes.h"

#include <new>
#include <string>

#include "crochet/c.h"
#include "crochet/tensor/dtype.h"
#include "crochet/version.h"

namespace crochet::inline v0::internal {
namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

int record(Code code, const char* text) noexcept {
  try {
    last_error() = text;
  } catch (...) {
    last_error().clear();
  }
  return static_cast<int>(code);
}

}  // namespace

int code_of_caught() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return record(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return record(Code::kResourceExhausted, "there is not enough memory");
  } catch (const std::exception& error) {
    return record(Code::kUnknown, error.what());
  } catch (...) {
    return record(Code::kUnknown, "an exception that is not a std::exception");
  }
}

void check_given(const void* argument, const char* name) {
  if (argument == nullptr) throw InvalidArgumentError(std::string(name) + " is NULL");
}

}  // namespace crochet::inline v0::internal

const char* crochet_version(void) { return CROCHET_VERSION; }

const char* crochet_last_error(void) { return crochet::internal::last_error().c_str(); }

size_t crochet_dtype_size(int dtype) {
  return crochet::is_valid_dtype(dtype) ? crochet::element_size(static_cast<crochet::DType>(dtype))
                                        : 0;
}
