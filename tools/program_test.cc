// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The program itself, run by a shell: pipes, exit codes, outputs that fail.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/temp_directory.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct ScriptRun {
  int code = -1;
  std::string out = {};  // Both streams, unless the script redirects them.
};

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    TensorMap many;
    for (int i = 0; i < 4000; ++i)
      many.emplace(fmt::format("a/rather/long/name/to/fill/pipes/{:05}", i),
                   Tensor::scalar<float>(1));
    put_checkpoint(FileSystem::posix(), temp_ / "many-1", many, {.step = 1});
  }

  // Runs lines of bash in the temporary directory; "crochet" is the program.
  ScriptRun script(const std::string& text) const {
    const std::string path = temp_ / "script";
    put_file(FileSystem::posix(), path,
             fmt::format("cd '{}'\ncrochet() {{ '{}' \"$@\"; }}\nexec 2>&1\n{}\n", temp_.path(),
                         CROCHET_PROGRAM, text));
    FILE* const pipe = ::popen(fmt::format("bash '{}'", path).c_str(), "r");
    ScriptRun result;
    char buffer[4096];
    while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
      result.out.append(buffer, count);
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    return result;
  }

  TempDirectory temp_;
};

TEST_F(ProgramTest, ExitCodesReachTheShell) {
  EXPECT_EQ(script("crochet verify many-1").code, 0);
  EXPECT_EQ(script("crochet show --only nothing many-1").code, 1);
  EXPECT_EQ(script("crochet show nowhere").code, 2);
  EXPECT_EQ(script("crochet").code, 2);
  EXPECT_EQ(script("crochet --help > help && test -s help").code, 0);
}

TEST_F(ProgramTest, ResultsAndMessagesUseSeparateStreams) {
  EXPECT_THAT(script("crochet show nowhere 2> /dev/null").out, IsEmpty());
  EXPECT_EQ(script("crochet show nowhere > /dev/null").out,
            "crochet: nowhere: no such checkpoint, file or directory\n");
  EXPECT_THAT(script("crochet show many-1 > /dev/null").out, IsEmpty());
}

// As with `yes | head`: the signal's exit code, no message.
TEST_F(ProgramTest, AClosedPipeEndsItQuietly) {
  const ScriptRun result = script("crochet show many-1 | head -n 1; echo \"${PIPESTATUS[*]}\"");
  EXPECT_EQ(result.out, "type     shape  min  max  mean  name\n141 0\n");
  const ScriptRun ignored =
      script("trap '' PIPE; crochet show many-1 | head -n 1; echo \"${PIPESTATUS[*]}\"");
  EXPECT_EQ(ignored.out, result.out);
  EXPECT_EQ(script("crochet show --json many-1 | head -n 1").out, "{\n");
}

TEST_F(ProgramTest, AnOutputThatCannotBeWrittenIsAnError) {
  for (const char* const arguments : {"show many-1", "show --json many-1", "list .",
                                      "verify many-1", "--help", "show --help", "--version"}) {
    const ScriptRun result = script(fmt::format("crochet {} > /dev/full", arguments));
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_EQ(result.out,
              "crochet: standard output: write failed: No space left on device (ENOSPC)\n")
        << arguments;
  }
  const ScriptRun closed = script("crochet show many-1 >&-");
  EXPECT_EQ(closed.code, 2);
  EXPECT_THAT(closed.out, HasSubstr("EBADF"));
}

TEST_F(ProgramTest, OutputIsForOtherPrograms) {
  EXPECT_EQ(script("crochet show many-1 | awk 'NR > 1 { sum += $3 } END { print sum }'").out,
            "4000\n");
  EXPECT_EQ(script("crochet diff many-1 . && echo same").out, "same\n");
}

TEST_F(ProgramTest, ConvertAndRepairWorkOnFiles) {
  EXPECT_EQ(script("crochet convert --only '*/0000[0-9]' . out/few-7 && crochet show out |"
                   " tail -n +2 | wc -l")
                .out,
            "out/few-7: 10 tensors, 348\n10\n");
  EXPECT_EQ(script("crochet repair out && cat out/checkpoint").out,
            "out/few-7: sound\n"
            "out/checkpoint: now names few-7\n"
            "model_checkpoint_path: \"few-7\"\nall_model_checkpoint_paths: \"few-7\"\n");
}

}  // namespace
}  // namespace crochet::tool
