// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <map>
#include <optional>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "child_process.h"
#include "crochet/io/file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// The system calls of a run, traced by strace. Writes are not included: they may use
// io_uring, which strace does not see.
class SystemCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    ChildProcess probe({"strace", "-qq", "-e", "trace=fsync", "-o", "/dev/null", "true"});
    if (probe.wait() != 0) GTEST_SKIP() << "strace is not installed, or not permitted to trace";
  }

  std::vector<std::string> helper(const std::string& last_step) const {
    return {CROCHET_FAULT_HELPER, run_, last_step};
  }

  // Runs the helper under strace; returns the trace.
  std::string traced(const std::string& last_step, const std::vector<std::string>& options) {
    // AddressSanitizer cannot detect leaks in a traced program.
    std::vector<std::string> command = {"strace", "-f",
                                        "-y",     "-qq",
                                        "-o",     directory_ / "trace",
                                        "-E",     "ASAN_OPTIONS=detect_leaks=0"};
    command.insert(command.end(), options.begin(), options.end());
    for (const std::string& word : helper(last_step)) command.push_back(word);
    ChildProcess child(command);
    EXPECT_EQ(child.wait(), 0) << child.output();
    EXPECT_EQ(child.output(), "saved " + last_step + "\n");
    return read_file(FileSystem::posix(), directory_ / "trace");
  }

  // "fdatasync(5</tmp/x/run/a.tmp0123>) = 0" as "sync a.tmp"; nothing for calls that do not change
  // the run's directory.
  std::optional<std::string> event(const std::string& traced_line) const {
    // "openat(5</tmp/x/run>, "a"" as "openat("/tmp/x/run/a"".
    static const std::regex name_in_directory("[0-9]+<([^>]*)>, \"([^\"/]*)\"");
    const std::string line = std::regex_replace(traced_line, name_in_directory, "\"$1/$2\"");
    static const std::regex name_in_path("\"([^\"]*)\"|<([^>]*)>");
    std::vector<std::string> names;
    for (std::sregex_iterator found(line.begin(), line.end(), name_in_path), end; found != end;
         ++found) {
      const std::string path = (*found)[1].matched ? (*found)[1].str() : (*found)[2].str();
      // Summaries are not part of a checkpoint.
      if (path.starts_with(run_) && path.find("/events.") == std::string::npos)
        names.push_back(short_name(path));
    }
    if (names.empty()) return std::nullopt;
    const auto is_call = [&](const char* name) { return line.find(name) != std::string::npos; };
    if (is_call("openat("))
      return line.find("O_CREAT") == std::string::npos ? std::nullopt
                                                       : std::optional("create " + names[0]);
    if (is_call("fdatasync(") || is_call("fsync(")) return "sync " + names[0];
    if (is_call("fallocate(")) return "reserve " + names[0];
    if (is_call("rename")) return "rename " + names[0] + " -> " + names[1];
    if (is_call("unlink")) return "remove " + names[0];
    return std::nullopt;
  }

  // Without the directory and without random parts.
  std::string short_name(const std::string& path) const {
    if (path.size() <= run_.size()) return ".";
    const std::string name = path.substr(run_.size() + 1);
    return std::regex_replace(name, std::regex("\\.(tempstate|tmp)[0-9a-f]+$"), ".$1");
  }

  // The changes of the run's directory that were made, in order.
  std::vector<std::string> events(const std::string& trace) const {
    std::vector<std::string> events;
    std::map<std::string, size_t> unfinished;  // By thread.
    std::istringstream lines(trace);
    for (std::string line; std::getline(lines, line);) {
      const std::string thread = line.substr(0, line.find(' '));
      const bool failed = line.find(") = -1") != std::string::npos;
      if (line.find("resumed>") != std::string::npos) {
        if (failed && unfinished.contains(thread)) events[unfinished[thread]].clear();
        unfinished.erase(thread);
        continue;
      }
      const auto change = event(line);
      if (!change || failed) continue;
      if (line.find("<unfinished") != std::string::npos) unfinished[thread] = events.size();
      events.push_back(*change);
    }
    std::erase(events, "");
    return events;
  }

  TempDirectory directory_;
  const std::string run_ = directory_ / "run";
};

