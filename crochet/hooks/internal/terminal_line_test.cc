// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/terminal_line.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/log_capture.h"

namespace crochet::internal {
namespace {

using testing::HasSubstr;

// Sets environment variables, and restores them when it is destroyed.
class Environment {
 public:
  using Values = std::map<std::string, std::string>;

  explicit Environment(const Values& values) {
    for (const auto& [name, value] : values) {
      const char* const previous = ::getenv(name.c_str());
      previous_[name] = previous ? std::optional<std::string>(previous) : std::nullopt;
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : previous_) {
      if (value) ::setenv(name.c_str(), value->c_str(), 1);
      if (!value) ::unsetenv(name.c_str());
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> previous_;
};

// A terminal of the given width, and the bytes written to it.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0)
      throw std::runtime_error("cannot open a pseudo terminal");
    stream_ = std::fopen(::ptsname(master_), "w");
    struct winsize size = {};
    size.ws_col = columns;
    ::ioctl(::fileno(stream_), TIOCSWINSZ, &size);
  }
  ~PseudoTerminal() {
    std::fclose(stream_);
    ::close(master_);
  }
  std::FILE* stream() const { return stream_; }
  // Waits for the next `num_bytes` bytes: the kernel may pass them on in pieces.
  std::string read(size_t num_bytes) const {
    std::string text;
    while (text.size() < num_bytes && read_more(num_bytes - text.size(), text)) continue;
    return text;
  }
  // The same up to and including `last`.
  std::string read_until(std::string_view last) const {
    std::string text;
    while (!text.ends_with(last) && read_more(1, text)) continue;
    return text;
  }

 private:
  // Waits for at most `num_bytes` bytes and adds them. False if there are none.
  bool read_more(size_t num_bytes, std::string& text) const {
    constexpr int kMaxMilliseconds = 60'000;
    struct pollfd ready = {.fd = master_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, kMaxMilliseconds) != 1) return false;
    std::string more(num_bytes, '\0');
    const ssize_t length = ::read(master_, more.data(), more.size());
    if (length <= 0) return false;
    text += more.substr(0, static_cast<size_t>(length));
    return true;
  }

  int master_ = -1;
  std::FILE* stream_ = nullptr;
};

TEST(TerminalTraitsTest, DetectsATerminal) {
  const PseudoTerminal terminal(123);
  const Environment environment(Environment::Values{
      {"TERM", "xterm"}, {"NO_COLOR", ""}, {"LC_ALL", "en_US.UTF-8"}, {"COLUMNS", "50"}});
  const TerminalTraits traits = terminal_traits(terminal.stream());
  EXPECT_TRUE(traits.is_terminal);
  EXPECT_TRUE(traits.color);
  EXPECT_TRUE(traits.unicode);
  EXPECT_EQ(terminal_width(terminal.stream()), 123);
}

TEST(TerminalTraitsTest, RespectsTheEnvironment) {
  const PseudoTerminal terminal(80);
  {
    const Environment environment(
        Environment::Values{{"TERM", "xterm"}, {"NO_COLOR", "1"}, {"LC_ALL", "C"}});
    const TerminalTraits traits = terminal_traits(terminal.stream());
    EXPECT_TRUE(traits.is_terminal);
    EXPECT_FALSE(traits.color);
    EXPECT_FALSE(traits.unicode);
  }
  const Environment environment(Environment::Values{{"TERM", "dumb"}});
  EXPECT_FALSE(terminal_traits(terminal.stream()).is_terminal);
}

TEST(TerminalTraitsTest, AFileHasNone) {
  std::FILE* const file = std::tmpfile();
  EXPECT_FALSE(terminal_traits(file).is_terminal);
  EXPECT_FALSE(terminal_traits(file).color);
  {
    const Environment environment(Environment::Values{{"COLUMNS", "50"}});
    EXPECT_EQ(terminal_width(file), 50);
  }
  for (const char* const nonsense : {"", "0", "-5", "wide"}) {
    const Environment environment(Environment::Values{{"COLUMNS", nonsense}});
    EXPECT_EQ(terminal_width(file), 80) << nonsense;
  }
  std::fclose(file);
}

void expect_shown(const PseudoTerminal& terminal, std::string_view expected) {
  EXPECT_EQ(terminal.read(expected.size()), expected);
}

TEST(TerminalLineTest, IsRedrawnInPlace) {
  const LogCapture log;
  const PseudoTerminal terminal(80);
  {
    TerminalLine line(terminal.stream());
    line.draw("10%");
    line.draw("10%");
    line.draw("20%");
  }
  expect_shown(terminal, "\r\033[K10%\033[999C \r\033[K20%\033[999C \r\n");
}

TEST(TerminalLineTest, LogLinesAreWrittenAboveIt) {
  LogCapture log;
  const PseudoTerminal terminal(80);
  {
    TerminalLine line(terminal.stream());
    line.draw("10%");
    log_info("saved");
    expect_shown(terminal, "\r\033[K10%\033[999C \r\033[K10%\033[999C ");
  }
  log_info("later");
  expect_shown(terminal, "\r\n");
  EXPECT_THAT(log.lines(), testing::ElementsAre("saved", "later"));
}

// What a terminal shows of the bytes written to it: as xterm does, it stays in the last column once
// that is written, and goes to the next line for the next character.
std::vector<std::string> screen(std::string_view bytes, size_t num_columns) {
  std::vector<std::string> lines(1);
  size_t column = 0;
  bool wraps = false;  // Before the next character.
  const auto next_line = [&] {
    lines.emplace_back();
    wraps = false;
  };
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string& line = lines.back();
    if (bytes.substr(i).starts_with("\033[K")) {
      line.resize(std::min(line.size(), column));
      i += 2;
    } else if (bytes.substr(i).starts_with("\033[999C")) {
      column = num_columns - 1;
      i += 5;
    } else if (bytes[i] == '\r') {
      column = 0;
      wraps = false;
    } else if (bytes[i] == '\n') {
      next_line();
    } else {
      if (wraps) {
        next_line();
        column = 0;
      }
      lines.back().resize(std::max(lines.back().size(), column + 1), ' ');
      lines.back()[column] = bytes[i];
      wraps = column + 1 == num_columns;
      if (!wraps) ++column;
    }
  }
  for (std::string& line : lines) line.resize(line.find_last_not_of(' ') + 1);
  return lines;
}

