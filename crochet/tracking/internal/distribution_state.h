// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/tracking/internal/type_shapes.h"

namespace crochet::inline v0::internal {

// The operator>> of a standard distribution trusts its input: with parameters out of range its
// behaviour is undefined, or it never returns. So the text in a checkpoint is checked before it is
// read.

// The numbers that GCC's standard library writes, each as a letter: 'f' any finite number, '<' one
// that is not less than the number before it, 'p' a positive one, 'o' also 0, 'u' from 0 to 1, 'x'
// the same without either end, 'h' without 0, 'c' a flag, and a kept number if it is 1. 'D', 'C'
// and 'L': a count and weights, of discrete, piecewise constant and piecewise linear distributions.
// "" for other distributions.
template <typename T>
consteval std::string_view distribution_grammar() {
#ifdef __GLIBCXX__
  constexpr std::string_view kRules[][2] = {{"uniform_int_distribution", "f<"},
                                            {"uniform_real_distribution", "f<"},
                                            {"bernoulli_distribution", "u"},
                                            {"binomial_distribution", "oufpc"},
                                            {"geometric_distribution", "x"},
                                            {"negative_binomial_distribution", "phppfpc"},
                                            {"poisson_distribution", "pfpc"},
                                            {"exponential_distribution", "p"},
                                            {"gamma_distribution", "ppfpc"},
                                            {"weibull_distribution", "pp"},
                                            {"extreme_value_distribution", "fp"},
                                            {"normal_distribution", "fpc"},
                                            {"lognormal_distribution", "fpfpc"},
                                            {"chi_squared_distribution", "pppfpc"},
                                            {"cauchy_distribution", "fp"},
                                            {"fisher_f_distribution", "ppppfpcppfpc"},
                                            {"student_t_distribution", "pfpcppfpc"},
                                            {"discrete_distribution", "D"},
                                            {"piecewise_constant_distribution", "C"},
                                            {"piecewise_linear_distribution", "L"}};
  constexpr std::string_view kStart = "T = std::";
  const std::string_view text = __PRETTY_FUNCTION__;
  const size_t start = text.find(kStart);
  if (start == std::string_view::npos) return "";
  for (const auto& [name, grammar] : kRules)
    if (text.substr(start + kStart.size()).starts_with(name)) return grammar;
#endif
  return "";
}

template <typename T>
inline constexpr bool kIsLongNormal =
    distribution_grammar<T>() == "fpc" && std::same_as<typename T::result_type, long double>;

// True for distributions that normalise their weights when they read them.
template <typename T>
consteval bool has_weights() {
  const std::string_view grammar = distribution_grammar<T>();
  return grammar == "D" || grammar == "C" || grammar == "L";
}

[[noreturn]] CROCHET_EXPORT void throw_bad_distribution();

// The text that is read back for `text`: GCC's piecewise constant distributions write densities,
// and read weights.
CROCHET_EXPORT std::string readable_text(const std::string& text, std::string_view grammar);

// The first two numbers of a text that was checked: GCC reads those of a normal distribution as
// doubles, whatever their type.
CROCHET_EXPORT std::pair<long double, long double> first_numbers(const std::string& text);

// Throws: InvalidArgumentError for a text that does not match the grammar.
CROCHET_EXPORT void check_distribution_text(const std::string& text, std::string_view grammar);

// Throws: InvalidArgumentError if such a distribution cannot have written the text. Those outside
// the standard library are trusted to check their input.
template <typename T>
void check_distribution(const std::string& text) {
  constexpr std::string_view kGrammar = distribution_grammar<T>();
  if constexpr (!kGrammar.empty()) check_distribution_text(text, kGrammar);
}

}  // namespace crochet::inline v0::internal
