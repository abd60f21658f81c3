// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

// A page of docs/, or several, which extract_examples turns into one program. On these pages,
//
// - the first block of C++ of the first page is shared by all others;
// - each later one is an example: a program if it has a line `int main() {`, or else
//   the body of a function. It runs in its own empty directory;
// - a block of `text` after an example is its output and log: the lines must appear in
//   this order, possibly with others between them. "..." in a line stands for any text;
// - an example must show its output, or assert something.
namespace docs {

struct Example {
  const char* page;  // "docs/hooks.md".
  int line;          // The line at which the block begins.
  int (*run)();
  int output_line;  // The line of its output on the page, or 0.
  std::string_view output = {};
};

// The examples of the pages from which this program was made.
extern const std::span<const Example> kExamples;

// Records a failed assertion; the example continues.
void fail(const char* file, int line, const char* what);

}  // namespace docs

// Active in every build type. Unlike that of <cassert>, it does not end the process, so
// that the other examples run, too.
#undef assert
#define assert(...) ((__VA_ARGS__) ? void() : ::docs::fail(__FILE__, __LINE__, #__VA_ARGS__))
