// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/torch_index.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/torch/pickle.h"
#include "crochet/checkpoint/torch/torch_values.h"
#include "crochet/io/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kZipMagic = "PK\x03\x04";
// Before torch 1.6: a pickle of the protocol 2 with torch's magic number, an integer of 10 bytes.
constexpr std::string_view kLegacyMagic =
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

// The limit of the header of safetensors: enough for half a million tensors.
constexpr uint64_t kMaxPickleBytes = 100'000'000;
constexpr uint64_t kMaxByteOrderBytes = 16;

std::string first_bytes(const ReadableFile& file) {
  std::string bytes(std::min<uint64_t>(file.size(), kLegacyMagic.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

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
    throw DataLossError(
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

TorchIndex read_index(FileSystem& files, const std::string& path) {
  std::shared_ptr<const ReadableFile> file = open_untrusted_file(files, path);
  if (first_bytes(*file) == kLegacyMagic)
    throw UnimplementedError(fmt::format(
        "{}: found the format of torch before 1.6, expected a zip archive: load the file in Python "
        "and save it again",
        path));
  const ZipDirectory archive = read_zip_directory(*file, path);
  const std::string root = root_of(archive, path);
  check_byte_order(*file, path, root, archive);
  const std::string name = root + "/data.pkl";
  const std::string bytes =
      read_zip_entry(*file, path, name, archive.find(name)->second, kMaxPickleBytes);
  const std::string document = fmt::format("{}: {}", path, name);
  TorchIndex index{.path = path,
                   .open = std::make_unique<OpenFiles>(files, path),
                   .tensors = {},
                   .layouts = {},
                   .storages = {}};
  add_torch_values(parse_pickle(bytes, document, is_known_to_torch), archive, root, document,
                   bytes.size(), file->size(), index);
  index.has_checksums =
      std::ranges::all_of(index.storages, [](const auto& each) { return has_crc32(each.entry); });
  index.open->put(0, path, std::move(file));
  return index;
}

}  // namespace

bool is_torch_file(FileSystem& files, const std::string& path) {
  if (!files.exists(path) || is_directory(files, path)) return false;
  if (path.ends_with(".pt") || path.ends_with(".pth")) return true;
  try {
    const std::string bytes = first_bytes(*open_untrusted_file(files, path));
    return bytes.starts_with(kZipMagic) || bytes == kLegacyMagic;
  } catch (const NotFoundError&) {
    return false;  // Removed meanwhile.
  } catch (const DataLossError&) {
    return false;
  }
}

TorchIndex read_torch(FileSystem& files, const std::string& path) {
  return with_bounded_memory(path, [&] { return read_index(files, path); });
}

}  // namespace crochet::inline v0::internal