// The program prints while a long line is shown: nothing sticks to it, and nothing is lost.
TEST(TerminalLineTest, OutputOfTheProgramHasLinesOfItsOwn) {
  const LogCapture log;
  const PseudoTerminal terminal(40);
  {
    TerminalLine line(terminal.stream());
    line.draw(" 10% ####------ 1/10  0:03 left");
    line.draw(" 20% ###------- 2/10  0:02 left");
    std::fputs("my own line\n", terminal.stream());
    std::fputs("and another one\n", terminal.stream());
    std::fflush(terminal.stream());
    line.draw(" 30% ####------ 3/10  0:01 left");
    line.draw(" 40% ####------ 4/10  0:01 left");
    std::fputs("the last one\n", terminal.stream());
    std::fflush(terminal.stream());
    line.draw("100% ########## 10/10");
  }
  EXPECT_THAT(screen(terminal.read_until("10/10\033[999C \r\n"), 40),
              testing::ElementsAre(" 20% ###------- 2/10  0:02 left", "my own line",
                                   "and another one", " 40% ####------ 4/10  0:01 left",
                                   "the last one", "100% ########## 10/10", ""));
}

// The callback that was set before may be user code.
TEST(TerminalLineTest, HoldsNoLockWhileALogLineIsPrinted) {
  const PseudoTerminal terminal(80);
  TerminalLine* bar = nullptr;
  const LogCallback previous = set_log_callback([&](Severity, std::string_view message) {
    if (message != "saved") return;
    bar->draw("30%");
    log_info("where it is");
  });
  {
    TerminalLine line(terminal.stream());
    bar = &line;
    line.draw("10%");
    log_info("saved");
    expect_shown(terminal, "\r\033[K10%\033[999C \r\033[K30%\033[999C ");
  }
  set_log_callback(previous);
}

// Every allocation fails in turn.
TEST(TerminalLineLogTest, KeepsThePreviousCallbackIfMemoryIsShort) {
  std::FILE* const file = std::tmpfile();
  std::vector<std::string> logged;
  set_log_callback([&logged, name = std::string(100, 'n')](Severity, std::string_view message) {
    logged.emplace_back(message);
  });
  bool is_made = false;
  int64_t num_failed = 0;
  for (; !is_made; ++num_failed) {
    {
      const FailingAllocations failing(num_failed, 1);
      std::thread([&] {
        try {
          const TerminalLine line(file);
          is_made = failing.count() <= num_failed;
        } catch (const std::bad_alloc&) {
        }
      }).join();
    }
    logged.clear();
    log_info("a message");
    EXPECT_THAT(logged, testing::ElementsAre("a message")) << "after allocation " << num_failed;
  }
  set_log_callback({});
  std::fclose(file);
  EXPECT_GT(num_failed, 5);
}

// A log callback is user code: it may log, and draw.
TEST(TerminalLineLogTest, CallsThePreviousCallbackWithoutAMutex) {
  std::FILE* const file = std::tmpfile();
  std::vector<std::string> logged;
  TerminalLine* drawn = nullptr;
  set_log_callback([&](Severity, std::string_view message) {
    logged.emplace_back(message);
    if (drawn != nullptr) drawn->draw("50 %");
  });
  {
    TerminalLine line(file);
    drawn = &line;
    line.draw("10 %");
    log_info("a message");
    drawn = nullptr;
  }
  set_log_callback({});
  EXPECT_THAT(logged, testing::ElementsAre("a message"));
  std::string text(1000, ' ');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_NE(text.find("50 %"), std::string::npos) << "what was drawn meanwhile comes after it";
}

}  // namespace
}  // namespace crochet::internal
