// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/posix_file_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/file_descriptor.h"
#include "crochet/io/internal/open_file.h"
#include "crochet/io/internal/own_copy.h"
#include "crochet/io/internal/posix_file_lock.h"
#include "crochet/io/internal/posix_files.h"

namespace crochet::inline v0::internal {
namespace {

void check(int result, const std::string& path, std::string_view operation) {
  if (result != 0) throw_errno(errno, path, operation);
}

// The operations of both kinds of file system, which differ in how they resolve paths.
template <typename Base>
class PosixOperations : public Base {
 public:
  std::unique_ptr<WritableFile> create(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(place_of(path), OpenFor::kReplacing);
  }

  std::unique_ptr<WritableFile> create_large(const std::string& path,
                                             uint64_t expected_bytes) override {
    return large_->create(place_of(path), expected_bytes);
  }

  std::unique_ptr<WritableFile> append_to(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(place_of(path), OpenFor::kAppending);
  }

  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    return std::make_unique<PosixReadableFile>(place_of(path));
  }

  bool exists(const std::string& path) override {
    try {
      static_cast<void>(status_of(path, AT_SYMLINK_NOFOLLOW));
      return true;
    } catch (const NotFoundError&) {
      return false;
    }
  }

  uint64_t file_size(const std::string& path) override {
    return static_cast<uint64_t>(status_of(path).st_size);
  }

