// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace crochet::internal {

// Names in files are whatever their authors liked. These make text of them that a terminal shows
// and does not obey, in one line. Escaped are the control characters of ASCII (line breaks, too)
// and of Unicode (C1, line and paragraph separators, what changes the direction of text), and bytes
// that are not UTF-8: as \n, \t, \r, or \x1b for each byte.
//
// Every Error escapes its message and log() its line, so their callers need none of these.

// A message. Its backslashes stay: what was escaped before does not change.
std::string escape_text(std::string_view message);
// A name. A backslash becomes two, so that different names stay different.
std::string escape_name(std::string_view name);
// A JSON document that has the same meaning: control characters within its strings as \u009b.
std::string escape_json(std::string_view document);

bool is_utf8(std::string_view text);

}  // namespace crochet::internal
