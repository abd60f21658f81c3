// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace crochet::inline v0::internal {

// The program's own command line, from the system, at the first call: its first 64 KiB, without
// secrets.
const std::vector<std::string>& own_command_line();

// The arguments with "***" for what looks like a secret: the value of an option or variable whose
// name contains a word such as password, token, secret, credential or api-key (--api-key x,
// --password=x, TOKEN=x), and the user of a URL (https://user:password@host).
std::vector<std::string> without_secrets(std::vector<std::string> arguments);

}  // namespace crochet::inline v0::internal
