// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/striped_directory.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/random.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/io/path.h"
#include "crochet/io/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

// Of either of these files.
constexpr uint64_t kMaxBytes = uint64_t{1} << 20;

std::vector<std::string> lines_of(FileSystem& files, const std::string& path) {
  std::string text;
  try {
    text = read_untrusted_file(files, path, kMaxBytes);
  } catch (const NotFoundError&) {
    return {};
  }
  std::vector<std::string> lines;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

}  // namespace

StripedDirectory::StripedDirectory(FileSystem& files, std::shared_ptr<Directory> directory)
    : ForwardingDirectory(*directory, directory->path()),
      files_(files),
      directory_(std::move(directory)) {}

std::vector<std::string> StripedDirectory::listed() {
  return lines_of(*directory_, join_path(path(), kDataDirsFile));
}

// The path remains if a backup was restored, the number if the directory was moved.
StripedDirectory::Owner StripedDirectory::owner_of(const std::string& data_dir) {
  const std::vector<std::string> owner = lines_of(files_, join_path(data_dir, kOwnerFile));
  if (owner.empty()) return Owner::kNone;
  if (owner.size() != 2) return Owner::kAnother;  // It cannot be read.
  const bool has_path = owner[0] == absolute_path(path());
  const bool has_number = owner[1] == fmt::format("{}", identity().number);
  if (has_path && has_number) return Owner::kThis;
  return has_path || has_number ? Owner::kSamePlace : Owner::kAnother;
}

bool StripedDirectory::has_stored(const std::string& data_dir) {
  const std::vector<std::string> names = files_.list(data_dir);
  return std::ranges::any_of(names,
                             [](const std::string& name) { return is_stored_filename(name); });
}

void StripedDirectory::write_owner(const std::string& data_dir) {
  replace_file(files_, join_path(data_dir, kOwnerFile),
               fmt::format("{}\n{}\n", absolute_path(path()), identity().number));
}

void StripedDirectory::claim(const std::string& data_dir, bool is_listed) {
  if (absolute_path(path()) == data_dir)
    throw InvalidArgumentError(fmt::format(
        "\"{}\" is the directory of the checkpoints and one of checkpoint_dirs", path()));
  if (data_dir.find('\n') != std::string::npos)
    throw InvalidArgumentError(
        fmt::format("\"{}\", one of checkpoint_dirs, has a line break", data_dir));
  if (!files_.exists(data_dir) && !is_listed) files_.create_directories(data_dir);
  const Owner owner = owner_of(data_dir);
  if (owner == Owner::kThis) return;
  if (owner == Owner::kNone && is_listed)
    throw FailedPreconditionError(
        fmt::format("{}: found no {}, expected the data of checkpoints in {}: is its disk mounted?",
                    data_dir, kOwnerFile, path()));
  const bool is_doubtful = owner == Owner::kSamePlace && !is_listed && has_stored(data_dir);
  if (owner == Owner::kAnother || is_doubtful)
    throw FailedPreconditionError(fmt::format(
        "{}: found the data of checkpoints in another directory, expected those of {}; if they are "
        "not needed, empty it, and remove its {}",
        data_dir, path(), kOwnerFile));
  write_owner(data_dir);
}

void StripedDirectory::store_in(const std::vector<std::string>& data_dirs) {
  std::vector<std::string> known = listed();
  const size_t num_known = known.size();
  std::vector<std::string> absolute;
  for (const std::string& data_dir : data_dirs) {
    absolute.push_back(absolute_path(data_dir));
    const bool is_listed = std::ranges::find(known, absolute.back()) != known.end();
    claim(absolute.back(), is_listed);
    if (!is_listed) known.push_back(absolute.back());
  }
  if (known.size() > num_known) {
    std::string text;
    for (const std::string& line : known) text += line + "\n";
    replace_file(*directory_, join_path(path(), kDataDirsFile), text);
  }
  const std::lock_guard lock(mutex_);
  data_dirs_ = std::move(absolute);
  if (!data_dirs_.empty()) next_ = random_number() % data_dirs_.size();
}

