// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/terminal_line.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "crochet/base/internal/blocked_signal.h"
#include "crochet/base/internal/log_lazily.h"

namespace crochet::inline v0::internal {
namespace {

constexpr int kDefaultColumns = 80;
constexpr const char* kClearLine = "\r\033[K";
// Fills the last column. A terminal then stays in that line until the next character, which it puts
// at the start of a new line. Our own begins with '\r', and stays in the line; what the program
// prints gets a line of its own.
constexpr const char* kFillLine = "\033[999C ";

std::string_view environment(const char* name) {
  const char* const value = ::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// The first of these variables that is set decides the locale (POSIX).
std::string_view locale_name() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const std::string_view value = environment(name); !value.empty()) return value;
  return {};
}

}  // namespace

TerminalTraits terminal_traits(std::FILE* stream) {
  TerminalTraits traits;
  traits.is_terminal = ::isatty(::fileno(stream)) == 1 && environment("TERM") != "dumb";
  traits.color = traits.is_terminal && environment("NO_COLOR").empty();
  const std::string_view locale = locale_name();
  traits.unicode = locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  return traits;
}

int terminal_width(std::FILE* stream) {
  struct winsize size = {};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string_view columns = environment("COLUMNS");
  int width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  return width > 0 ? width : kDefaultColumns;
}

struct TerminalLine::State {
  std::mutex mutex;             // Guards what follows, and the order of output.
  std::FILE* stream = nullptr;  // Null once the line has ended.
  std::string text;             // The text of the line, shown unless it is hidden.
  std::string drawn;            // The text, and what fills the line.
  int num_hidden = 0;  // Log lines being printed; more than one if printing one logs another.

  // Allocates nothing: destructors use it.
  void write(std::string_view bytes) const {
    if (stream == nullptr) return;
    const BlockedSignal no_signal(SIGPIPE);  // If nobody reads it any more.
    std::fwrite(bytes.data(), 1, bytes.size(), stream);
    std::fflush(stream);
  }
};

// Hides the line until it is destroyed, and then redraws it.
class TerminalLine::Hidden {
 public:
  explicit Hidden(State& state) : state_(state) {
    const std::lock_guard lock(state_.mutex);
    if (state_.num_hidden++ == 0) state_.write(kClearLine);
  }
  ~Hidden() {
    const std::lock_guard lock(state_.mutex);
    if (--state_.num_hidden == 0 && !state_.text.empty()) state_.write(state_.drawn);
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;

 private:
  State& state_;
};

TerminalLine::TerminalLine(std::FILE* stream) : state_(std::make_shared<State>()) {
  state_->stream = stream;
  previous_log_ = replace_log_callback([this](const LogCallback& previous) {
    return [state = state_, previous](Severity severity, std::string_view message) {
      const Hidden hidden(*state);
      previous(severity, message);  // Without the mutex: it may be user code.
    };
  });
}

TerminalLine::~TerminalLine() {
  // If that fails, log lines continue to pass through the line's state, which draws nothing more.
  try_or_log([] { return "the end of a progress bar"; },
             [this] { set_log_callback(std::move(previous_log_)); });
  const std::lock_guard lock(state_->mutex);
  if (!state_->text.empty() && state_->num_hidden == 0) state_->write("\n");
  state_->text.clear();
  state_->stream = nullptr;
}

void TerminalLine::draw(const std::string& text) {
  const std::lock_guard lock(state_->mutex);
  if (text == state_->text) return;
  state_->text = text;
  state_->drawn = text + kFillLine;
  if (state_->num_hidden == 0) state_->write(kClearLine + state_->drawn);
}

}  // namespace crochet::inline v0::internal
