// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/base/read_bytes.h"

namespace crochet::inline v0 {

// "a" and "b" give "a/b"; an absolute second part wins; an empty first part is dropped.
CROCHET_EXPORT std::string join_path(std::string_view directory, std::string_view name);
// The part before the last '/': "" for "file", "/" for "/file".
CROCHET_EXPORT std::string directory_of(std::string_view path);
// The same, but "." for "file".
CROCHET_EXPORT std::string parent_directory(std::string_view path);
// A directory as the system expects it: "." for "".
CROCHET_EXPORT std::string or_current(std::string_view directory);
// The part after the last '/'.
CROCHET_EXPORT std::string base_name(std::string_view path);
CROCHET_EXPORT bool is_absolute(std::string_view path);

// The working directory of the process at one moment.
class CROCHET_EXPORT WorkingDirectory {
 public:
  // The present one; empty if it was removed.
  WorkingDirectory();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The path from "/" on of a path that is relative to a working directory; "" for "".
CROCHET_EXPORT std::string absolute_path(const std::string& path,
                                         const WorkingDirectory& start = {});

// The name of a file in a directory, chosen by a program: it cannot lead out of the directory, and
// listings show it.
class CROCHET_EXPORT FileName {
 public:
  // Throws: InvalidArgumentError for a name that is empty, longer than 255 bytes, contains a '/' or
  // a zero byte, or starts with a '.'.
  FileName(std::string name);
  FileName(const char* name) : FileName(std::string(name)) {}

  const std::string& str() const { return name_; }
  operator const std::string&() const { return name_; }

  friend bool operator==(const FileName&, const FileName&) = default;

 private:
  std::string name_;
};

// A new file that is written from its start, or an existing one that is extended.
// The destructor closes without sync and never throws.
//
// Not thread-safe.
class CROCHET_EXPORT WritableFile {
 public:
  virtual ~WritableFile() = default;

  // Appends all of `data`; a short write is completed or is an error.
  virtual void append(std::span<const std::byte> data) = 0;
  void append(std::string_view text);
  // Appends, and returns `crc` extended by the bytes, as extend_crc32c() does: a file that copies
  // the bytes can compute it on the way.
  virtual uint32_t append_with_crc32c(uint32_t crc, std::span<const std::byte> data);
  // The same for bytes that stay valid and unchanged until flush(), sync() or close() returns or
  // this is destroyed: some files write them without a copy, if their memory and their offset in
  // the file are aligned to the disk's blocks.
  virtual uint32_t append_held_with_crc32c(uint32_t crc, std::span<const std::byte> data) {
    return append_with_crc32c(crc, data);
  }
  // The same for `num_bytes` bytes that `read` fills in, piece by piece: it gets the place of each
  // piece among them, and is called only when there is room for the piece.
  virtual uint32_t append_read_with_crc32c(uint32_t crc, size_t num_bytes, const ReadBytes& read);
  // Returns once the operating system has everything appended: it would survive the end of this
  // process, but not a power cut. After an error the file is dead: all further calls fail.
  virtual void flush() {}
  // Returns once everything appended, and the file's length, would survive a
  // power cut. The name would not: see FileSystem::sync_directory. After an
  // error the file is dead: write a new one.
  virtual void sync() = 0;
  // Closes; further calls are errors. Throws errors reported by the close.
  virtual void close() = 0;
};

// Reads a part of a file sequentially; may read ahead.
//
// Not thread-safe.
class CROCHET_EXPORT ReadStream {
 public:
  virtual ~ReadStream() = default;

