// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The program that crash.py kills: trains some state and saves it, and reports on its standard
// output, in unbuffered lines:
//
//   ready <step> <hashes>     the restored or initial state; continues once it has read a line
//   step <step> <hashes>      the state after a step, before it is saved
//   durable <step>            a save that survives any crash from now on
//   published <step>          a completed save
//   failed <step>             a save that failed
//   over                      the run has ended and all objects are destroyed
//   child <what>              a forked child that ended unexpectedly
//
//   trainer <dir> [key=value ...]
//
//   steps=N       stop at this step; default: never
//   every=N       save every N steps; default: 1
//   shards=N      write N data files; default: 1
//   format=NAME   bundle or safetensors; default: bundle
//   die_at=N      kill -9 at the N-th file operation, in the middle of an append
//   exit=HOW      end by return, throw, exit, quick_exit, _exit, abort, terminate, SIGTERM, SIGINT,
//                 SIGHUP, SIGSEGV, SIGKILL or leave ...
//   at=N          ... when the saver is at the N-th file operation, which then waits up to 50 ms
//                 for the main thread to end; `leave` is a SIGTERM then, with a deadline that
//                 the operation misses: it ends while the process exits
//   forks=yes     fork a child after each step, which ends in one of several ways
//   closed=yes    close descriptors 0 to 2 first, and keep printing to them
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/crochet.h"
#include "crochet/testing/failing_file_system.h"
#include "tests/support/sanitizers.h"

using namespace crochet;

namespace {

// Copies of the pipes to crash.py, so that 0 to 2 can be closed; a child does not write to them.
int hears = STDIN_FILENO;
int talks = STDOUT_FILENO;

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (talks >= 0 && ::write(talks, text.data(), text.size()) < 0) ::_exit(3);
}

void wait_for_a_line() {
  char letter = 0;
  while (letter != '\n')
    if (::read(hears, &letter, 1) <= 0) ::_exit(3);
}

struct Arguments {
  Arguments(int argc, char** argv) : dir(argv[1]) {
    for (int i = 2; i < argc; ++i) {
      const std::string argument = argv[i];
      const size_t equals = argument.find('=');
      values[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
  }
  int64_t number(const std::string& key, int64_t otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : std::stoll(found->second);
  }
  std::string text(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? "" : found->second;
  }

  std::string dir;
  std::map<std::string, std::string> values;
};

// FNV-1a.
uint64_t hash_of(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

void advance_into(std::span<const uint32_t> from, std::span<uint32_t> to) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = from[i] * 1664525u + 1013904223u + static_cast<uint32_t>(i);
}

Tensor counting(int64_t size) {
  std::vector<uint32_t> values(static_cast<size_t>(size));
  std::iota(values.begin(), values.end(), 1u);
  return Tensor::from<uint32_t>(values);
}

// State of every kind: a variable that is replaced, one that is changed in place and one that is
// not; a borrowed array that changes in each step, and one that changes in every third one; a
// generator and a container that grows. Checkpoints share what did not change.
struct State {
  static constexpr int64_t kElements = 16384;
  static constexpr size_t kChangesEvery = 3;

  explicit State(local::Graph& graph)
      : replaced(graph.variable("replaced", Tensor::zeros<uint32_t>({kElements}))),
        updated(graph.variable("updated", Tensor::zeros<uint32_t>({kElements}))),
        frozen(graph.variable("frozen", counting(4 * kElements))),
        replaced_value(graph.name("replaced_value", replaced)),
        updated_value(graph.name("updated_value", updated)),
        frozen_value(graph.name("frozen_value", frozen)) {
    Tracker(graph, "")("array", array)("seldom", seldom)("generator", generator)("grows", grows);
    const auto replace_it = graph.op(
        "replace", {replace(replaced)},
        [](std::span<const uint32_t> from, std::span<uint32_t> to) { advance_into(from, to); });
    const auto update_it =
        graph.op("update", {update(updated)}, [](std::span<uint32_t> x) { advance_into(x, x); });
    const auto change = graph.op("change",
                                 [this] {
                                   advance_into(array, array);
                                   grows.push_back(static_cast<int64_t>(generator()));
                                   if (grows.size() % kChangesEvery == 0)
                                     advance_into(seldom, seldom);
                                 },
                                 {.changes_borrowed = true});
    step = graph.increment_global_step({replace_it, update_it, change});
  }

  std::string hashes(Session& session) const {
    const FetchValues values = session.run({replaced_value, updated_value, frozen_value});
    return fmt::format(
        "{:016x} {:016x} {:016x} {:016x} {:016x} {:016x} {}", hash_of(values[0].tensor().bytes()),
        hash_of(values[1].tensor().bytes()), hash_of(values[2].tensor().bytes()),
        hash_of(std::as_bytes(std::span(array))), hash_of(std::as_bytes(std::span(seldom))),
        hash_of(std::as_bytes(std::span(grows))), grows.size());
  }

  local::OwnedVariable replaced;
  local::OwnedVariable updated;
  local::OwnedVariable frozen;
  Output replaced_value;
  Output updated_value;
  Output frozen_value;
  std::array<uint32_t, kElements> array = {};
  std::array<uint32_t, kElements> seldom = {};
  std::mt19937_64 generator;
  std::vector<int64_t> grows;
  Output step;
};

// Reports the state of each step.
class Teller final : public SessionRunHook {
 public:
  explicit Teller(const State& state) : state_(state) {}

  void after_create_session(Session& session, Coordinator&) override {
    say(fmt::format("ready {} {}", read_global_step(session), state_.hashes(session)));
    wait_for_a_line();
  }
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    say(fmt::format("step {} {}", read_global_step(context.session()),
                    state_.hashes(context.session())));
  }

 private:
  const State& state_;
};

class TellPublished final : public CheckpointSaverListener {
 public:
  bool after_save(Session&, int64_t step) override {
    say(fmt::format("published {}", step));
    return false;
  }
};

// Reports what is durable: writing the state file starts once the rename of a checkpoint's index is
// synced. All this happens on the saver's thread.
class TellDurable {
 public:
  void see(const std::string& operation) {
    std::smatch found;
    if (std::regex_match(operation, found, kIndexGetsItsName))
      step_ = found[1];
    else if (operation.find("/checkpoint.tmp") != std::string::npos && !step_.empty())
      say("durable " + std::exchange(step_, ""));
  }

