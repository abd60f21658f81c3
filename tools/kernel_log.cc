// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace crochet::tool {

// Each read of the device returns one line, "<numbers>;<text>\n": see the kernel's
// Documentation/ABI/testing/dev-kmsg.
std::vector<std::string> kernel_log() {
  constexpr size_t kMaxLines = 100'000;
  std::vector<std::string> lines;
  const int device = ::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (device < 0) return lines;
  std::array<char, 8192> buffer = {};
  while (lines.size() < kMaxLines) {
    const ssize_t size = ::read(device, buffer.data(), buffer.size());
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;  // Lines were overwritten.
    if (size <= 0) break;
    std::string_view line(buffer.data(), static_cast<size_t>(size));
    line = line.substr(0, line.find('\n'));
    lines.emplace_back(line.substr(line.find(';') + 1));
  }
  ::close(device);
  return lines;
}

}  // namespace crochet::tool