  // Fills all of `destination` with the next bytes. Requires: the part has that many bytes left.
  // Throws: DataLossError if the file ends before that.
  virtual void read(std::span<std::byte> destination) = 0;
  // Reads, and returns `crc` extended by the bytes.
  virtual uint32_t read_with_crc32c(uint32_t crc, std::span<std::byte> destination);
  // Skips the next bytes. Requires: the part has that many bytes left.
  virtual void skip(uint64_t num_bytes) = 0;
};

// Bytes of a file mapped into memory, read when they are accessed. If the file is truncated
// meanwhile, access to the missing bytes ends the program with SIGBUS.
class CROCHET_EXPORT MappedBytes {
 public:
  virtual ~MappedBytes() = default;
  virtual std::span<const std::byte> bytes() const = 0;
};

// A file for reading at any offset.
//
// Thread-safe.
class CROCHET_EXPORT ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  virtual uint64_t size() const = 0;
  // False if it belongs to another user than that of the process, and not to root.
  virtual bool is_own() const { return true; }
  // The bytes stored on disk: less than size() if the file has holes, which take no space.
  virtual uint64_t stored_bytes() const { return size(); }
  // Fills all of `destination` with the bytes from `offset` on.
  // Throws: DataLossError with offset, length and size if the file ends before that.
  virtual void read_at(uint64_t offset, std::span<std::byte> destination) const = 0;
  // A stream of the `num_bytes` bytes from `offset` on. Requires: the file outlives the stream.
  virtual std::unique_ptr<ReadStream> stream(uint64_t offset, uint64_t num_bytes) const;
  // Maps a part of the file without reading it; null if that is not supported. The mapping may
  // outlive the file. Throws: DataLossError if the file ends before the end of the part.
  virtual std::unique_ptr<MappedBytes> map(uint64_t offset, uint64_t num_bytes) const;
};

// A lock on a file, held until destruction, that also excludes other processes. A forked process
// does not hold it.
class CROCHET_EXPORT FileLock {
 public:
  virtual ~FileLock() = default;

  // False in a forked process, and once the file's name was removed or belongs to another file:
  // then another holder may have the lock of this name.
  virtual bool is_held() const { return true; }
  // Replaces the content of the file, for example with a description of the holder; more lines may
  // follow it. Does nothing for files without content.
  virtual void write(std::string_view) {}
};

class Directory;

// The library's interface to files: real ones, in memory, or failing on demand.
// Paths are those of the operating system, without patterns. A directory may be
// "", as returned by directory_of("file"), for the current one.
//
// Files are plain files. Pipes, devices and directories are neither written to nor waited for:
// opening one is a FailedPreconditionError. Only what is read may be reached through a symbolic
// link: opening one for writing, and renaming a file over one, is a FailedPreconditionError, and so
// is reading one that leads to nothing, since its disk may not be mounted. A file that has several
// names (hard links), or belongs to another user, is replaced by a copy when it is opened for
// writing, so that only this name changes.
//
// Every function that fails throws an error with the path and the system's message: NotFoundError
// (ENOENT, ENOTDIR), PermissionDeniedError (EACCES, EPERM, EROFS), ResourceExhaustedError (ENOSPC,
// EDQUOT, EMFILE, ENFILE, EFBIG), AlreadyExistsError (EEXIST, ENOTEMPTY), UnknownError for the
// rest. Thread-safe.
class CROCHET_EXPORT FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates an empty file, or truncates an existing one.
  virtual std::unique_ptr<WritableFile> create(const std::string& path) = 0;
  // The same for a file that will have about `expected_bytes` (0: unknown) and is not read soon:
  // room is reserved first, so that a full disk is detected before anything is written; small
  // appends are buffered; and writes may bypass the page cache. Readers see appended bytes after
  // sync() or close(). Throws: ResourceExhaustedError, with the bytes needed and free, if there is
  // no room; then no file is left.
  virtual std::unique_ptr<WritableFile> create_large(const std::string& path,
                                                     uint64_t expected_bytes);
  // Opens a file to write at its end; creates it if it is missing.
  virtual std::unique_ptr<WritableFile> append_to(const std::string& path) = 0;
  virtual std::unique_ptr<ReadableFile> open(const std::string& path) = 0;

  // Opens a directory to work in, even if its name later leads elsewhere; see Directory. This
  // default accesses the directory by path. Requires: the file system outlives the directory.
  virtual std::shared_ptr<Directory> open_directory(const std::string& path);

