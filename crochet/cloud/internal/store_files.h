// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/cloud/internal/mirror.h"
#include "crochet/cloud/internal/object_store.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::cloud::internal {

// What cloud::files() is: files of another file system, and, by paths "s3://...", those of mirrors.
class StoreFiles final : public ForwardingDirectory {
 public:
  // A bucket by its name.
  using OpenStore = std::function<std::shared_ptr<ObjectStore>(const std::string& bucket)>;

  // Requires: `others` and `clock` outlive this.
  StoreFiles(FileSystem& others, OpenStore open_store, Clock& clock);
  ~StoreFiles() override;

  std::unique_ptr<ReadableFile> open(const std::string& path) override;
  std::shared_ptr<Directory> open_directory(const std::string& path) override;
  using FileSystem::fixed_path;
  std::string fixed_path(const std::string& path, const WorkingDirectory& start) const override;
  bool exists(const std::string& path) override;
  uint64_t file_size(const std::string& path) override;
  double modified_time(const std::string& path) override;
  std::vector<std::string> list(const std::string& path) override;
  std::optional<std::string> read_symbolic_link(const std::string& path) override;
  DirectoryIdentity identity() const override;
  void check_in_place() override {}

 protected:
  std::string translated(const std::string& path) override;

 private:
  struct Place;
  struct Entry;

  struct Places;

  std::shared_ptr<Place> place_of(const std::string& directory);
  // Asks the store only for a name that was not there the last time.
  Entry find(const std::string& path);

  const OpenStore open_store_;
  Clock& clock_;
  crochet::internal::PerProcess<Places> places_;
};

}  // namespace crochet::inline v0::cloud::internal
