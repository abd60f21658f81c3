// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/file_kind.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kFirstBytes = 512;

// Kinds of files that begin with these bytes, at an offset.
struct Magic {
  size_t offset;
  std::string_view bytes;
  std::string_view kind;
};
constexpr Magic kMagics[] = {
    {0, "PK\x03\x04", "a zip archive"},
    {0, "\x1f\x8b", "a file compressed by gzip: unpack it"},
    {0,
     "\xfd"
     "7zXZ",
     "a file compressed by xz: unpack it"},
    {0, "\x28\xb5\x2f\xfd", "a file compressed by zstd: unpack it"},
    {0, "BZh", "a file compressed by bzip2: unpack it"},
    {257, "ustar", "a tar archive: unpack it"},
    {0, "\x89HDF", "an HDF5 file, as of Keras"},
    {0, "\x93NUMPY", "a NumPy array"},
    {0, "GGUF", "a GGUF file, as of llama.cpp"},
    {0, "\x80\x02", "a pickle that torch did not write"},
    {0, "\x80\x03", "a pickle that torch did not write"},
    {0, "\x80\x04", "a pickle that torch did not write"},
    {0, "\x80\x05", "a pickle that torch did not write"},
};

// The text without blanks at its start, in lower case.
std::string normalized(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// What a file is, and what to do; unset if it is not known.
std::optional<std::string> kind_of(std::string_view start) {
  if (start.starts_with("version https://git-lfs"))
    return "a pointer of Git LFS, which stands for a file that is not here: `git lfs pull` gets it";
  if (start.starts_with("/annex/objects/"))
    return "a pointer of git-annex, which stands for a file that is not here: `git annex get` gets "
           "it";
  const std::string text = normalized(start);
  if (text.starts_with("<!doctype html") || text.starts_with("<html"))
    return "an HTML page, such as an error or a login, instead of the download: get the file again";
  if (text.starts_with("<?xml"))
    return "XML text, such as an error of a server: get the file again";
  for (const Magic& magic : kMagics)
    if (start.size() > magic.offset && start.substr(magic.offset).starts_with(magic.bytes))
      return std::string(magic.kind);
  return std::nullopt;
}

}  // namespace

std::string first_bytes(const ReadableFile& file) {
  std::string bytes(std::min<uint64_t>(file.size(), kFirstBytes), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void check_kind(FileSystem& files, const std::string& path, std::string_view expected) {
  std::optional<std::string> kind;
  try {
    kind = kind_of(first_bytes(*open_untrusted_file(files, path)));
  } catch (const Error&) {
    return;  // The reader's own error says more.
  }
  if (kind)
    throw UnimplementedError(fmt::format("{}: expected {}, found {}", path, expected, *kind));
}

}  // namespace crochet::inline v0::internal
