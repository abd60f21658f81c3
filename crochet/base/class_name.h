// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <typeinfo>

namespace crochet::inline v0 {

// The name of a C++ class without its namespaces and template arguments:
// "StopAtStepHook".
std::string class_name(const std::type_info& type);

}  // namespace crochet::inline v0
