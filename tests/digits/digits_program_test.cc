// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
// The digits example as a user runs it: real processes, real signals, real files.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/testing/temp_directory.h"
#include "program.h"
#include "tests/support/sanitizers.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Eq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

class DigitsTest : public testing::Test {
 protected:
  std::vector<std::string> arguments(std::vector<std::string> more) const {
    more.insert(more.begin(), {"--dir", dir_});
    return more;
  }
  Ending run(std::vector<std::string> more, const ProgramOptions& options = {}) const {
    return run_digits(arguments(std::move(more)), options);
  }
  std::vector<std::string> checkpoints(const std::string& dir) const {
    return list_checkpoints(FileSystem::posix(), dir, "model.ckpt");
  }
  std::string newest() const { return checkpoints(dir_).back(); }

  TempDirectory temp_;
  const std::string dir_ = temp_.path() + "/run";
};

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? -1 : begin));
}

std::map<std::string, Tensor> all_tensors(const std::string& prefix) {
  const CheckpointReader reader(prefix);
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, info] : reader.tensors()) tensors.emplace(name, reader.read(name));
  return tensors;
}

void expect_same_bits(const std::string& a, const std::string& b) {
  const auto left = all_tensors(a), right = all_tensors(b);
  for (const auto& [name, tensor] : left) {
    ASSERT_TRUE(right.contains(name)) << name;
    EXPECT_TRUE(tensor == right.at(name)) << name << " differs between " << a << " and " << b;
  }
  EXPECT_EQ(left.size(), right.size());
}

TEST_F(DigitsTest, TrainsAndPrintsAccuracyAndConfusion) {
  const Ending ending = run({"--steps", "300"});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_THAT(ending.out, AllOf(HasSubstr("Held-out digits"), HasSubstr("accuracy 9"),
                                HasSubstr("step 300 ("), Not(HasSubstr("\033"))));
  EXPECT_THAT(ending.err, AllOf(HasSubstr("step 300/300 (100%), loss "), Not(HasSubstr("\033"))));
  EXPECT_EQ(newest(), dir_ + "/model.ckpt-300");
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/metrics.jsonl"));
}

TEST_F(DigitsTest, ReportsWhereItResumesAndThatNothingIsLeftToDo) {
  EXPECT_EQ(run({"--steps", "100"}).exit_code, 0);
  const Ending more = run({"--steps", "200"});
  EXPECT_EQ(more.exit_code, 0);
  EXPECT_THAT(more.err, HasSubstr("restored " + dir_ + "/model.ckpt-100"));
  EXPECT_THAT(more.out, HasSubstr("step 200 (resumed from 100, 1 checkpoint)"));

  const auto time = std::filesystem::last_write_time(dir_ + "/checkpoint");
  const Ending nothing = run({"--steps", "200"});
  EXPECT_EQ(nothing.exit_code, 0);
  EXPECT_THAT(nothing.out,
              AllOf(HasSubstr("step 200 has already been reached"), HasSubstr("accuracy 9")));
  EXPECT_THAT(nothing.err, Not(HasSubstr("steps/s")));
  EXPECT_EQ(std::filesystem::last_write_time(dir_ + "/checkpoint"), time);
}

// One run of 2,000 steps, and one that is killed at ten random moments, end in the same state, bit
// for bit: variables, optimiser, generator, data position, hooks' state, and the step.
TEST_F(DigitsTest, EndsInTheSameBitsThoughKilledTenTimes) {
  const std::string whole = temp_.path() + "/whole";
  const auto started = std::chrono::steady_clock::now();
  ASSERT_EQ(run_digits({"--dir", whole, "--steps", "2000", "--save-steps", "20"}).exit_code, 0);
  const auto duration = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - started);

  const unsigned seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  // How far a run gets before it is killed depends on the machine. One that reaches its end must
  // end in the same state too, and the next one starts from the beginning.
  std::uniform_int_distribution<int64_t> moment(0, duration.count() / 12);
  int kills = 0, kills_of_run = 0;
  for (int attempt = 0; kills < 10 || kills_of_run == 0; ++attempt) {
    ASSERT_LT(attempt, 200) << "only " << kills << " kills came before the end of a run";
    Program program(arguments({"--steps", "2000", "--save-steps", "20"}));
    if (!program.wait_for(std::chrono::microseconds(moment(random)))) program.send_signal(SIGKILL);
    const Ending ending = program.wait();
    ASSERT_TRUE(ending.signal == SIGKILL || ending.exit_code == 0) << ending.err;
    if (ending.signal == SIGKILL) {
      ++kills;
      ++kills_of_run;
      continue;
    }
    ASSERT_EQ(newest(), dir_ + "/model.ckpt-2000");
    expect_same_bits(newest(), whole + "/model.ckpt-2000");
    std::filesystem::remove_all(dir_);
    kills_of_run = 0;
  }
  const Ending ending = run({"--steps", "2000", "--save-steps", "20"});
  ASSERT_EQ(ending.exit_code, 0) << ending.err;
  ASSERT_EQ(newest(), dir_ + "/model.ckpt-2000");
  expect_same_bits(newest(), whole + "/model.ckpt-2000");

  const auto tensors = all_tensors(newest());
  for (const char* const name :
       {"global_step", "model/w1", "model/b1", "model/w2", "model/b2", "adam/step", "adam/mean/w1",
        "adam/variance/w2", "batches/order", "batches/position", "batches/generator",
        "hooks/BestAccuracyHook/best", "hooks/BestAccuracyHook/best_step"})
    EXPECT_TRUE(tensors.contains(name)) << name;
  for (const auto& entry : std::filesystem::directory_iterator(dir_))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("tempstate")));
}

