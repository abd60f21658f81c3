// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks that the bytes in docs/bundle_format.md are those that are written.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

constexpr size_t kBytesColumn = 6;  // After "0000  ".
constexpr size_t kBytesWidth = 48;  // Sixteen of "00 ".

std::string page() {
  std::ifstream file(CROCHET_SOURCE_DIR "/docs/bundle_format.md");
  EXPECT_TRUE(file.is_open());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The bytes of the first block ```hex after a line that starts with `heading`.
std::string shown_bytes(const std::string& page, const std::string& heading) {
  std::istringstream lines(page.substr(page.find("\n" + heading) + 1));
  std::string bytes;
  bool within = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```hex") {
      within = true;
    } else if (within && line == "```") {
      return bytes;
    } else if (within) {
      EXPECT_EQ(line.substr(0, kBytesColumn), fmt::format("{:04x}  ", bytes.size())) << line;
      std::istringstream numbers(line.substr(kBytesColumn, kBytesWidth));
      for (std::string number; numbers >> number;)
        bytes.push_back(static_cast<char>(std::stoi(number, nullptr, 16)));
    }
  }
  ADD_FAILURE() << "no bytes after " << heading;
  return bytes;
}

std::string in_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x} ", static_cast<unsigned char>(byte));
  return text;
}

TEST(BundleDocumentTest, ShowsTheBytesThatAreWritten) {
  MemoryFileSystem files;
  internal::BundleWriter writer(files, "tiny");
  writer.add("global_step", Tensor::scalar<int64_t>(2000));
  writer.add("model/w", Tensor::from<float>({1, -2, 0.5f}));
  writer.add("names", Tensor::from(std::vector<std::string>{"x", "yes"}));
  writer.finish();
  for (const char* const name : {"tiny.data-00000-of-00001", "tiny.index"}) {
    const std::string written = read_file(files, name);
    const std::string heading = fmt::format("`{}`, {} bytes:", name, written.size());
    EXPECT_EQ(in_hex(shown_bytes(page(), heading)), in_hex(written)) << heading;
  }
}

}  // namespace
}  // namespace crochet
