// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

// Drops the files of a directory from the page cache, so that they are read from the
// disk next time.
inline void drop_from_page_cache(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const int file = ::open(entry.path().c_str(), O_RDONLY);
    if (file < 0) continue;
    ::fdatasync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}