TEST_F(DigitsTest, FinishesTheStepSavesAndEndsOnASignal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Program program(arguments({"--steps", "50000"}));
    ASSERT_TRUE(program.wait_for_error("steps/s"));
    program.send_signal(signal);
    const Ending ending = program.wait();
    EXPECT_EQ(ending.exit_code, 128 + signal) << ending.err;
    std::smatch match;
    ASSERT_TRUE(
        std::regex_search(ending.out, match, std::regex("step ([0-9]+) \\(.*: SignalHook: SIG")))
        << ending.out;
    EXPECT_EQ(newest(), fmt::format("{}/model.ckpt-{}", dir_, match[1].str()));
  }
}

TEST_F(DigitsTest, RejectsADirectoryThatAnotherRunHolds) {
  Program first(arguments({"--steps", "50000"}));
  ASSERT_TRUE(first.wait_for_error("steps/s"));
  const Ending second = run({"--steps", "10"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(last_line(second.err),
              AllOf(HasSubstr("digits: "), HasSubstr(dir_), HasSubstr("pid ")));
}

TEST_F(DigitsTest, RejectsACheckpointOfAnotherArchitecture) {
  ASSERT_EQ(run({"--steps", "100"}).exit_code, 0);
  const auto before = all_tensors(newest());
  const Ending ending = run({"--steps", "200", "--hidden", "64"});
  EXPECT_EQ(ending.exit_code, 1);
  EXPECT_THAT(
      last_line(ending.err),
      AllOf(HasSubstr("digits: "), HasSubstr("model.ckpt-100"),
            HasSubstr("\"model/w1\" as float32 [128,64], where this program has float32 [64,64]"),
            HasSubstr("\"model/b1\"")));
  EXPECT_TRUE(all_tensors(newest()) == before);
}

TEST_F(DigitsTest, FallsBackToTheCheckpointBeforeADamagedOne) {
  ASSERT_EQ(run({"--steps", "200", "--save-steps", "100"}).exit_code, 0);
  {
    std::fstream data(dir_ + "/model.ckpt-200.data-00000-of-00001",
                      std::ios::in | std::ios::out | std::ios::binary);
    data.seekg(5000);
    const char byte = static_cast<char>(data.get() ^ 1);
    data.seekp(5000);
    data.put(byte);
  }
  const Ending ending = run({"--steps", "300", "--save-steps", "100"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_THAT(ending.err, AllOf(HasSubstr("crc32c"), HasSubstr("model.ckpt-200"),
                                HasSubstr("restored " + dir_ + "/model.ckpt-100")));
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/model.ckpt-200.index.damaged"));
  EXPECT_THAT(checkpoints(dir_), SizeIs(4));  // 0, 100, 200 (written again), 300.

  // The same steps compute the same bits.
  const std::string whole = temp_.path() + "/whole";
  ASSERT_EQ(run_digits({"--dir", whole, "--steps", "300", "--save-steps", "100"}).exit_code, 0);
  expect_same_bits(newest(), whole + "/model.ckpt-300");
}

TEST_F(DigitsTest, NeverStartsAfreshOverDamagedCheckpoints) {
  ASSERT_EQ(run({"--steps", "100"}).exit_code, 0);
  for (const std::string& prefix : checkpoints(dir_))
    std::filesystem::resize_file(prefix + ".data-00000-of-00001", 100);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Ending ending = run({"--steps", "200"});
    EXPECT_EQ(ending.exit_code, 1);
    EXPECT_THAT(last_line(ending.err),
                AllOf(HasSubstr("digits: "), HasSubstr(dir_), HasSubstr("sound")));
  }
}

TEST_F(DigitsTest, TrainsOnAFullDiskAndFailsAtTheEnd) {
  if (kHasThreadSanitizer)
    GTEST_SKIP() << "ThreadSanitizer maps a file of its own, for which the limit is too low";
  ASSERT_EQ(run({"--steps", "100"}).exit_code, 0);
  const auto before = all_tensors(newest());
  const Ending ending = run({"--steps", "200"}, {.largest_file = 50'000});
  EXPECT_EQ(ending.exit_code, 1);
  EXPECT_THAT(last_line(ending.err),
              AllOf(HasSubstr("digits: "), HasSubstr("model.ckpt-200"), HasSubstr("EFBIG")));
  EXPECT_EQ(newest(), dir_ + "/model.ckpt-100");
  EXPECT_TRUE(all_tensors(newest()) == before);
  EXPECT_EQ(run({"--steps", "200"}).exit_code, 0);  // With free space again, nothing is lost.
}

TEST_F(DigitsTest, ReportsErrorsInOneLine) {
  const auto expect_error = [&](int exit_code, std::vector<std::string> words,
                                const std::string& text) {
    const Ending ending = run_digits(words);
    EXPECT_EQ(ending.exit_code, exit_code) << text;
    EXPECT_THAT(ending.err, AllOf(HasSubstr("digits: "), HasSubstr(text)));
    EXPECT_EQ(std::ranges::count(ending.err, '\n'), 1) << ending.err;
    EXPECT_THAT(ending.out, IsEmpty());
  };
  expect_error(2, {"--stepz", "1"}, "--stepz");
  expect_error(2, {"--steps", "many"}, "--steps");
  expect_error(2, {"--hidden", "0"}, "--hidden");
  expect_error(2, {"--save-steps", "1", "--save-secs", "1"}, "--save-secs");
  expect_error(1, {"--dir", dir_, "--data", temp_.path() + "/none.csv.gz"}, "none.csv.gz");
  std::ofstream(temp_.path() + "/bad.csv") << "1,2,3\n";
  expect_error(1, {"--dir", dir_, "--data", temp_.path() + "/bad.csv"}, "bad.csv: not a gzip file");
  std::ofstream(temp_.path() + "/file") << "not a directory";
  expect_error(1, {"--dir", temp_.path() + "/file"}, temp_.path() + "/file");
}

// Terminal output, split at each redrawing.
std::vector<std::string> redrawings(const std::string& output) {
  std::vector<std::string> lines;
  static const std::regex separator("\r\033\\[K|\033\\[999C |\r?\n");
  for (std::sregex_token_iterator line(output.begin(), output.end(), separator, -1), end;
       line != end; ++line)
    if (line->str().find("/300") != std::string::npos) lines.push_back(*line);
  return lines;
}

size_t columns(const std::string& line) {
  const std::string plain = std::regex_replace(line, std::regex("\033\\[[0-9]*m"), "");
  return static_cast<size_t>(std::ranges::count_if(
      plain, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

TEST_F(DigitsTest, DrawsABarThatFitsTheTerminal) {
  for (const int width : {45, 80, 200}) {
    const Ending ending = run({"--steps", "300"}, {.environment = {"TERM=xterm", "LANG=C.UTF-8"},
                                                   .terminal_columns = width});
    EXPECT_EQ(ending.exit_code, 0);
    const std::vector<std::string> lines = redrawings(ending.out);
    ASSERT_THAT(lines, Not(IsEmpty())) << ending.out;
    for (const std::string& line : lines)
      EXPECT_LT(columns(line), static_cast<size_t>(width)) << line;
    EXPECT_THAT(lines.back(), AllOf(HasSubstr("100%"), HasSubstr("300/300"), HasSubstr("loss ")));
    if (width >= 80) {
      EXPECT_THAT(lines.back(), AllOf(HasSubstr("━"), HasSubstr("\033[32m")));
    }
    std::filesystem::remove_all(dir_);
  }
}

TEST_F(DigitsTest, DrawsWithoutColourIfAsked) {
  const Ending ending = run({"--steps", "300"},
                            {.environment = {"TERM=xterm", "NO_COLOR=1"}, .terminal_columns = 100});
  const std::vector<std::string> lines = redrawings(ending.out);
  ASSERT_THAT(lines, Not(IsEmpty()));
  EXPECT_THAT(lines, Each(Not(HasSubstr("\033"))));
  EXPECT_THAT(ending.out, Not(HasSubstr("\033[3")));
  EXPECT_THAT(lines.back(), AllOf(HasSubstr("###"), HasSubstr("100%")));
}

}  // namespace
}  // namespace crochet
