// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/file_system.h"

#include <random>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

std::string temporary_path(const std::string& path) {
  std::random_device random;
  return fmt::format("{}.tmp{:08x}{:08x}{:08x}{:08x}", path, random(), random(), random(),
                     random());
}

void write_durably(FileSystem& files, const std::string& path, std::string_view content) {
  const std::unique_ptr<WritableFile> file = files.create(path);
  file->append(content);
  file->sync();
  file->close();
}

void remove_left_over(FileSystem& files, const std::string& path) {
  try {
    if (files.exists(path)) files.remove(path);
  } catch (const Error& error) {
    log_warning("a temporary file stays behind: {}", error.what());
  }
}

}  // namespace

bool is_directory(FileSystem& files, const std::string& path) {
  try {
    files.list(path);
    return true;
  } catch (const NotFoundError&) {
    return false;
  }
}

std::string read_file(FileSystem& files, const std::string& path) {
  const std::unique_ptr<ReadableFile> file = files.open(path);
  std::string content(file->size(), '\0');
  file->read_at(0, std::as_writable_bytes(std::span(content)));
  return content;
}

void replace_file(FileSystem& files, const std::string& path, std::string_view content) {
  const std::string temporary = temporary_path(path);
  try {
    write_durably(files, temporary, content);
    files.rename(temporary, path);
  } catch (...) {
    remove_left_over(files, temporary);
    throw;
  }
  files.sync_directory(directory_of(path));
}

}  // namespace crochet
