// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet's side of check_savers.py:
//
//   saver_program save <directory> <step>
//     Restores the newest checkpoint "m-<step>", if there is one, and saves another, keeping two.
//   saver_program share <directory>
//     Saves the steps 1 to 3, of which all but a small variable is the same.
//   saver_program state <directory>
//     Prints the state as JSON.
//   saver_program update <directory> <newest> [<other>...]
//     Writes the state.
//   saver_program remove <directory> <newest> [<other>...]
//     Writes a state in which the others are to be removed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/saver/checkpoint_manager.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/file_system.h"
#include "crochet/testing/scripted_session.h"

using namespace crochet;
using nlohmann::json;

namespace {

// A model of one variable, all of whose values are the number of its saves so far.
json save(const std::string& directory, int64_t step) {
  ScriptedGraph graph({.counts_steps = false});
  const Variable w = graph.variable("w", Tensor::zeros<float>({2, 3}));
  const auto session = graph.new_session("");
  Saver saver({.num_shards = 2, .max_to_keep = 2});
  const auto restored = saver.restore_newest(*session, directory, "m");
  const float value = session->snapshot({&w, 1}).tensors()[0].tensor.flat<float>()[0] + 1;
  const Assignment next{w, w.shape(), [&](std::span<std::byte> to) {
                          const std::vector<float> values(6, value);
                          std::ranges::copy(std::as_bytes(std::span(values)), to.begin());
                        }};
  session->assign({&next, 1});
  saver.save(*session, directory + "/m", step);
  return {{"restored", restored ? restored->prefix : ""}, {"value", value}};
}

// Returns how many data files each checkpoint has.
json share(const std::string& directory) {
  constexpr int64_t kLarge = 64 << 10;
  ScriptedGraph graph({.counts_steps = false});
  const Variable step_variable = graph.variable("step", Tensor::scalar<float>(0));
  std::vector<float> values(kLarge);
  std::iota(values.begin(), values.end(), 0.0F);
  graph.variable("frozen", Tensor::from<float>(values, {256, kLarge / 256}));
  const auto session = graph.new_session("");
  Saver saver;
  json counts = json::array();
  for (int64_t step = 1; step <= 3; ++step) {
    const Assignment next{step_variable, {}, [&](std::span<std::byte> to) {
                            const float value = static_cast<float>(step);
                            std::memcpy(to.data(), &value, sizeof value);
                          }};
    session->assign({&next, 1});
    const std::string prefix = saver.save(*session, directory + "/m", step);
    counts.push_back(std::ranges::count_if(FileSystem::posix().list(directory), [&](auto& name) {
      return name.starts_with(base_name(prefix) + ".data-");
    }));
  }
  return counts;
}

json state_of(const std::string& directory) {
  FileSystem& files = FileSystem::posix();
  const auto state = get_checkpoint_state(files, directory);
  if (!state) return nullptr;
  return {{"latest", latest_checkpoint(files, directory).value_or("")},
          {"newest", state->model_checkpoint_path},
          {"all", state->all_model_checkpoint_paths},
          {"removing", state->removing_paths},
          {"times", state->all_model_checkpoint_timestamps},
          {"last_preserved", state->last_preserved_timestamp.value_or(-1)}};
}

void update_state(const std::vector<std::string>& arguments) {
  const std::vector<std::string> others(arguments.begin() + 3, arguments.end());
  if (arguments.at(0) == "update")
    update_checkpoint_state(FileSystem::posix(), arguments.at(1), arguments.at(2), others);
  else
    update_checkpoint_state(FileSystem::posix(), arguments.at(1), arguments.at(2), {},
                            {.removing_paths = others, .save_relative_paths = true});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  json answer;
  if (arguments.at(0) == "save")
    answer = save(arguments.at(1), std::atoll(arguments.at(2).c_str()));
  else if (arguments.at(0) == "share")
    answer = share(arguments.at(1));
  else if (arguments.at(0) == "state")
    answer = state_of(arguments.at(1));
  else
    update_state(arguments);
  std::puts(answer.dump().c_str());
}
