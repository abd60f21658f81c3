// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/command_line.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>

#include "crochet/base/internal/immortal.h"

namespace crochet::inline v0::internal {
namespace {

// A command line may have 2 MiB, more than anyone reads.
constexpr size_t kMaxBytes = size_t{64} << 10;
constexpr std::string_view kHidden = "***";

// Parts of names, without the characters that separate words.
constexpr std::string_view kSecretParts[] = {"password",   "passwd",    "passphrase", "secret",
                                             "credential", "apikey",    "accesskey",  "privatekey",
                                             "signingkey", "authtoken", "accesstoken"};
// Words that other names may contain, such as "tokenizer" and "passes".
constexpr std::string_view kSecretWords[] = {"auth", "authorization", "bearer",
                                             "pass", "pwd",           "token"};

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// "--hf_token" and "hfToken" have the words hf and token.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool begins = true;
  char previous = ' ';
  for (const char c : name) {
    if (is_upper(c) && !is_upper(previous)) begins = true;
    previous = c;
    if (!is_alphanumeric(c)) {
      begins = true;
      continue;
    }
    if (begins) words.emplace_back();
    words.back() += lower(c);
    begins = false;
  }
  return words;
}

bool is_secret(std::string_view name) {
  std::string joined;
  for (const std::string& word : words_of(name)) {
    if (std::ranges::find(kSecretWords, word) != std::end(kSecretWords)) return true;
    joined += word;
  }
  return std::ranges::any_of(
      kSecretParts, [&](std::string_view part) { return joined.find(part) != std::string::npos; });
}

// The name that ends at `end`: "--api-key" of "x --api-key=".
std::string_view name_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && (is_alphanumeric(text[begin - 1]) || text[begin - 1] == '-' ||
                       text[begin - 1] == '_' || text[begin - 1] == '.'))
    --begin;
  return text.substr(begin, end - begin);
}

// Hides what follows the first NAME= or NAME: with a secret name.
void hide_assigned(std::string& argument) {
  for (size_t i = argument.find_first_of("=:"); i != std::string::npos;
       i = argument.find_first_of("=:", i + 1))
    if (is_secret(name_before(argument, i))) {
      argument.replace(i + 1, std::string::npos, kHidden);
      return;
    }
}

// Hides "user:password" of each "scheme://user:password@host".
void hide_users(std::string& argument) {
  constexpr std::string_view kMark = "://";
  for (size_t i = argument.find(kMark); i != std::string::npos; i = argument.find(kMark, i)) {
    i += kMark.size();
    const std::string_view authority =
        std::string_view(argument).substr(i, argument.find_first_of("/?# \t\n\"'", i) - i);
    const size_t at = authority.rfind('@');
    if (at != std::string_view::npos) argument.replace(i, at, kHidden);
  }
}

// From the system, since a library has no argv.
std::vector<std::string> read_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  size_t size = 0;
  for (std::string argument; std::getline(file, argument, '\0');) {
    size += argument.size() + 1;
    if (size > kMaxBytes) {
      arguments.emplace_back("...");
      break;
    }
    arguments.push_back(argument);
  }
  return without_secrets(std::move(arguments));
}

}  // namespace

const std::vector<std::string>& own_command_line() {
  static Immortal<const std::vector<std::string>> own(read_command_line());
  return *own;
}

std::vector<std::string> without_secrets(std::vector<std::string> arguments) {
  bool is_value = false;  // Of a secret option, such as --token, which came before.
  for (std::string& argument : arguments) {
    const bool is_hidden = is_value && !argument.starts_with("--");
    is_value = !is_hidden && argument.starts_with('-') && argument.find('=') == std::string::npos &&
               is_secret(argument);
    if (is_hidden) {
      argument = kHidden;
      continue;
    }
    hide_users(argument);
    hide_assigned(argument);
  }
  return arguments;
}

}  // namespace crochet::inline v0::internal
