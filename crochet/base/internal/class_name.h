// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <typeinfo>

#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// The name of a C++ class without its namespaces and template arguments: "StopAtStepHook".
CROCHET_EXPORT std::string class_name(const std::type_info& type);

// The name of the object's class at run time, or `unknown` if the class was compiled without
// run-time type information.
template <typename T>
std::string class_name_of(const T& object, const char* unknown) {
  const std::type_info* const type = dynamic_type(object);
  return type == nullptr ? unknown : class_name(*type);
}

}  // namespace crochet::inline v0::internal