std::vector<std::string> StripedDirectory::find_unnamed(std::string_view basename) {
  std::set<std::string> named;
  std::vector<std::string> unnamed;
  const std::vector<std::string> data_dirs = listed();
  if (data_dirs.empty()) return unnamed;
  for (const std::string& name : directory_->list(path()))
    if (auto target = stored(join_path(path(), name))) named.insert(std::move(*target));
  for (const std::string& data_dir : data_dirs) {
    try {
      if (owner_of(data_dir) != Owner::kThis) continue;
      for (const std::string& name : files_.list(data_dir)) {
        std::string stored = join_path(data_dir, name);
        const bool is_unnamed = is_stored_filename(name, basename) && !named.contains(stored);
        if (is_unnamed || is_temporary_state(name, kOwnerFile))
          unnamed.push_back(std::move(stored));
      }
    } catch (const Error& error) {  // Its files may be found next time.
      log_warning(fmt::format("{}: leftovers of killed saves in {} cannot be found: {}", path(),
                              data_dir, error.what()));
    }
  }
  return unnamed;
}

std::optional<std::string> StripedDirectory::stored(const std::string& path) {
  auto target = directory_->read_symbolic_link(path);
  if (!target || !is_absolute(*target) || !is_stored_filename(base_name(*target)))
    return std::nullopt;
  return target;
}

void StripedDirectory::name_stored(const std::string& stored, const std::string& path) {
  try {
    directory_->make_symbolic_link(stored, path);
  } catch (...) {
    remove_left_over(files_, stored);
    throw;
  }
  note_change(directory_of(stored));
}

void StripedDirectory::remove_stored(const std::string& stored) {
  const Owner owner = owner_of(directory_of(stored));
  if (owner != Owner::kThis && owner != Owner::kSamePlace) return;
  try {
    files_.remove(stored);
  } catch (const NotFoundError&) {
  }
}

void StripedDirectory::note_change(const std::string& data_dir) {
  const std::lock_guard lock(mutex_);
  unsynced_.insert(data_dir);
}

std::unique_ptr<WritableFile> StripedDirectory::create_large(const std::string& path,
                                                             uint64_t bytes) {
  std::string stored;
  {
    const std::lock_guard lock(mutex_);
    if (!data_dirs_.empty())
      stored = join_path(data_dirs_[next_++ % data_dirs_.size()], stored_filename(base_name(path)));
  }
  if (stored.empty()) return directory_->create_large(path, bytes);
  auto file = files_.create_large(stored, bytes);
  name_stored(stored, path);
  return file;
}

std::unique_ptr<ReadableFile> StripedDirectory::open(const std::string& path) {
  const auto target = stored(path);
  return target ? files_.open(*target) : directory_->open(path);
}

uint64_t StripedDirectory::file_size(const std::string& path) {
  const auto target = stored(path);
  return target ? files_.file_size(*target) : directory_->file_size(path);
}

double StripedDirectory::modified_time(const std::string& path) {
  const auto target = stored(path);
  return target ? files_.modified_time(*target) : directory_->modified_time(path);
}

void StripedDirectory::rename(const std::string& from, const std::string& to) {
  const auto replaced = stored(to);
  directory_->rename(from, to);
  if (replaced && replaced != stored(to)) remove_stored(*replaced);
}

void StripedDirectory::link(const std::string& from, const std::string& to) {
  const auto target = stored(from);
  if (!target) return directory_->link(from, to);
  const std::string data_dir = directory_of(*target);
  if (owner_of(data_dir) != Owner::kThis)
    throw FailedPreconditionError(
        fmt::format("{}: is stored in {}, which does not belong to {}", from, data_dir, path()));
  const std::string linked = join_path(data_dir, stored_filename(base_name(to)));
  files_.link(*target, linked);
  name_stored(linked, to);
}

void StripedDirectory::remove(const std::string& path) {
  const auto target = stored(path);
  directory_->remove(path);
  if (target) remove_stored(*target);
}

// The data first: a name that survives a power cut leads to a file that does.
void StripedDirectory::sync_directory(const std::string& path) {
  std::set<std::string> changed;
  {
    const std::lock_guard lock(mutex_);
    changed = unsynced_;
  }
  for (const std::string& data_dir : changed) files_.sync_directory(data_dir);
  directory_->sync_directory(path);
  const std::lock_guard lock(mutex_);
  for (const std::string& data_dir : changed) unsynced_.erase(data_dir);
}

uint64_t StripedDirectory::free_bytes(const std::string& path) {
  std::vector<std::string> data_dirs;
  {
    const std::lock_guard lock(mutex_);
    data_dirs = data_dirs_;
  }
  if (data_dirs.empty()) return directory_->free_bytes(path);
  uint64_t least = UINT64_MAX;
  for (const std::string& data_dir : data_dirs)
    least = std::min(least, files_.free_bytes(data_dir));
  return least > UINT64_MAX / data_dirs.size() ? UINT64_MAX : least * data_dirs.size();
}

}  // namespace crochet::inline v0::internal