constexpr const char* kChanges =
    "trace=openat,rename,renameat,renameat2,fdatasync,fsync,fallocate,unlink,unlinkat";

// The same list as in the test of a Saver's operations, but of system calls.
TEST_F(SystemCallsTest, OneSaveSyncsAndRenamesInThisOrder) {
  {
    ChildProcess first(helper("1"));
    ASSERT_EQ(first.wait(), 0) << first.output();
  }
  std::vector<std::string> seen = events(traced("2", {"-e", kChanges}));
  // Space may be reserved in a new file, and only there.
  for (size_t i = 0; i < seen.size(); ++i)
    if (seen[i].starts_with("reserve ")) {
      ASSERT_GT(i, 0u);
      EXPECT_EQ("create" + seen[i].substr(std::string("reserve").size()), seen[i - 1]);
      seen.erase(seen.begin() + static_cast<ptrdiff_t>(i--));
    }
  const std::string data = "model.ckpt-2.data-00000-of-00001";
  const std::vector<std::string> expected = {
      "create .lock",
      "sync .",  // Before the search for leftovers.
      "sync .",  // Of the journal, which is opened.
      "create " + data + ".tempstate",
      "sync " + data + ".tempstate",
      "create model.ckpt-2.index.tempstate",
      "sync model.ckpt-2.index.tempstate",
      "create model.ckpt-2.json.tmp",
      "sync model.ckpt-2.json.tmp",
      "rename model.ckpt-2.json.tmp -> model.ckpt-2.json",
      "sync .",
      "rename " + data + ".tempstate -> " + data,
      "sync .",
      "rename model.ckpt-2.index.tempstate -> model.ckpt-2.index",
      "sync .",
      "create checkpoint.tmp",
      "sync checkpoint.tmp",
      "rename checkpoint.tmp -> checkpoint",
      "sync .",
      "create .sidecar_lock",
      "remove model.ckpt-1.index",
      "sync .",
      "remove model.ckpt-1.data-00000-of-00001",
      "remove model.ckpt-1.json",
      "create metrics.jsonl",  // The metrics of the save.
  };
  EXPECT_THAT(seen, ElementsAreArray(expected));
}

// The run's directory is new: its name must be durable, too.
TEST_F(SystemCallsTest, ANewDirectoryIsSyncedIntoTheOneAbove) {
  const std::string trace = traced("1", {"-e", "trace=mkdir,mkdirat,fsync"});
  const size_t made = trace.find("\"" + run_ + "\"");
  ASSERT_NE(made, std::string::npos) << trace;
  EXPECT_NE(trace.find("<" + directory_.path() + ">", made), std::string::npos) << trace;
}

// A signal interrupts the first call of a kind and every second one after it, or the
// second and every second one after it.
TEST_F(SystemCallsTest, RetriesInterruptedCalls) {
  ChildProcess first(helper("1"));
  ASSERT_EQ(first.wait(), 0) << first.output();
  int last_step = 1;
  for (const std::string calls : {"fdatasync,fsync", "pread64", "fcntl"}) {
    for (const std::string when : {"when=1+2", "when=2+2"}) {
      SCOPED_TRACE(calls + " " + when);
      std::vector<std::string> options = {"-e", "trace=" + calls, "-e",
                                          "inject=" + calls + ":error=EINTR:" + when};
      // Reads of the restored checkpoint: the program loader reads its own files.
      const std::string restored = run_ + "/model.ckpt-" + std::to_string(last_step);
      if (calls == "pread64")
        for (const char* const part : {".index", ".data-00000-of-00001"}) {
          options.push_back("-P");
          options.push_back(restored + part);
        }
      const std::string trace = traced(std::to_string(++last_step), options);
      // There is one lock only, and reading may go by io_uring.
      if (calls == "fdatasync,fsync" || (calls == "fcntl" && when == "when=1+2")) {
        EXPECT_THAT(trace, HasSubstr("(INJECTED)"));
      }
    }
  }
}

}  // namespace
}  // namespace crochet
