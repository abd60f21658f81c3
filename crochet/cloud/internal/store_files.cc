// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/store_files.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/internal/immortal.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/cloud/files.h"
#include "crochet/cloud/internal/s3_store.h"
#include "crochet/io/internal/errno_error.h"

namespace crochet::inline v0::cloud::internal {
namespace {

constexpr const char* kState = "checkpoint";
// Small reads get some more, which is likely to be read next.
constexpr uint64_t kBlockBytes = 1 << 20;
constexpr uint64_t kStreamBytes = 16 << 20;
// A name that was not there is not asked for again within this time.
constexpr Clock::Duration kFresh = std::chrono::seconds(1);

bool is_in_store(std::string_view path) { return path.starts_with(kS3Scheme); }

class MirroredReadableFile;

// Reads ahead.
class MirroredStream final : public ReadStream {
 public:
  MirroredStream(const MirroredReadableFile& file, uint64_t offset, uint64_t num_bytes)
      : file_(file), offset_(offset), end_(offset + num_bytes) {}

  void read(std::span<std::byte> destination) override;
  void skip(uint64_t num_bytes) override {
    const auto buffered = std::min<uint64_t>(num_bytes, buffer_.size() - begin_);
    begin_ += buffered;
    offset_ += num_bytes - buffered;
  }

 private:
  const MirroredReadableFile& file_;
  uint64_t offset_;  // Of what follows the buffer.
  const uint64_t end_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0;  // Of what is left of it.
};

class MirroredReadableFile final : public ReadableFile {
 public:
  MirroredReadableFile(std::string path, std::shared_ptr<Mirror> mirror, Mirror::Copy copy,
                       const MirroredFile& file)
      : path_(std::move(path)), mirror_(std::move(mirror)), copy_(std::move(copy)), file_(file) {}

  uint64_t size() const override { return file_.size; }

  void read_at(uint64_t offset, std::span<std::byte> destination) const override {
    if (offset > file_.size || destination.size() > file_.size - offset)
      crochet::internal::throw_short_file(path_, offset, destination.size(), file_.size);
    if (destination.size() >= kBlockBytes) return fetch(offset, destination);
    const std::scoped_lock lock(mutex_);
    if (offset < block_begin_ || offset + destination.size() > block_begin_ + block_.size()) {
      block_.clear();
      std::vector<std::byte> block(std::min<uint64_t>(kBlockBytes, file_.size - offset));
      fetch(offset, block);
      block_ = std::move(block);
      block_begin_ = offset;
    }
    if (!destination.empty())
      std::memcpy(destination.data(), block_.data() + (offset - block_begin_), destination.size());
  }

  std::unique_ptr<ReadStream> stream(uint64_t offset, uint64_t num_bytes) const override {
    return std::make_unique<MirroredStream>(*this, offset, num_bytes);
  }

  void fetch(uint64_t offset, std::span<std::byte> destination) const {
    mirror_->read(copy_, file_, offset, destination, {});
  }

 private:
  const std::string path_;
  const std::shared_ptr<Mirror> mirror_;
  const Mirror::Copy copy_;
  const MirroredFile& file_;  // Of the copy's manifest.

  mutable std::mutex mutex_;  // Guards what follows.
  mutable std::vector<std::byte> block_;
  mutable uint64_t block_begin_ = 0;
};

void MirroredStream::read(std::span<std::byte> destination) {
  while (!destination.empty()) {
    if (begin_ == buffer_.size()) {
      if (offset_ >= end_) throw DataLossError("the part of the file ends before that");
      buffer_.resize(std::min(kStreamBytes, end_ - offset_));
      begin_ = buffer_.size();  // In case it cannot be read.
      file_.fetch(offset_, buffer_);
      offset_ += buffer_.size();
      begin_ = 0;
    }
    const auto num_bytes = std::min(destination.size(), buffer_.size() - begin_);
    std::memcpy(destination.data(), buffer_.data() + begin_, num_bytes);
    begin_ += num_bytes;
    destination = destination.subspan(num_bytes);
  }
}

// A text as a file.
class TextFile final : public ReadableFile {
 public:
  TextFile(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}

  uint64_t size() const override { return text_.size(); }
  void read_at(uint64_t offset, std::span<std::byte> destination) const override {
    if (offset > text_.size() || destination.size() > text_.size() - offset)
      crochet::internal::throw_short_file(path_, offset, destination.size(), text_.size());
    if (!destination.empty())
      std::memcpy(destination.data(), text_.data() + offset, destination.size());
  }

 private:
  const std::string path_;
  const std::string text_;
};

std::string state_text(std::span<const Mirror::Copy> copies) {
  CheckpointState state;
  for (const Mirror::Copy& copy : copies) {
    state.all_model_checkpoint_paths.push_back(copy.manifest->checkpoint);
    state.all_model_checkpoint_timestamps.push_back(copy.manifest->unix_time);
  }
  state.model_checkpoint_path = state.all_model_checkpoint_paths.back();
  return to_text(state);
}

}  // namespace

// A mirror, and what it had when it was last asked.
struct StoreFiles::Place {
  std::shared_ptr<ObjectStore> store;
  std::shared_ptr<Mirror> mirror;
  std::mutex mutex;  // Guards what follows.
  std::vector<Mirror::Copy> copies;
  std::optional<Clock::TimePoint> asked_at;

