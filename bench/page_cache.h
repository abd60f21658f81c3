// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

// Drops a file from the page cache, so that it is read from the disk next time.
inline void drop_file_from_page_cache(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  if (file < 0) return;
  ::fdatasync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

// The same for all files of a directory.
inline void drop_from_page_cache(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    drop_file_from_page_cache(entry.path());
}