  // The path that still leads to the same file after the process has changed its working directory,
  // which is "/..." for a relative path of the operating system; "" for "". Called once for each
  // path that an object keeps, by its public constructor. The default, for files that do not depend
  // on the process, returns `path`.
  virtual std::string fixed_path(const std::string& path, const WorkingDirectory& start) const;
  std::string fixed_path(const std::string& path) const {
    return fixed_path(path, WorkingDirectory());
  }

  // True also for a symbolic link that leads to nothing.
  virtual bool exists(const std::string& path) = 0;
  virtual uint64_t file_size(const std::string& path) = 0;
  // The time of the last change of the file, in seconds since 1970-01-01 UTC.
  virtual double modified_time(const std::string& path) = 0;
  // Names (not paths) in a directory, sorted, without "." and "..".
  virtual std::vector<std::string> list(const std::string& directory) = 0;

  // Replaces `to` if it exists, in one atomic step; the file then has the mode and group that the
  // replaced one had.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // Gives a plain file one more name, in the same directory (a hard link): the file has its bytes
  // until its last name is removed. Both names are equal from then on. The new name survives a
  // power cut after sync_directory(). Throws: AlreadyExistsError if there is something at `to`;
  // UnimplementedError, which is the default, or another error where files cannot have several
  // names.
  virtual void link(const std::string& from, const std::string& to);
  // Creates a file with the bytes of another one, which neither reads nor writes them: the file
  // system shares them until one of the files changes (a reflink). Throws: UnimplementedError,
  // which is the default, if it cannot; AlreadyExistsError if there is something at `to`.
  virtual void clone(const std::string& from, const std::string& to);
  // Creates a symbolic link to `target`, which may be missing. The link survives a power cut after
  // sync_directory(). rename() and remove() affect the link, not the file that it leads to. Throws:
  // AlreadyExistsError if there is something at `path`; UnimplementedError, which is the default,
  // or another error where there are no such links.
  virtual void make_symbolic_link(const std::string& target, const std::string& path);
  // The target of a symbolic link, as it was created; unset for anything else, and if nothing
  // exists at `path`.
  virtual std::optional<std::string> read_symbolic_link(const std::string& path);
  virtual void remove(const std::string& path) = 0;
  // Shortens a file. Requires: size is at most the file's.
  virtual void truncate(const std::string& path, uint64_t size) = 0;
  // Returns once all bytes of a file, and its length, would survive a power cut, also those that
  // are still being appended through another object, as far as they were flushed before the call.
  // After an error nobody knows which bytes are on the disk, even if a later call succeeds.
  virtual void sync_file(const std::string& path);
  // Creates a directory and its missing parents; existing ones are accepted. The
  // new directories survive a power cut.
  virtual void create_directories(const std::string& path) = 0;
  // Returns once the names created, changed and removed in a directory would
  // survive a power cut.
  virtual void sync_directory(const std::string& path) = 0;

  // Locks a file (created if missing) exclusively; null if another holder has the lock,
  // in this process or any other. A lock ends with its process.
  virtual std::unique_ptr<FileLock> try_lock(const std::string& path) = 0;
  // Bytes that an unprivileged user can still write to the file system of `path`.
  virtual uint64_t free_bytes(const std::string& path) = 0;

  // The operating system's files. make_posix_file_system() has options.
  static FileSystem& posix();
  // `files`, or the operating system's if it is null: of options with a file system.
  static FileSystem& or_posix(FileSystem* files) { return files != nullptr ? *files : posix(); }
};

// False for a file, and if nothing exists at `path`.
CROCHET_EXPORT bool is_directory(FileSystem& files, const std::string& path);

// The whole of a file.
CROCHET_EXPORT std::string read_file(FileSystem& files, const std::string& path);

// Removes a file that is of no use, if it exists. An error is only logged.
CROCHET_EXPORT void remove_left_over(FileSystem& files, const std::string& path) noexcept;

// Calls FileSystem::try_lock() repeatedly until it succeeds or `limit` has passed by the real
// clock, since it waits for another process. Null if the lock is still held then.
CROCHET_EXPORT std::unique_ptr<FileLock> try_lock_for(FileSystem& files, const std::string& path,
                                                      Clock::Duration limit);

