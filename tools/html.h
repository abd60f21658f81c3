// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crochet::tool {

// Parts of a page in HTML. Text from a file becomes a part of one by html_text() only.

// The text as a browser shows it, with what printable_text() does to control characters; also
// within quotes.
std::string html_text(std::string_view text);

// A table. Cells are HTML. The columns from `first_number` on are numbers.
std::string html_table(const std::vector<std::string>& titles,
                       const std::vector<std::vector<std::string>>& rows, size_t first_number);

// A whole page that needs no other file and no network: light or dark as the reader's system is,
// for the keyboard, and for paper. `body` is HTML.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace crochet::tool
