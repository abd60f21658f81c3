// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Random states of nested values change at random; the program is killed at random moments, also
// while a save is being written, and the next one resumes with exactly the state of a step.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <unordered_map>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::tracked_state {
namespace {

using Random = std::mt19937;

int below(Random& random, int end) { return std::uniform_int_distribution(0, end - 1)(random); }

std::string random_text(Random& random) {
  std::string text(static_cast<size_t>(below(random, 4)), ' ');
  for (char& c : text) c = "ab/%.\0\xff\n"[below(random, 8)];
  return text;
}

// A value of every kind, and values like itself.
struct Node {
  int64_t number = 0;
  float matrix[2][3] = {};
  std::vector<float> floats;
  std::string text;
  std::vector<std::string> words;
  std::deque<bool> flags;
  std::set<std::string> names;
  std::unordered_map<int, std::string> table;
  std::map<std::pair<int, std::string>, std::vector<int>> by_pair;
  std::tuple<std::optional<double>, std::pair<int, bool>> pieces;
  std::variant<std::monostate, int, std::string, std::vector<std::pair<int, std::string>>> choice;
  std::vector<std::vector<std::array<int16_t, 2>>> ragged;
  std::mt19937 generator;
  std::normal_distribution<double> noise;
  std::map<std::string, Node> children;
  std::vector<Node> list;
  std::unique_ptr<Node> next;

  void track(Tracker& tracker) {
    tracker("number", number)("matrix", matrix)("floats", floats)("text", text)("words", words);
    tracker("flags", flags)("names", names)("table", table)("by_pair", by_pair);
    tracker("pieces", pieces)("choice", choice)("ragged", ragged)("generator", generator);
    tracker("noise", noise)("children", children)("list", list)("next", next);
  }
};

void change(Node& node, Random& random, int depth) {
  node.number = below(random, 1000);
  node.matrix[below(random, 2)][below(random, 3)] = static_cast<float>(node.number) / 3;
  // Sometimes of more than one piece of a parallel copy, and sometimes empty.
  node.floats.assign(
      static_cast<size_t>(below(random, 3) == 0 ? below(random, 2000) : below(random, 3)),
      static_cast<float>(node.number));
  node.text = random_text(random);
  node.words.resize(static_cast<size_t>(below(random, 3)), random_text(random));
  node.flags.resize(static_cast<size_t>(below(random, 4)), below(random, 2) == 0);
  if (below(random, 3) == 0) node.names.clear();
  node.names.insert(random_text(random));
  if (below(random, 3) == 0) node.table.clear();
  node.table[below(random, 100)] = random_text(random);
  if (below(random, 3) == 0) node.by_pair.clear();
  node.by_pair[{below(random, 3), random_text(random)}] = {1, 2, below(random, 9)};
  std::get<0>(node.pieces).reset();
  if (below(random, 2) == 0) std::get<0>(node.pieces) = node.noise(node.generator);
  std::get<1>(node.pieces) = {below(random, 9), below(random, 2) == 0};
  switch (below(random, 5)) {
    case 0:
      node.choice = std::monostate();
      break;
    case 1:
      node.choice = below(random, 9);
      break;
    case 2:
      node.choice = random_text(random);
      break;
    case 3:
      node.choice.emplace<3>(static_cast<size_t>(below(random, 3)),
                             std::pair(3, random_text(random)));
      break;
    default:
      break;
  }
  node.ragged.resize(static_cast<size_t>(below(random, 3)));
  for (auto& row : node.ragged) row.resize(static_cast<size_t>(below(random, 3)), {1, 2});
  if (depth == 0) return;
  if (below(random, 4) == 0) node.children.clear();
  if (below(random, 2) == 0) change(node.children[random_text(random)], random, depth - 1);
  node.list.resize(static_cast<size_t>(below(random, 3)));
  for (Node& each : node.list) change(each, random, depth - 1);
  if (below(random, 3) == 0) node.next.reset();
  if (below(random, 3) == 0) node.next = std::make_unique<Node>();
  if (node.next) change(*node.next, random, depth - 1);
}

// All of it, as text: two states are equal if their texts are.
void describe_to(fmt::memory_buffer& out, const Node& node) {
  const auto add = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
  };
  const auto add_text = [&](const std::string& text) { add("{}'{}'", text.size(), text); };
  add("{}:", node.number);
  for (const auto& row : node.matrix)
    for (const float each : row) add("{:a},", each);
  for (const float each : node.floats) add("{:a},", each);
  add_text(node.text);
  for (const std::string& each : node.words) add_text(each);
  for (const bool each : node.flags) add("{:d}", each);
  for (const std::string& each : node.names) add_text(each);
  for (const auto& [key, value] : std::map(node.table.begin(), node.table.end())) {
    add("{}=", key);
    add_text(value);
  }
  for (const auto& [key, values] : node.by_pair) {
    add("{}", key.first);
    add_text(key.second);
    for (const int value : values) add("={}", value);
  }
  if (const auto& real = std::get<0>(node.pieces)) add("{:a}", *real);
  add("{}{:d}", std::get<1>(node.pieces).first, std::get<1>(node.pieces).second);
  add("#{}", node.choice.index());
  if (const int* const number = std::get_if<1>(&node.choice)) add("{}", *number);
  if (const auto* const text = std::get_if<2>(&node.choice)) add_text(*text);
  if (const auto* const pairs = std::get_if<3>(&node.choice))
    for (const auto& [number, text] : *pairs) {
      add("{}", number);
      add_text(text);
    }
  for (const auto& row : node.ragged) {
    add("(");
    for (const auto& pair : row) add("{}{}", pair[0], pair[1]);
    add(")");
  }
  // With the number that the distribution keeps.
  auto generator = node.generator;
  auto noise = node.noise;
  add("{:a} {:a}", noise(generator), noise(generator));
  for (const auto& [name, child] : node.children) {
    add_text(name);
    add("{{");
    describe_to(out, child);
    add("}}");
  }
  for (const Node& each : node.list) {
    add("[");
    describe_to(out, each);
    add("]");
  }
  if (node.next) {
    add("->");
    describe_to(out, *node.next);
  }
}