// Replaces a file so that a reader, even after a power cut, finds either the whole old
// content or the whole new one: temporary name, sync, rename, directory sync.
// The temporary file `<path>.tmp<32 hex>` is removed if something fails.
CROCHET_EXPORT void replace_file(FileSystem& files, const std::string& path,
                                 std::string_view content);

// Identifies a directory, whatever its name: equal if one directory is opened twice.
struct DirectoryIdentity {
  uint64_t device = 0;
  uint64_t number = 0;

  friend auto operator<=>(const DirectoryIdentity&, const DirectoryIdentity&) = default;
};

// An open directory: a FileSystem of its content. Paths are those of the file system that opened
// it, "runs/x/a" for the name "a" in "runs/x", but they are resolved from the open directory,
// wherever it has been moved meanwhile, and never through a symbolic link.
//
// A path outside it is an InvalidArgumentError. Thread-safe.
class CROCHET_EXPORT Directory : public FileSystem {
 public:
  // The path by which it was opened.
  virtual const std::string& path() const = 0;
  virtual DirectoryIdentity identity() const = 0;
  // Throws: FailedPreconditionError if path() no longer leads to it: it was renamed, removed or
  // replaced by another.
  virtual void check_in_place() = 0;
};

// Throws the error of Directory::check_in_place().
[[noreturn]] CROCHET_EXPORT void throw_not_in_place(const std::string& path);

// A directory that forwards every call to another file system, by path.
class CROCHET_EXPORT ForwardingDirectory : public Directory {
 public:
  // Requires: `files` outlives this.
  ForwardingDirectory(FileSystem& files, std::string path)
      : files_(files), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  std::unique_ptr<WritableFile> create(const std::string& path) override {
    return files_.create(translated(path));
  }
  std::unique_ptr<WritableFile> create_large(const std::string& path, uint64_t bytes) override {
    return files_.create_large(translated(path), bytes);
  }
  std::unique_ptr<WritableFile> append_to(const std::string& path) override {
    return files_.append_to(translated(path));
  }
  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    return files_.open(translated(path));
  }
  std::shared_ptr<Directory> open_directory(const std::string& path) override {
    return files_.open_directory(translated(path));
  }
  bool exists(const std::string& path) override { return files_.exists(translated(path)); }
  uint64_t file_size(const std::string& path) override {
    return files_.file_size(translated(path));
  }
  double modified_time(const std::string& path) override {
    return files_.modified_time(translated(path));
  }
  std::vector<std::string> list(const std::string& path) override {
    return files_.list(translated(path));
  }
  void rename(const std::string& from, const std::string& to) override {
    files_.rename(translated(from), translated(to));
  }
  void link(const std::string& from, const std::string& to) override {
    files_.link(translated(from), translated(to));
  }
  void clone(const std::string& from, const std::string& to) override {
    files_.clone(translated(from), translated(to));
  }
  void make_symbolic_link(const std::string& target, const std::string& path) override {
    files_.make_symbolic_link(target, translated(path));
  }
  std::optional<std::string> read_symbolic_link(const std::string& path) override {
    return files_.read_symbolic_link(translated(path));
  }
  void remove(const std::string& path) override { files_.remove(translated(path)); }
  void truncate(const std::string& path, uint64_t size) override {
    files_.truncate(translated(path), size);
  }
  void create_directories(const std::string& path) override {
    files_.create_directories(translated(path));
  }
  void sync_file(const std::string& path) override { files_.sync_file(translated(path)); }
  void sync_directory(const std::string& path) override { files_.sync_directory(translated(path)); }
  std::unique_ptr<FileLock> try_lock(const std::string& path) override {
    return files_.try_lock(translated(path));
  }
  uint64_t free_bytes(const std::string& path) override {
    return files_.free_bytes(translated(path));
  }

 protected:
  FileSystem& files() const { return files_; }
  // Translates a path of this directory into one of the other file system.
  // Throws: InvalidArgumentError if `path` is not in the directory.
  virtual std::string translated(const std::string& path);

 private:
  FileSystem& files_;  // Not owned; outlives this.
  const std::string path_;
};

}  // namespace crochet::inline v0
