// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/open_files.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

// A stream that keeps its file open.
class HoldingStream final : public ReadStream {
 public:
  HoldingStream(std::shared_ptr<const ReadableFile> file, std::unique_ptr<ReadStream> stream)
      : file_(std::move(file)), stream_(std::move(stream)) {}

  void read(std::span<std::byte> destination) override { stream_->read(destination); }
  uint32_t read_with_crc32c(uint32_t crc, std::span<std::byte> destination) override {
    return stream_->read_with_crc32c(crc, destination);
  }
  void skip(uint64_t num_bytes) override { stream_->skip(num_bytes); }

 private:
  const std::shared_ptr<const ReadableFile> file_;
  const std::unique_ptr<ReadStream> stream_;  // Last: it ends first.
};

}  // namespace

void OpenFiles::put(int number, const std::string& path, std::shared_ptr<const ReadableFile> file) {
  const std::lock_guard lock(mutex_);
  add(number, path, std::move(file));
}

std::shared_ptr<const ReadableFile> OpenFiles::get(int number, const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (auto file = find(number)) return file;
  const auto known = known_.find(number);
  std::shared_ptr<const ReadableFile> file;
  try {
    file = open_untrusted_file(files_, path);
  } catch (const NotFoundError&) {
    if (known == known_.end())
      throw MissingFileError(
          fmt::format("{}: there is no such file, {} needs it", path, needed_by_));
    throw DataLossError(fmt::format("{}: removed while being read", path));
  }
  if (known != known_.end()) check_unchanged(path, *file, known->second);
  add(number, path, file);
  return file;
}

uint64_t OpenFiles::size(int number, const std::function<std::string()>& path) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(number); known != known_.end()) return known->second.size;
  }
  get(number, path());
  const std::lock_guard lock(mutex_);
  return known_.at(number).size;
}

std::unique_ptr<ReadStream> OpenFiles::stream(int number, const std::string& path, uint64_t offset,
                                              uint64_t num_bytes) {
  auto file = get(number, path);
  auto stream = file->stream(offset, num_bytes);
  return std::make_unique<HoldingStream>(std::move(file), std::move(stream));
}

std::shared_ptr<const ReadableFile> OpenFiles::find(int number) {
  const auto found = std::ranges::find(open_, number, &Open::number);
  if (found == open_.end()) return nullptr;
  std::rotate(found, found + 1, open_.end());
  return open_.back().file;
}

void OpenFiles::add(int number, const std::string& path, std::shared_ptr<const ReadableFile> file) {
  known_.try_emplace(number, Known{.size = file->size()});
  if (open_.size() == kMaxOpen) {
    known_[open_.front().number].modified_time = files_.modified_time(open_.front().path);
    open_.erase(open_.begin());
  }
  open_.push_back({number, path, std::move(file)});
}

void OpenFiles::check_unchanged(const std::string& path, const ReadableFile& file,
                                const Known& known) {
  const uint64_t size = file.size();
  if (size != known.size)
    throw DataLossError(fmt::format("{}: changed while being read: found {} bytes, expected {}",
                                    path, size, known.size));
  if (files_.modified_time(path) != known.modified_time)
    throw DataLossError(fmt::format("{}: changed while being read: it was written to", path));
}

}  // namespace crochet::inline v0::internal