std::string description(const Node& node) {
  fmt::memory_buffer out;
  describe_to(out, node);
  return fmt::to_string(out);
}

struct Kill {};

// What survives a kill: the files, and what the test knows of each step.
struct World {
  std::unique_ptr<MemoryFileSystem> files = std::make_unique<MemoryFileSystem>();
  std::map<int64_t, std::string> states;
};

// One life of the program, until it is killed.
void live(World& world, Random& random, CheckpointFormat format) {
  Node state;
  if (below(random, 2) == 0) change(state, random, 2);  // Not what it restores.
  Loop loop({.checkpoint = {.dir = "run",
                            .every_steps = 1 + below(random, 3),
                            .saver = {.format = format}},
             .summaries = {.every_steps = 0, .count_every_steps = 0},
             .hooks = {StopAtStepHook({.num_steps = 1 + below(random, 8)})},
             .files = world.files.get()});
  loop.track("state", state);
  if (below(random, 2) == 0) {
    const int64_t restored = loop.restore();
    if (restored > 0) {
      EXPECT_TRUE(description(state) == world.states[restored]) << restored;
    }
  }
  const int64_t steps_to_live = 1 + below(random, 8);
  int64_t steps = 0;
  std::unique_ptr<MemoryFileSystem> left;
  const auto step = [&](Step& now) {
    const int64_t completed = now.number() - 1;
    if (steps == 0 && completed > 0) {
      EXPECT_TRUE(description(state) == world.states[completed]) << completed;
    }
    if (steps++ == 0) world.states[completed] = description(state);
    change(state, random, 2);
    world.states[now.number()] = description(state);
    if (steps == steps_to_live) {
      left = world.files->after_power_cut(
          {.names = below(random, 2) == 0 ? UnsyncedNames::kLost : UnsyncedNames::kKept,
           .bytes = static_cast<UnsyncedBytes>(below(random, 4))});
      throw Kill();
    }
  };
  try {
    if (below(random, 2) == 0)
      loop.run(step);
    else
      loop.run([] {}, step);
  } catch (const Kill&) {
  }
  if (left) world.files = std::move(left);
}

class TrackedStateTest : public testing::TestWithParam<CheckpointFormat> {};

INSTANTIATE_TEST_SUITE_P(Formats, TrackedStateTest,
                         testing::Values(CheckpointFormat::kTensorBundle,
                                         CheckpointFormat::kSafetensors),
                         [](const auto& info) {
                           return info.param == CheckpointFormat::kTensorBundle ? "Bundle"
                                                                                : "Safetensors";
                         });

TEST_P(TrackedStateTest, ResumesWithTheStateOfAStep) {
  const LogCapture log;
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    World world;
    for (int lives = 0; lives < 8 && !HasFailure(); ++lives) live(world, random, GetParam());
  }
}

}  // namespace
}  // namespace crochet::tracked_state
