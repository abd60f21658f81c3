// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What crash.py kills: trains some state and saves it, and says on its standard output, a line at a
// time and at once, what an oracle must know:
//
//   ready <step> <hashes>     the state restored, or the first; goes on when a line is read
//   step <step> <hashes>      the state after a step, before it is saved
//   durable <step>            a save that survives everything from now on
//   published <step>          a save that is over
//   failed <step>             one that was given up
//   over                      the run has ended and everything is destroyed
//
//   trainer <dir> [key=value ...]
//
//   steps=N       stop at this step; default: none
//   every=N       save every N steps; default: 1
//   shards=N      in so many data files; default: 1
//   format=NAME   bundle or safetensors; default: bundle
//   die_at=N      kill -9 at the N-th operation on files, an append half done
//   exit=HOW      end by return, throw, exit, quick_exit, _exit, abort, terminate, SIGTERM, SIGINT,
//                 SIGHUP, SIGSEGV or SIGKILL ...
//   at=N          ... when the saver is at the N-th operation on files, which waits in vain for
//                 the end of the program's main thread for 50 ms
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crochet/crochet.h"
#include "crochet/testing/failing_file_system.h"

using namespace crochet;

namespace {

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) ::_exit(3);
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

// State of every kind: a variable that is replaced, one that is changed in place, an array of the
// caller, a generator and a container that grows.
struct State {
  static constexpr int64_t kElements = 16384;

  explicit State(local::Graph& graph)
      : replaced(graph.variable("replaced", Tensor::zeros<uint32_t>({kElements}))),
        updated(graph.variable("updated", Tensor::zeros<uint32_t>({kElements}))),
        replaced_value(graph.name("replaced_value", replaced)),
        updated_value(graph.name("updated_value", updated)) {
    Tracker(graph, "")("array", array)("generator", generator)("grows", grows);
    const auto replace_it = graph.op(
        "replace", {replace(replaced)},
        [](std::span<const uint32_t> from, std::span<uint32_t> to) { advance_into(from, to); });
    const auto update_it =
        graph.op("update", {update(updated)}, [](std::span<uint32_t> x) { advance_into(x, x); });
    const auto change = graph.op("change",
                                 [this] {
                                   advance_into(array, array);
                                   grows.push_back(static_cast<int64_t>(generator()));
                                 },
                                 {.changes_borrowed = true});
    step = graph.increment_global_step({replace_it, update_it, change});
  }

  std::string hashes(Session& session) const {
    const FetchValues values = session.run({replaced_value, updated_value});
    return fmt::format("{:016x} {:016x} {:016x} {:016x} {}", hash_of(values[0].tensor().bytes()),
                       hash_of(values[1].tensor().bytes()),
                       hash_of(std::as_bytes(std::span(array))),
                       hash_of(std::as_bytes(std::span(grows))), grows.size());
  }

  local::OwnedVariable replaced;
  local::OwnedVariable updated;
  Output replaced_value;
  Output updated_value;
  std::array<uint32_t, kElements> array = {};
  std::mt19937_64 generator;
  std::vector<int64_t> grows;
  Output step;
};

// Tells the oracle.
class Teller final : public SessionRunHook {
 public:
  explicit Teller(const State& state) : state_(state) {}

  void after_create_session(Session& session, Coordinator&) override {
    say(fmt::format("ready {} {}", read_global_step(session), state_.hashes(session)));
    std::string line;
    std::getline(std::cin, line);
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

// Tells what is durable: the state file is begun when the name of a checkpoint's index is synced.
// All this happens on the saver's thread.
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

// Set once the saver is where the program is to end.
std::atomic<bool> end_now = false;

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
  if (const auto found = kSignals.find(how); found != kSignals.end()) ::raise(found->second);
}

void make_fail(FailingFileSystem& files, const Arguments& arguments) {
  if (const int64_t n = arguments.number("die_at", -1); n >= 0)
    files.fail_operation(n, [](const std::string&) { ::kill(::getpid(), SIGKILL); });
  const int64_t n = arguments.number("at", -1);
  if (n < 0) return;
  files.fail_operation(n, [](const std::string& operation) {
    end_now = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    throw UnavailableError("{}: the program is to end", operation);
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
  const std::string how = arguments.text("exit");
  train({.graph = graph,
         .checkpoint_dir = arguments.dir,
         .scaffold = scaffold,
         .hooks = hooks,
         .save_checkpoint_steps = arguments.number("every", 1),
         .saving_listeners = {std::make_shared<TellPublished>()},
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
  FailingFileSystem files(FileSystem::posix());
  make_fail(files, arguments);
  TellDurable durable;
  files.watch([&](const std::string& operation) { durable.see(operation); });
  try {
    train_state(arguments, files);
  } catch (const std::exception& error) {
    say(fmt::format("failed {}", error.what()));
    return 1;
  }
  say("over");
}
