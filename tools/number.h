// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <variant>

#include "tools/json.h"

namespace crochet::tool {

// One value out of a tensor, or of several; nothing (monostate) where there is none.
using Number = std::variant<std::monostate, bool, int64_t, uint64_t, float, double,
                            std::complex<double>, std::string>;

// As few digits as tell it from its neighbours; "-" for none; a string in quotes.
std::string exact_text(const Number& number);
// Six digits at most.
std::string short_text(const Number& number);
// A number that JSON lacks is "NaN", "Infinity" or "-Infinity"; a complex one is [real, imaginary];
// none is null.
Json to_json(const Number& number);

}  // namespace crochet::tool
