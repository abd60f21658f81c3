// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/mirror_manifest.h"

#include <limits>
#include <set>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/json_text.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/checkpoint/format/internal/file_names.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using crochet::internal::FileRole;
using crochet::internal::JsonText;
using crochet::internal::JsonTree;
using crochet::internal::parse_checkpoint_filename;
using crochet::internal::parse_json;
using Json = nlohmann::json;

constexpr int64_t kVersion = 1;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 50;

// Reads a manifest that is not trusted.
class Reader {
 public:
  Reader(const std::string& checkpoint, const std::string& name)
      : checkpoint_(checkpoint), name_(name) {}

  MirrorManifest read(const Json& root) const {
    const int64_t version = number<int64_t>(root, "crochet_mirror");
    if (version > kVersion)
      throw UnimplementedError(fmt::format("{}: the manifest has version {}, this crochet reads {}",
                                           name_, version, kVersion));
    MirrorManifest manifest{.checkpoint = text(root, "checkpoint"),
                            .unix_time = number<double>(root, "unix_time"),
                            .is_pinned = member(root, "pinned", &Json::is_boolean).get<bool>()};
    if (manifest.checkpoint != checkpoint_)
      fail(fmt::format("the checkpoint \"{}\"", manifest.checkpoint), "that of its key");
    std::set<std::string> names;
    for (const Json& file : member(root, "files", &Json::is_array)) {
      manifest.files.push_back(read_file(file));
      if (!names.insert(manifest.files.back().name).second)
        fail(fmt::format("\"{}\" twice", manifest.files.back().name), "each file once");
    }
    return manifest;
  }

 private:
  [[noreturn]] void fail(const std::string& found, const char* expected) const {
    throw DataLossError(
        fmt::format("{}: the manifest has {}, expected {}", name_, found, expected));
  }

  const Json& member(const Json& object, const char* key, bool (Json::*is)() const noexcept) const {
    if (object.is_object())
      if (const auto found = object.find(key); found != object.end() && ((*found).*is)())
        return *found;
    fail(fmt::format("no \"{}\"", key), "one of version 1");
  }

  template <typename Number>
  Number number(const Json& object, const char* key) const {
    const Json& found = member(object, key, &Json::is_number);
    if constexpr (std::is_same_v<Number, double>) return found.get<double>();
    const bool fits = found.is_number_integer() &&
                      (found.is_number_unsigned() || found.get<int64_t>() >= 0) &&
                      found.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
    if (!fits) fail(fmt::format("another number as \"{}\"", key), "a whole one");
    return found.get<Number>();
  }

  std::string text(const Json& object, const char* key) const {
    return member(object, key, &Json::is_string).get<std::string>();
  }

  MirroredFile read_file(const Json& object) const {
    MirroredFile file{.name = text(object, "name"), .size = number<uint64_t>(object, "size")};
    const auto parsed = parse_checkpoint_filename(file.name);
    const bool is_its =
        parsed && parsed->base == checkpoint_ && file.name.find('/') == file.name.npos &&
        parsed->role != FileRole::kTemporary && parsed->role != FileRole::kTemporaryDirectory;
    if (!is_its) fail(fmt::format("a file \"{}\"", file.name), "one of its checkpoint");
    if (file.size > kMaxFileBytes)
      fail(fmt::format("a file of {} bytes", file.size), "at most 2^50");
    for (const Json& part : member(object, "crc32c", &Json::is_array)) {
      if (!part.is_number_unsigned() || part.get<uint64_t>() > std::numeric_limits<uint32_t>::max())
        fail("another checksum", "numbers of 32 bits");
      file.crc32c.push_back(part.get<uint32_t>());
    }
    if (file.crc32c.size() != file.num_parts())
      fail(fmt::format("{} checksums of \"{}\"", file.crc32c.size(), file.name),
           "one for each part of 64 MiB");
    return file;
  }

  const std::string& checkpoint_;
  const std::string& name_;
};

}  // namespace

uint64_t MirrorManifest::num_bytes() const {
  uint64_t sum = 0;
  for (const MirroredFile& file : files) sum += file.size;
  return sum;
}

std::string to_text(const MirrorManifest& manifest) {
  JsonText text;
  text.begin_object();
  text.member("crochet_mirror", kVersion);
  text.member("checkpoint", std::string_view(manifest.checkpoint));
  text.member("unix_time", manifest.unix_time);
  text.member("pinned", manifest.is_pinned);
  text.key("files");
  text.begin_list();
  for (const MirroredFile& file : manifest.files) {
    text.begin_object();
    text.member("name", std::string_view(file.name));
    text.member("size", static_cast<int64_t>(file.size));
    text.key("crc32c");
    text.begin_list();
    for (const uint32_t crc : file.crc32c) text.add(int64_t{crc});
    text.end_list();
    text.end_object();
  }
  text.end_list();
  text.end_object();
  return text.take();
}

MirrorManifest parse_manifest(std::string_view text, const std::string& checkpoint,
                              const std::string& name) {
  JsonTree tree;
  parse_json(text, name, tree);
  return Reader(checkpoint, name).read(tree.root);
}

}  // namespace crochet::inline v0::cloud::internal
