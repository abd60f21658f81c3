// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"

namespace crochet::tool {
namespace {

using std::chrono::milliseconds;

// ECMA-48 and xterm: the other screen, without a cursor; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClear = "\x1b[2J";

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR) return;  // The terminal is gone: the next key says so.
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
}

Key key_of(std::string_view bytes) {
  if (bytes == "q" || bytes == "Q" || bytes == "\x03" || bytes == "\x04") return Key::kQuit;
  if (bytes == "k" || bytes == "\x1b[A" || bytes == "\x1bOA") return Key::kUp;
  if (bytes == "j" || bytes == "\x1b[B" || bytes == "\x1bOB") return Key::kDown;
  if (bytes == "\x1b[5~") return Key::kPageUp;
  if (bytes == " " || bytes == "\x1b[6~") return Key::kPageDown;
  return Key::kOther;
}

int number_in(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  const int number = text == nullptr ? 0 : std::atoi(text);
  return number > 0 && number < 10'000 ? number : otherwise;
}

}  // namespace

bool Terminal::is_there() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

ScreenSize Terminal::size_from_environment() {
  return {.columns = number_in("COLUMNS", 80), .rows = number_in("LINES", 24)};
}

Terminal::Terminal() {
  if (::tcgetattr(STDIN_FILENO, &before_) != 0)
    throw UnavailableError("the settings of the terminal cannot be read");
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_all(kEnter);
}

Terminal::~Terminal() {
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

ScreenSize Terminal::size() const {
  winsize window = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0)
    return size_from_environment();
  return {.columns = window.ws_col, .rows = window.ws_row};
}

void Terminal::draw(const std::vector<std::string>& lines) {
  const ScreenSize now = size();
  std::string text(now.columns == drawn_.columns && now.rows == drawn_.rows ? kHome : kClear);
  if (text != kHome) text += kHome;
  drawn_ = now;
  const size_t count = std::min(lines.size(), static_cast<size_t>(now.rows));
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : "\r\n") + lines[i];
  write_all(text);
}

Key Terminal::wait_for_key(std::chrono::steady_clock::time_point until) {
  while (pending_signal() == 0) {
    const ScreenSize now = size();
    if (now.columns != drawn_.columns || now.rows != drawn_.rows) return Key::kOther;
    const auto left =
        std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
    if (left <= milliseconds(0)) return Key::kNone;
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const auto slice = std::min(left, milliseconds(kSignalSlice));
    if (::poll(&input, 1, static_cast<int>(slice.count())) <= 0) continue;
    std::array<char, 16> bytes = {};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count <= 0) return Key::kQuit;  // Nobody is there any more.
    return key_of({bytes.data(), static_cast<size_t>(count)});
  }
  return Key::kNone;
}

}  // namespace crochet::tool
