// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Does a save cost more if the program has written much into a tracked output?
//
// A run writes a number of bytes into an OutputFile, saves, and then saves after each of some steps
// that write 4 KiB. Prints, as JSON, the median time for which such a save blocked training, and
// that until the checkpoint was published, in seconds.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "crochet/crochet.h"
#include "crochet/journal/internal/read_journal.h"
#include "timing.h"

using namespace crochet;

namespace {

struct Options {
  std::string dir = "output_save";
  uint64_t output_bytes = uint64_t{1} << 20;
  int64_t saves = 21;
};

void write_bytes(OutputFile& output, uint64_t num_bytes) {
  std::vector<std::byte> block(size_t{1} << 22);
  for (size_t i = 0; i < block.size(); ++i)
    block[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  while (num_bytes > 0) {
    const uint64_t size = std::min<uint64_t>(num_bytes, block.size());
    output.write(std::span(block).first(size));
    num_bytes -= size;
  }
}

void train(const Options& options) {
  OutputFile output(options.dir + "/output.bin");
  Loop loop({.checkpoint = {.dir = options.dir, .every_secs = 1e6},
             .hooks = {StopAtStepHook({.last_step = options.saves + 1})}});
  double state = 0;
  loop.track("state", state);
  loop.track("output", output);
  static_cast<void>(loop.run([&](Step& step) {
    state += 1;
    write_bytes(output, step.number() == 1 ? options.output_bytes : 4096);
    step.request_save("measured");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // The save ends meanwhile.
  }));
}

// Of the saves after that of the first step.
std::vector<double> seconds_of(const Options& options, const char* event, const char* field) {
  std::vector<double> seconds;
  for (const auto& each : internal::read_journal(FileSystem::posix(), options.dir).entries)
    if (each.event == event && each.stamp.step > 2)
      seconds.push_back(each.number(field).value_or(0));
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app;
  app.add_option("--dir", options.dir, "A directory that is replaced");
  app.add_option("--output-bytes", options.output_bytes, "The size of the output");
  app.add_option("--saves", options.saves, "How many saves are measured");
  CLI11_PARSE(app, argc, argv);
  std::filesystem::remove_all(options.dir);
  train(options);
  fmt::print("{{\"output_bytes\": {}, \"blocked_secs\": {:.6f}, \"published_secs\": {:.6f}}}\n",
             options.output_bytes, median(seconds_of(options, "save", "blocked_secs")),
             median(seconds_of(options, "saved", "published_secs")));
  std::filesystem::remove_all(options.dir);
}
