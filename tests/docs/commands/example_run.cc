// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes the files that the examples of docs/command.md use, always the same bytes:
//
//   example_run <directory>
#include <cstdlib>
#include <iostream>

#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/tensor/tensor.h"

namespace {

using namespace crochet;

constexpr double kStart = 1767225600;  // 2026-01-01T00:00:00Z

void write_checkpoint(const std::string& prefix, int64_t step, double accuracy) {
  const auto s = static_cast<float>(step) / 1000;
  internal::BundleWriter writer(FileSystem::posix(), prefix);
  writer.add("adam/w", Tensor::from<float>({0.01f * s, 0.02f * s, -0.01f * s, 0, 0, 0}, {2, 3}));
  writer.add("global_step", Tensor::scalar<int64_t>(step));
  writer.add("labels", Tensor::from({"zero", "one", "two"}));
  writer.add("model/b", Tensor::from<Half>({Half(0.5f), Half(-0.25f), Half(0)}));
  writer.add("model/w", Tensor::from<float>({1, -0.5f * s, 0.25f, 2 * s, 0, -1}, {2, 3}));
  writer.write_and_sync();
  write_sidecar(FileSystem::posix(), prefix,
                {.step = step,
                 .unix_time = kStart + static_cast<double>(step),
                 .size_bytes = writer.total_bytes(),
                 .index_crc32c = writer.index_crc32c(),
                 .metrics = {{"accuracy", accuracy}}});
  writer.publish();
}

void write_run(const std::string& directory) {
  write_checkpoint(directory + "/model.ckpt-1000", 1000, 0.91);
  write_checkpoint(directory + "/model.ckpt-2000", 2000, 0.96);
  update_checkpoint_state(FileSystem::posix(), directory, directory + "/model.ckpt-2000",
                          {directory + "/model.ckpt-1000"}, {.save_relative_paths = true});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: example_run DIRECTORY");
    write_run(std::string(argv[1]) + "/runs/digits");
  } catch (const std::exception& error) {
    std::cerr << "example_run: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
