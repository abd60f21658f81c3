// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How fast is a state restored?
//
// Saves random floats, then restores them in turns with fio, which reads the same data file with
// io_uring, O_DIRECT, 1 MiB blocks and a depth of 16: each round drops the file from the page
// cache before either. Then restores once more with the file in the cache. Prints as JSON the
// medians, in seconds, and the median of each round's rate relative to fio's:
//
//   checkpoint_restore --variables 64 --rounds 10
//   checkpoint_restore --variables 100000 --bytes 1024000000
//
// Without fio there is no ratio.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdio.h>

#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/crochet.h"
#include "page_cache.h"
#include "random_arrays.h"
#include "timing.h"

using namespace crochet;

namespace {

struct Options {
  std::string dir = "checkpoint_restore";
  size_t bytes = size_t{1} << 30;
  size_t variables = 64;
  int shards = 1;
  int rounds = 10;
};

double seconds_of(const std::function<void()>& work) {
  const double start = now();
  work();
  return now() - start;
}

void add_variables(local::Graph& graph, const Options& options) {
  uint64_t seed = 1;
  const size_t size = options.bytes / options.variables / sizeof(float);
  std::vector<float> values(size);
  for (size_t i = 0; i < options.variables; ++i) {
    fill_randomly(values, seed);
    graph.variable("v" + std::to_string(i), Tensor::from(values));
  }
}

// Bytes per second; unset without fio.
std::optional<double> fio_rate(const std::string& path) {
  const std::string command =
      "fio --name=read --rw=read --bs=1M --iodepth=16 --ioengine=io_uring --direct=1 --readonly "
      "--output-format=json --filename='" +
      path + "' 2>/dev/null";
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  for (char buffer[4096]; size_t count = ::fread(buffer, 1, sizeof(buffer), pipe);)
    text.append(buffer, count);
  ::pclose(pipe);
  const auto report = nlohmann::json::parse(text, nullptr, false);
  if (report.is_discarded()) return std::nullopt;
  return report["jobs"][0]["read"]["bw_bytes"].get<double>();
}

nlohmann::json measure(const Options& options) {
  std::filesystem::create_directories(options.dir);
  local::Graph graph;
  add_variables(graph, options);
  const auto session = graph.new_session("");
  Saver saver({.num_shards = options.shards, .max_to_keep = 1});
  const std::string prefix = saver.save(*session, options.dir + "/model.ckpt", 1);
  std::vector<std::string> data;
  for (int shard = 0; shard < options.shards; ++shard)
    data.push_back(internal::data_filename(prefix, shard, options.shards));
  const auto restore = [&] { saver.restore(*session, prefix); };
  const auto drop = [&] { std::ranges::for_each(data, drop_file_from_page_cache); };
  std::vector<double> cold;
  std::vector<double> hot;
  std::vector<double> ratios;
  std::vector<double> rates;
  for (int round = 0; round < options.rounds; ++round) {
    drop();
    const std::optional<double> rate = fio_rate(data[0]);
    drop();
    cold.push_back(seconds_of(restore));
    if (!rate) continue;
    rates.push_back(*rate);
    ratios.push_back(static_cast<double>(options.bytes) / cold.back() / *rate);
  }
  for (const std::string& path : data) read_file(FileSystem::posix(), path);
  for (int round = 0; round < options.rounds; ++round) hot.push_back(seconds_of(restore));
  nlohmann::json result = {{"bytes", options.bytes},
                           {"variables", options.variables},
                           {"shards", options.shards},
                           {"cold_s", median(cold)},
                           {"hot_s", median(hot)}};
  if (!rates.empty()) {
    result["fio_bytes_per_s"] = median(rates);
    result["cold_beside_fio"] = median(ratios);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures how fast a checkpoint is restored.", "checkpoint_restore");
  app.add_option("--dir", options.dir, "Where the checkpoint is written; it is not removed");
  app.add_option("--bytes", options.bytes)->check(CLI::PositiveNumber);
  app.add_option("--variables", options.variables)->check(CLI::PositiveNumber);
  app.add_option("--shards", options.shards)->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("{}\n", measure(options).dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "checkpoint_restore: {}\n", error.what());
    return 1;
  }
}
