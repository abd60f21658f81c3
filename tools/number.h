// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <variant>

#include "tools/json.h"

namespace crochet::tool {

// A value of a tensor, or computed from several; monostate if there is none.
using Number = std::variant<std::monostate, bool, int64_t, uint64_t, float, double,
                            std::complex<double>, std::string>;

// With as few digits as identify the value; "-" for none; a string in quotes.
std::string exact_text(const Number& number);
// With at most six digits.
std::string short_text(const Number& number);
// A number that JSON lacks is "NaN", "Infinity" or "-Infinity"; a complex number is
// [real, imaginary]; monostate is null.
Json to_json(const Number& number);

}  // namespace crochet::tool
