// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace crochet::inline v0::internal {

// Names from files can contain any bytes. These functions turn them into one line of text that a
// terminal shows and does not interpret. They escape the control characters of ASCII (including
// line breaks) and of Unicode (C1, line and paragraph separators, marks that change the direction
// of text), and bytes that are not UTF-8: as \n, \t, \r, or \x1b for each byte.
//
// Error escapes its message and log() escapes its line, so their callers need not.

// Escapes a message. Keeps backslashes, so that text which is already escaped does not change.
std::string escape_text(std::string_view message);
// Escapes a name. A backslash becomes two, so that different names stay different.
std::string escape_name(std::string_view name);
// Escapes a JSON document, keeping its meaning: control characters in strings become \u009b.
std::string escape_json(std::string_view document);

bool is_utf8(std::string_view text);

}  // namespace crochet::inline v0::internal
