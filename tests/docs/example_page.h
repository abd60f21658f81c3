// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

// A page of docs/ as extract_examples turns it into a program. On the page,
//
// - the first block of C++ is what the others build upon;
// - each later one is an example: a program if it has a line `int main() {`, or else
//   the body of a function. It runs in an empty directory of its own;
// - a block of `text` behind an example is what the example prints and logs: its lines, in
//   their order, perhaps with others between them. "..." in a line stands for anything;
// - an example must show its output, or assert something.
namespace docs {

struct Example {
  const char* page;  // "docs/hooks.md".
  int line;          // Where the block begins.
  int (*run)();
  int output_line;  // Where its output is shown; 0: nowhere.
  std::string_view output = {};
};

// The examples of the page this program is made of.
extern const std::span<const Example> kExamples;

// Takes note of an assertion that is not true, and goes on.
void fail(const char* file, int line, const char* what);

}  // namespace docs

// Examples assert, whatever the build type. Not <cassert>'s: that ends the process, and
// the other examples would not be heard.
#define assert(...) ((__VA_ARGS__) ? void() : ::docs::fail(__FILE__, __LINE__, #__VA_ARGS__))
