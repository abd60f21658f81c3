// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/torch_index.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/file_kind.h"
#include "crochet/checkpoint/torch/internal/pickle.h"
#include "crochet/checkpoint/torch/internal/torch_legacy.h"
#include "crochet/checkpoint/torch/internal/torch_values.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kZipMagic = "PK\x03\x04";
constexpr uint64_t kMaxByteOrderBytes = 16;

// The folder of the archive with a pickle.
std::string root_of(const ZipDirectory& archive, const std::string& path) {
  std::optional<std::string> root;
  for (const auto& [name, entry] : archive) {
    const size_t slash = name.find('/');
    if (slash == std::string::npos || std::string_view(name).substr(slash) != "/data.pkl") continue;
    if (root)
      throw DataLossError(
          fmt::format("{}: the zip archive has both {}/data.pkl and {}", path, *root, name));
    root = name.substr(0, slash);
  }
  if (!root)
    throw UnimplementedError(
        fmt::format("{}: found a zip archive without <name>/data.pkl, expected a file of "
                    "torch.save()",
                    path));
  return *std::move(root);
}

void check_byte_order(const ReadableFile& file, const std::string& path, const std::string& root,
                      const ZipDirectory& archive) {
  const auto found = archive.find(root + "/byteorder");
  if (found == archive.end()) return;
  const std::string order =
      read_zip_entry(file, path, found->first, found->second, kMaxByteOrderBytes);
  if (order != "little")
    throw UnimplementedError(
        fmt::format("{}: {} is \"{}\", expected \"little\"", path, found->first, order));
}

void add_storages(const ZipDirectory& archive, const std::string& root, TorchIndex& index) {
  const std::string folder = root + "/data/";
  for (auto each = archive.lower_bound(folder);
       each != archive.end() && each->first.starts_with(folder); ++each) {
    index.storages_by_key.emplace(each->first.substr(folder.size()),
                                  static_cast<int32_t>(index.storages.size()));
    index.storages.push_back({each->first, each->second});
  }
}

void read_archive(const ReadableFile& file, TorchIndex& index) {
  const ZipDirectory archive = read_zip_directory(file, index.path);
  const std::string root = root_of(archive, index.path);
  check_byte_order(file, index.path, root, archive);
  add_storages(archive, root, index);
  const std::string name = root + "/data.pkl";
  const std::string bytes =
      read_zip_entry(file, index.path, name, archive.find(name)->second, kMaxPickleBytes);
  add_torch_values(parse_pickle(bytes, fmt::format("{}: {}", index.path, name)), name, file.size(),
                   index);
}

TorchIndex read_index(FileSystem& files, const std::string& path) {
  const std::shared_ptr<const ReadableFile> file = open_untrusted_file(files, path);
  if (!is_torch_file(*file)) check_kind(files, path, "a file of torch.save()");
  TorchIndex index{.path = path, .open = std::make_unique<OpenFiles>(files, path)};
  if (is_legacy_torch_file(*file))
    read_legacy_torch_file(*file, index);
  else
    read_archive(*file, index);
  index.has_checksums =
      std::ranges::all_of(index.storages, [](const auto& each) { return has_crc32(each.entry); });
  index.open->put(0, path, file);
  return index;
}

}  // namespace

bool is_torch_file(const ReadableFile& file) {
  return first_bytes(file).starts_with(kZipMagic) || is_legacy_torch_file(file);
}

TorchIndex read_torch(FileSystem& files, const std::string& path) {
  return with_bounded_memory(path, [&] { return read_index(files, path); });
}

}  // namespace crochet::inline v0::internal
