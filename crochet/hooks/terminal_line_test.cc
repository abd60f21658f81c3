// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/terminal_line.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/log_capture.h"

namespace crochet {
namespace {

using testing::HasSubstr;

// Environment variables with other values while this lives.
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

// A terminal of a number of columns, and what was written to it.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0)
      throw std::runtime_error("no pseudo terminal");
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
  std::string read() const {
    std::string text(4096, '\0');
    const ssize_t length = ::read(master_, text.data(), text.size());
    text.resize(static_cast<size_t>(std::max<ssize_t>(length, 0)));
    return text;
  }

 private:
  int master_ = -1;
  std::FILE* stream_ = nullptr;
};

TEST(TerminalTraitsTest, AreThoseOfATerminal) {
  const PseudoTerminal terminal(123);
  const Environment environment(Environment::Values{
      {"TERM", "xterm"}, {"NO_COLOR", ""}, {"LC_ALL", "en_US.UTF-8"}, {"COLUMNS", "50"}});
  const TerminalTraits traits = terminal_traits(terminal.stream());
  EXPECT_TRUE(traits.is_terminal);
  EXPECT_TRUE(traits.color);
  EXPECT_TRUE(traits.unicode);
  EXPECT_EQ(terminal_width(terminal.stream()), 123);
}

TEST(TerminalTraitsTest, HeedTheEnvironment) {
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

TEST(TerminalTraitsTest, AreNoneOfAFile) {
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

TEST(TerminalLineTest, IsRedrawnInPlace) {
  const LogCapture log;
  const PseudoTerminal terminal(80);
  {
    TerminalLine line(terminal.stream());
    line.draw("10%");
    line.draw("10%");
    line.draw("20%");
  }
  EXPECT_EQ(terminal.read(), "\r\033[K10%\r\033[K20%\r\n");
}

TEST(TerminalLineTest, LetsTheLogPassAboveIt) {
  LogCapture log;
  const PseudoTerminal terminal(80);
  {
    TerminalLine line(terminal.stream());
    line.draw("10%");
    log_info("saved");
    EXPECT_EQ(terminal.read(), "\r\033[K10%\r\033[K10%");
  }
  log_info("later");
  EXPECT_EQ(terminal.read(), "\r\n");
  EXPECT_THAT(log.lines(), testing::ElementsAre("saved", "later"));
}

}  // namespace
}  // namespace crochet