  double modified_time(const std::string& path) override {
    const struct timespec time = status_of(path).st_mtim;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  std::vector<std::string> list(const std::string& directory) override {
    const FileDescriptor opened = internal::open_directory(place_of(directory));
    look_again(opened.get(), "");
    std::vector<std::string> names;
    // About 1000 names; not with readdir(), which would need another descriptor.
    alignas(struct dirent64) std::byte entries[size_t{32} << 10];
    ssize_t num_bytes = 0;
    while ((num_bytes = retry_interrupted(
                [&] { return ::getdents64(opened.get(), entries, sizeof entries); })) > 0) {
      for (ssize_t begin = 0; begin < num_bytes;) {
        const auto* const entry = reinterpret_cast<const struct dirent64*>(entries + begin);
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
        begin += entry->d_reclen;
      }
    }
    if (num_bytes < 0) throw_errno(errno, directory, "readdir");
    std::ranges::sort(names);
    return names;
  }

  void rename(const std::string& from, const std::string& to) override {
    const FilePlace old_place = place_of(from);
    const FilePlace place = place_of(to);
    prepare_replacement(old_place, place);
    check(::renameat(old_place.at(), old_place.name.c_str(), place.at(), place.name.c_str()), from,
          fmt::format("rename to {}", to));
  }

  // The file is opened first: whatever its name leads to meanwhile, a plain file is linked.
  void link(const std::string& from, const std::string& to) override {
    const FileDescriptor file = open_file(place_of(from), OpenFor::kReading, O_NOFOLLOW);
    const FilePlace place = place_of(to);
    const std::string opened = fmt::format("/proc/self/fd/{}", file.get());
    check(::linkat(AT_FDCWD, opened.c_str(), place.at(), place.name.c_str(), AT_SYMLINK_FOLLOW),
          from, fmt::format("link to {}", to));
  }

  void clone(const std::string& from, const std::string& to) override {
    const FileDescriptor source = open_file(place_of(from), OpenFor::kReading);
    const FilePlace place = place_of(to);
    const FileDescriptor copy = open_file(place, OpenFor::kReplacing, O_EXCL);
    if (retry_interrupted([&] { return ::ioctl(copy.get(), FICLONE, source.get()); }) == 0) return;
    const int error = errno;
    ::unlinkat(place.at(), name_of(place), 0);
    if (error == EOPNOTSUPP || error == EXDEV || error == ENOTTY || error == EINVAL)
      throw UnimplementedError(
          fmt::format("{}: clone to {} failed: this file system has no reflinks", from, to));
    throw_errno(error, from, fmt::format("clone to {}", to));
  }

  void make_symbolic_link(const std::string& target, const std::string& path) override {
    const FilePlace place = place_of(path);
    check(::symlinkat(target.c_str(), place.at(), place.name.c_str()), path,
          fmt::format("symbolic link to {}", target));
  }

  std::optional<std::string> read_symbolic_link(const std::string& path) override {
    const std::optional<FilePlace> place = place_unless_missing(path);
    if (!place) return std::nullopt;
    std::string target(PATH_MAX, '\0');
    const ssize_t size =
        ::readlinkat(place->at(), place->name.c_str(), target.data(), target.size());
    if (size < 0) {
      if (errno == EINVAL || errno == ENOENT || errno == ENOTDIR) return std::nullopt;
      throw_errno(errno, path, "readlink");
    }
    target.resize(static_cast<size_t>(size));
    return target;
  }

  void remove(const std::string& path) override {
    const FilePlace place = place_of(path);
    if (::unlinkat(place.at(), name_of(place), 0) == 0) return;
    // POSIX allows EPERM for a directory.
    if (errno != EISDIR && errno != EPERM) throw_errno(errno, path, "remove");
    const int error = errno;
    if (::unlinkat(place.at(), name_of(place), AT_REMOVEDIR) != 0)
      throw_errno(errno == ENOTDIR ? error : errno, path, "remove");
  }

  void truncate(const std::string& path, uint64_t size) override {
    const FileDescriptor file = open_file(place_of(path), OpenFor::kCutting);
    check(retry_interrupted([&] { return ::ftruncate(file.get(), static_cast<off_t>(size)); }),
          path, "truncate");
  }

  // Not through append_to(), which replaces a file that has several names.
  void sync_file(const std::string& path) override {
    const FileDescriptor file = open_file(place_of(path), OpenFor::kReading, O_NOFOLLOW);
    check(retry_interrupted([&] { return ::fdatasync(file.get()); }), path, "fdatasync");
  }

  void create_directories(const std::string& path) override {
    if (path.empty() || is_made(path)) return;
    create_directories(directory_of(without_last_slashes(path)));
    if (!is_made(path)) throw_errno(ENOENT, path, "mkdir");
  }

  void sync_directory(const std::string& path) override {
    const FileDescriptor directory = internal::open_directory(place_of(path));
    // EINVAL: this file system cannot sync directories, and nothing more can be done.
    if (retry_interrupted([&] { return ::fsync(directory.get()); }) != 0 && errno != EINVAL)
      throw_errno(errno, path, "fsync");
  }

  std::unique_ptr<FileLock> try_lock(const std::string& path) override {
    return try_posix_lock(place_of(path));
  }

  uint64_t free_bytes(const std::string& path) override {
    struct statvfs status;
    const FileDescriptor file = open_to_look(place_of(path));
    check(retry_interrupted([&] { return ::fstatvfs(file.get(), &status); }), path, "statvfs");
    return uint64_t{status.f_bavail} * status.f_frsize;
  }

 protected:
  explicit PosixOperations(std::shared_ptr<DirectWriter> large) : large_(std::move(large)) {}

  virtual FilePlace place_of(const std::string& path) const = 0;
  const std::shared_ptr<DirectWriter>& large() const { return large_; }

 private:
  static const char* name_of(const FilePlace& place) {
    return place.name.empty() ? "." : place.name.c_str();
  }

  static int stat_flags(const FilePlace& place) {
    return place.directory ? AT_SYMLINK_NOFOLLOW : 0;
  }

  // Follows links, unless `flags` forbid it.
  struct stat status_of(const std::string& path, int flags = 0) {
    const FilePlace place = place_of(path);
    struct stat status;
    const auto look = [&] { return ::fstatat(place.at(), name_of(place), &status, flags); };
    int result = look();
    if (result != 0 && (errno == ENOENT || errno == ESTALE)) {
      look_again(place);
      result = look();
    }
    check(result, path, "stat");
    return status;
  }

  // A link is not replaced by a file; and a file that replaces another one gets its mode and group,
  // since a directory may be shared by a group.
  static void prepare_replacement(const FilePlace& from, const FilePlace& to) {
    struct stat replaced;
    if (::fstatat(to.at(), name_of(to), &replaced, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (S_ISREG(replaced.st_mode)) keep_mode_and_group(from, replaced);
    struct stat moved;
    if (S_ISLNK(replaced.st_mode) &&
        ::fstatat(from.at(), name_of(from), &moved, AT_SYMLINK_NOFOLLOW) == 0)
      throw FailedPreconditionError(
          fmt::format("{}: found a symbolic link, expected a plain file or none: links are not "
                      "replaced; put a file in its place, or remove it",
                      to.path));
  }

  // False if the directory above is missing.
  bool is_made(const std::string& path) {
    const std::optional<FilePlace> place = place_unless_missing(path);
    if (!place) return false;
    if (::mkdirat(place->at(), name_of(*place), mode_t{0777}) == 0) {
      sync_directory(directory_of(without_last_slashes(path)));
      return true;
    }
    const int error = errno;
    if (error == ENOENT) return false;
    // Some systems report an existing directory as read-only.
    struct stat status;
    if (::fstatat(place->at(), name_of(*place), &status, stat_flags(*place)) != 0 ||
        !S_ISDIR(status.st_mode))
      throw_errno(error, path, "mkdir");
    return true;
  }

  std::optional<FilePlace> place_unless_missing(const std::string& path) const {
    try {
      return place_of(path);
    } catch (const NotFoundError&) {
      return std::nullopt;
    }
  }

  static std::string_view without_last_slashes(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return path;
  }

  const std::shared_ptr<DirectWriter> large_;
};

class PosixDirectory final : public PosixOperations<Directory> {
 public:
  PosixDirectory(const FilePlace& place, std::shared_ptr<DirectWriter> large)
      : PosixOperations(std::move(large)),
        path_(place.path),
        absolute_path_(absolute_path(or_current(place.path))),
        directory_(std::make_shared<FileDescriptor>(internal::open_directory(place))) {
    struct stat status;
    if (::fstat(directory_->get(), &status) != 0) throw_errno(errno, path_, "fstat");
    identity_ = identity_of(status);
  }

  const std::string& path() const override { return path_; }
  DirectoryIdentity identity() const override { return identity_; }

  void check_in_place() override {
    struct stat status;
    if (::stat(absolute_path_.c_str(), &status) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) throw_not_in_place(path_);
      throw_errno(errno, path_, "stat");
    }
    if (identity_of(status) != identity_) throw_not_in_place(path_);
  }

  std::shared_ptr<Directory> open_directory(const std::string& path) override {
    return std::make_shared<PosixDirectory>(place_of(path), large());
  }

 protected:
  FilePlace place_of(const std::string& path) const override {
    FilePlace place{path, name_of_file(path), directory_};
    // Name by name, since a link in the middle of a path would be followed.
    for (size_t slash = place.name.find('/'); slash != std::string::npos;
         slash = place.name.find('/')) {
      FilePlace above{path, place.name.substr(0, slash), place.directory};
      place.directory = std::make_shared<FileDescriptor>(internal::open_directory(above));
      place.name.erase(0, slash + 1);
    }
    return place;
  }

 private:
  // Also of a path that is absolute while that of the directory is relative, or the reverse.
  std::string name_of_file(const std::string& path) const {
    if (is_absolute(path) == is_absolute(path_)) return name_within(path_, path);
    return name_within(absolute_path_, absolute_path(or_current(path)));
  }

  static DirectoryIdentity identity_of(const struct stat& status) {
    return {status.st_dev, status.st_ino};
  }

  const std::string path_;
  const std::string absolute_path_;
  const std::shared_ptr<const FileDescriptor> directory_;
  DirectoryIdentity identity_;
};

class PosixFileSystem final : public PosixOperations<FileSystem> {
 public:
  explicit PosixFileSystem(const DirectWriterOptions& options = {})
      : PosixOperations(std::make_shared<DirectWriter>(options)) {}

  std::string fixed_path(const std::string& path, const WorkingDirectory& start) const override {
    return absolute_path(path, start);
  }

  std::shared_ptr<Directory> open_directory(const std::string& path) override {
    return std::make_shared<PosixDirectory>(place_of(path), large());
  }

 protected:
  FilePlace place_of(const std::string& path) const override { return {path, path}; }
};

}  // namespace

}  // namespace crochet::inline v0::internal

namespace crochet::inline v0 {

FileSystem& FileSystem::posix() {
  // Never destroyed: threads may still be writing at exit.
  static auto* const file_system = new internal::PosixFileSystem;
  return *file_system;
}

}  // namespace crochet::inline v0

namespace crochet::inline v0::internal {

std::unique_ptr<FileSystem> make_posix_file_system(const DirectWriterOptions& options) {
  return std::make_unique<PosixFileSystem>(options);
}

}  // namespace crochet::inline v0::internal
