// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// For the tests of tools/.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/tensor/tensor.h"
#include "tools/json.h"
#include "tools/tool.h"

namespace crochet::tool {

struct ToolRun {
  int code = -1;
  std::string out = {};
  std::string err = {};

  Json json() const { return Json::parse(out); }
};

inline ToolRun run(FileSystem& files, const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = run_tool(arguments, {.out = out, .err = err}, files);
  return {code, out.str(), err.str()};
}

// Writes a checkpoint, and its sidecar as a Saver does.
inline void put_checkpoint(FileSystem& files, const std::string& prefix, const TensorMap& tensors,
                           CheckpointSidecar sidecar = {.step = -1},
                           CheckpointFormat format = CheckpointFormat::kTensorBundle) {
  const auto writer = new_checkpoint_writer(format, files, prefix);
  for (const auto& [name, tensor] : tensors) writer->add(name, tensor);
  writer->finish();
  if (sidecar.step < 0) return;
  sidecar.size_bytes = writer->total_bytes();
  sidecar.index_crc32c = writer->index_crc32c();
  write_sidecar(files, prefix, sidecar);
}

inline void put_file(FileSystem& files, const std::string& path, std::string_view content) {
  const auto file = files.create(path);
  file->append(content);
  file->close();
}

// Changes one byte.
inline void damage(FileSystem& files, const std::string& path, size_t offset) {
  std::string content = read_file(files, path);
  content[offset] = static_cast<char>(content[offset] ^ 0x10);
  put_file(files, path, content);
}

}  // namespace crochet::tool