  // Requires: the mutex is held.
  void ask(const Clock& clock) {
    copies = mirror->list({});
    asked_at = clock.now();
  }
  void ask_if_stale(const Clock& clock) {
    if (!asked_at || clock.now() - *asked_at > kFresh) ask(clock);
  }
};

// Those of a process: a forked one asks for itself.
struct StoreFiles::Places {
  std::mutex mutex;  // Guards what follows.
  std::map<std::string, std::shared_ptr<Place>> by_url;
};

// A file that a path leads to; nothing if there is none.
struct StoreFiles::Entry {
  std::shared_ptr<Mirror> mirror;
  std::optional<Mirror::Copy> copy = {};
  const MirroredFile* file = nullptr;    // Of the copy's manifest.
  std::optional<std::string> text = {};  // Of a state file.
  double time = 0;

  bool exists() const { return file != nullptr || text; }
};

StoreFiles::StoreFiles(FileSystem& others, OpenStore open_store, Clock& clock)
    : ForwardingDirectory(others, ""), open_store_(std::move(open_store)), clock_(clock) {}

StoreFiles::~StoreFiles() = default;

std::shared_ptr<StoreFiles::Place> StoreFiles::place_of(const std::string& directory) {
  S3Place where = parse_s3_url(directory);
  Places& places = *places_;
  const std::scoped_lock lock(places.mutex);
  std::shared_ptr<Place>& place = places.by_url[where.url()];
  if (!place) {
    auto made = std::make_shared<Place>();
    made->store = open_store_(where.bucket);
    made->mirror = std::make_shared<Mirror>(*made->store, where, clock_);
    place = std::move(made);
  }
  return place;
}

StoreFiles::Entry StoreFiles::find(const std::string& path) {
  const std::string directory = directory_of(path);
  if (!is_in_store(directory)) return {};  // A bucket itself.
  const std::shared_ptr<Place> place = place_of(directory);
  const std::string name = base_name(path);
  const std::scoped_lock lock(place->mutex);
  for (const bool asks : {false, true}) {
    if (asks) place->ask_if_stale(clock_);
    if (name == kState && !place->copies.empty())
      return {.mirror = place->mirror,
              .text = state_text(place->copies),
              .time = place->copies.back().manifest->unix_time};
    for (const Mirror::Copy& copy : place->copies)
      for (const MirroredFile& file : copy.manifest->files)
        if (file.name == name)
          return {.mirror = place->mirror,
                  .copy = copy,
                  .file = &file,
                  .time = copy.manifest->unix_time};
  }
  return {};
}

std::unique_ptr<ReadableFile> StoreFiles::open(const std::string& path) {
  if (!is_in_store(path)) return files().open(path);
  Entry entry = find(path);
  if (!entry.exists()) throw NotFoundError(path + ": no such file in a copy that is complete");
  if (entry.text) return std::make_unique<TextFile>(path, *std::move(entry.text));
  return std::make_unique<MirroredReadableFile>(path, entry.mirror, *std::move(entry.copy),
                                                *entry.file);
}

std::shared_ptr<Directory> StoreFiles::open_directory(const std::string& path) {
  if (!is_in_store(path)) return files().open_directory(path);
  // Of this file system, not of the other one. NOLINTNEXTLINE(bugprone-parent-virtual-call)
  return FileSystem::open_directory(path);
}

std::string StoreFiles::fixed_path(const std::string& path, const WorkingDirectory& start) const {
  return is_in_store(path) ? path : files().fixed_path(path, start);
}

bool StoreFiles::exists(const std::string& path) {
  if (!is_in_store(path)) return files().exists(path);
  if (find(path).exists()) return true;
  const std::shared_ptr<Place> place = place_of(path);
  const std::scoped_lock lock(place->mutex);
  place->ask_if_stale(clock_);
  return !place->copies.empty();
}

uint64_t StoreFiles::file_size(const std::string& path) {
  if (!is_in_store(path)) return files().file_size(path);
  const Entry entry = find(path);
  if (!entry.exists()) throw NotFoundError(path + ": no such file in a copy that is complete");
  return entry.text ? entry.text->size() : entry.file->size;
}

double StoreFiles::modified_time(const std::string& path) {
  if (!is_in_store(path)) return files().modified_time(path);
  const Entry entry = find(path);
  if (!entry.exists()) throw NotFoundError(path + ": no such file in a copy that is complete");
  return entry.time;
}

std::vector<std::string> StoreFiles::list(const std::string& path) {
  if (!is_in_store(path)) return files().list(path);
  const std::shared_ptr<Place> place = place_of(path);
  const std::scoped_lock lock(place->mutex);
  place->ask(clock_);
  if (place->copies.empty())
    throw NotFoundError(path + ": no copies of checkpoints, or none that is complete");
  std::vector<std::string> names = {kState};
  for (const Mirror::Copy& copy : place->copies)
    for (const MirroredFile& file : copy.manifest->files) names.push_back(file.name);
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> StoreFiles::read_symbolic_link(const std::string& path) {
  return is_in_store(path) ? std::nullopt : files().read_symbolic_link(path);
}

DirectoryIdentity StoreFiles::identity() const { return {}; }

std::string StoreFiles::translated(const std::string& path) {
  if (is_in_store(path))
    throw UnimplementedError(
        path + ": nothing can be changed there; MirrorHook makes copies and removes them");
  return path;
}

}  // namespace crochet::inline v0::cloud::internal

namespace crochet::inline v0::cloud {

FileSystem& files() {
  static crochet::internal::Immortal<internal::StoreFiles> files(
      FileSystem::posix(),
      [](const std::string& bucket) {
        return std::make_shared<internal::S3Store>(bucket, Clock::real());
      },
      Clock::real());
  return *files;
}

}  // namespace crochet::inline v0::cloud