 private:
  const std::regex kIndexGetsItsName{
      "rename .*-([0-9]+)\\.(index|safetensors|safetensors\\.index\\.json)"};
  std::string step_;
};

// Set once the saver reaches the operation at which the program is to end, and once it exits.
std::atomic<bool> end_now = false;
std::atomic<bool> exiting = false;

// The saver's first operation from this number on blocks until the process exits; -1: none does.
int64_t leave_at = -1;

void leave_the_saver(int64_t operation) {
  static std::atomic<bool> is_left = false;
  if (leave_at < 0 || operation < leave_at || ::gettid() == ::getpid() || is_left.exchange(true))
    return;
  ::kill(::getpid(), SIGTERM);
  exiting.wait(false);
}

// Lets the blocked saver thread continue while static objects are being destroyed.
void let_the_saver_go_on() {
  exiting = true;
  exiting.notify_all();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// Thrown by a child, to unwind its parent's stack.
struct ChildUnwinds {};

enum class ChildEnds { kAtOnce, kByExit, kByUnwinding, kAfterSaving };

// The child's part: its actions are refused or affect only itself, never its parent.
void be_the_child(ChildEnds how, Saver& saver, Session& session, const std::string& directory) {
  talks = -1;
  ::alarm(20);
  switch (how) {
    case ChildEnds::kAtOnce:
      ::_exit(0);
    case ChildEnds::kByExit:
      std::exit(0);
    case ChildEnds::kByUnwinding:
      throw ChildUnwinds();
    case ChildEnds::kAfterSaving:
      break;
  }
  try {
    saver.save(session, directory + "/model.ckpt", 1);
  } catch (const FailedPreconditionError&) {
    ::_exit(0);
  }
  ::_exit(5);
}

// Forks a child, which ends in one of the ways above in turn, and waits for it.
void fork_after(int64_t step, Saver& saver, Session& session, const std::string& directory) {
  // AddressSanitizer of GCC 12 and clang 14 does not hold its allocator's locks across a fork: if
  // another thread had one, the child waits forever as soon as it allocates or frees.
  const ChildEnds how =
      kHasAddressSanitizer ? ChildEnds::kAtOnce : static_cast<ChildEnds>(step % 4);
  const pid_t child = ::fork();
  if (child == 0) be_the_child(how, saver, session, directory);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (status != 0) say(fmt::format("child of step {} ended with status {:#x}", step, status));
}

void print_on_closed_descriptors() {
  std::fputs("output of a program to a closed descriptor\n", stdout);
  std::fflush(stdout);
  std::fputs("and its errors\n", stderr);
}

void close_standard_descriptors() {
  hears = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
  talks = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(file);
}

// Forks, if asked to, and prints to closed descriptors.
class Surroundings final : public SessionRunHook {
 public:
  Surroundings(const Arguments& arguments, std::shared_ptr<Saver> saver)
      : forks_(!arguments.text("forks").empty()),
        prints_(!arguments.text("closed").empty()),
        dir_(arguments.dir),
        saver_(std::move(saver)) {}

  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (prints_) print_on_closed_descriptors();
    Session& session = context.session();
    if (forks_) fork_after(read_global_step(session), *saver_, session, dir_);
  }

 private:
  const bool forks_;
  const bool prints_;
  const std::string dir_;
  const std::shared_ptr<Saver> saver_;
};

void end_by(const std::string& how) {
  static const std::map<std::string, int> kSignals = {
      {"SIGTERM", SIGTERM}, {"SIGINT", SIGINT},   {"SIGHUP", SIGHUP},
      {"SIGSEGV", SIGSEGV}, {"SIGKILL", SIGKILL},
  };
  if (how == "throw") throw std::runtime_error("the end");
  if (how == "exit") std::exit(7);
  if (how == "quick_exit") std::quick_exit(7);
  if (how == "_exit") ::_exit(7);
  if (how == "abort") std::abort();
  if (how == "terminate") std::terminate();
  if (how == "SIGSEGV") std::signal(SIGSEGV, SIG_DFL);  // Sanitizers install their own handler.
  if (const auto found = kSignals.find(how); found != kSignals.end()) ::raise(found->second);
}

void make_fail(FailingFileSystem& files, const Arguments& arguments) {
  if (const int64_t n = arguments.number("die_at", -1); n >= 0)
    files.fail_operation(n, [](const std::string&) { ::kill(::getpid(), SIGKILL); });
  const int64_t n = arguments.number("at", -1);
  if (n < 0) return;
  if (arguments.text("exit") == "leave") {
    leave_at = n;
    return;
  }
  files.fail_operation(n, [](const std::string& operation) {
    end_now = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    throw UnavailableError(fmt::format("{}: the program is to end", operation));
  });
}

void train_state(const Arguments& arguments, FileSystem& files) {
  local::Graph graph;
  State state(graph);
  HookList hooks = {std::make_shared<Teller>(state), SignalHook({SIGINT, SIGTERM})};
  if (const int64_t steps = arguments.number("steps", 0); steps > 0)
    hooks.push_back(StopAtStepHook({.last_step = steps}));
  const auto scaffold = std::make_shared<Scaffold>();
  scaffold->saver = std::make_shared<Saver>(SaverOptions{
      .format = arguments.text("format") == "safetensors" ? CheckpointFormat::kSafetensors
                                                          : CheckpointFormat::kTensorBundle,
      .num_shards = static_cast<int>(arguments.number("shards", 1)),
      .max_to_keep = 3,
      .files = &files});
  hooks.push_back(std::make_shared<Surroundings>(arguments, scaffold->saver));
  const std::string how = arguments.text("exit");
  std::optional<double> deadline_secs;
  if (how == "leave") deadline_secs = 0.05;
  train({.graph = graph,
         .checkpoint_dir = arguments.dir,
         .scaffold = scaffold,
         .hooks = hooks,
         .save_checkpoint_steps = arguments.number("every", 1),
         .saving_listeners = {std::make_shared<TellPublished>()},
         .saving = {.deadline_secs = deadline_secs},
         .save_summaries_steps = 0,
         .log_step_count_steps = 0,
         .files = &files},
        [&](MonitoredSession& session) {
          while (!session.should_stop()) {
            session.run(state.step);
            if (how.empty() || !end_now.exchange(false)) continue;
            if (how == "return") return;
            end_by(how);
          }
        });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const Arguments arguments(argc, argv);
  if (!arguments.text("closed").empty()) close_standard_descriptors();
  // Leaked: a saver thread may use them until the process has ended.
  auto& files = *new FailingFileSystem(FileSystem::posix());
  auto& durable = *new TellDurable;
  static std::atomic<int64_t> operations = 0;
  make_fail(files, arguments);
  if (leave_at >= 0) std::atexit(let_the_saver_go_on);
  files.watch([&](const std::string& operation) {
    leave_the_saver(operations++);
    durable.see(operation);
  });
  try {
    train_state(arguments, files);
  } catch (const ChildUnwinds&) {
    return 0;
  } catch (const std::exception& error) {
    say(fmt::format("failed {}", error.what()));
    return 1;
  }
  say("over");
}
