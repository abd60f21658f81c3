// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/clock.h"

namespace crochet {

// A new file that is being written from its start, or an old one that grows.
// The destructor closes without sync and never throws.
//
// Not thread-safe.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  // Appends all of `data`; a short write is finished or is an error.
  virtual void append(std::span<const std::byte> data) = 0;
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
  // Appends, and returns `crc` extended by the bytes, as extend_crc32c() does: a file that copies
  // them anyway computes it on the way.
  virtual uint32_t append_with_crc32c(uint32_t crc, std::span<const std::byte> data);
  // The same of bytes that neither change nor go until flush(), sync() or close() returns or this
  // is destroyed: some files write them from where they lie, if they and their place in the file
  // are aligned to the disk's blocks.
  virtual uint32_t append_held_with_crc32c(uint32_t crc, std::span<const std::byte> data) {
    return append_with_crc32c(crc, data);
  }
  // Returns once the operating system has everything appended: it would survive the end of this
  // process, but not a power cut. After an error the file is dead.
  virtual void flush() {}
  // Returns once everything appended, and the file's length, would survive a
  // power cut. The name does not: see FileSystem::sync_directory. After an
  // error the file is dead: write a new one.
  virtual void sync() = 0;
  // Closes; what follows is an error. Throws what the close reported.
  virtual void close() = 0;
};

// The bytes of a part of a file, from its start to its end; a file may read ahead for it.
//
// Not thread-safe.
class ReadStream {
 public:
  virtual ~ReadStream() = default;

  // Fills all of `destination` with what comes next. Requires: the part has as many bytes left.
  // Throws: DataLossError if the file ends before.
  virtual void read(std::span<std::byte> destination) = 0;
  // Reads, and returns `crc` extended by the bytes.
  virtual uint32_t read_with_crc32c(uint32_t crc, std::span<std::byte> destination);
  // Leaves out what comes next. Requires: as many bytes are left.
  virtual void skip(uint64_t num_bytes) = 0;
};

// Bytes of a file in this program's address space, read when they are touched. If the file is cut
// meanwhile, touching what is gone ends the program by SIGBUS.
class MappedBytes {
 public:
  virtual ~MappedBytes() = default;
  virtual std::span<const std::byte> bytes() const = 0;
};

// A file that is read at any place.
//
// Thread-safe.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  virtual uint64_t size() const = 0;
  // The bytes that the disk holds of it: less than size() if it has holes, which cost its author
  // nothing.
  virtual uint64_t stored_bytes() const { return size(); }
  // Fills all of `destination` from `offset` on.
  // Throws: DataLossError with offset, length and size if the file ends before.
  virtual void read_at(uint64_t offset, std::span<std::byte> destination) const = 0;
  // What stands in the file from `offset` on, to be read from start to end. Requires: the
  // file outlives it.
  virtual std::unique_ptr<ReadStream> stream(uint64_t offset, uint64_t num_bytes) const;
  // A part of the file without reading it; null where that cannot be done. It may outlive the file.
  // Throws: DataLossError if the file ends before.
  virtual std::unique_ptr<MappedBytes> map(uint64_t offset, uint64_t num_bytes) const;
};

// A lock on a file, held until destruction, also against other processes. A process that is forked
// does not hold it.
class FileLock {
 public:
  virtual ~FileLock() = default;

  // False in a forked process, and once the file has lost its name or another has it: then somebody
  // else may hold the lock of this name.
  virtual bool is_held() const { return true; }
  // Replaces what the file says, of who holds the lock for instance. Files without a content do
  // nothing.
  virtual void write(std::string_view) {}
};

class Directory;

// Files, as the library needs them: real ones, in memory, or failing on demand.
// Paths are as the operating system has them; nothing is a pattern. A directory
// may be "", as directory_of("file") says it, for the current one.
//
// Files are plain files. Where pipes, devices or symbolic links exist, none is written to or waited
// for: opening one to write is a FailedPreconditionError, as is a file with several names (hard
// links); opening one to read is a DataLossError. Only a path that is read may lead through links.
//
// Every function that fails throws an error that has the path and what the
// system said: NotFoundError (ENOENT, ENOTDIR), PermissionDeniedError (EACCES, EPERM, EROFS),
// ResourceExhaustedError (ENOSPC, EDQUOT, EMFILE, ENFILE, EFBIG), AlreadyExistsError (EEXIST,
// ENOTEMPTY), UnknownError for the rest. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Makes an empty file, or empties the one that is there.
  virtual std::unique_ptr<WritableFile> create(const std::string& path) = 0;
  // The same for a file that will have about so many bytes, or an unknown number (0), and is not
  // read soon: room for them is reserved first, so that a full disk is known before anything is
  // written; small pieces are gathered; and they may go past the page cache. Readers see what was
  // appended after sync() or close(). Throws: ResourceExhaustedError without that room, with the
  // bytes that are needed and free; then no file is left.
  virtual std::unique_ptr<WritableFile> create_large(const std::string& path,
                                                     uint64_t expected_bytes);
  // Opens a file to write behind its end; makes it if it is missing.
  virtual std::unique_ptr<WritableFile> append_to(const std::string& path) = 0;
  virtual std::unique_ptr<ReadableFile> open(const std::string& path) = 0;

  // Opens a directory to work in, whatever its name stands for later; see directory.h. This one
  // does by path what the directory is asked for. Requires: the file system outlives what is
  // opened.
  virtual std::shared_ptr<Directory> open_directory(const std::string& path);

  virtual bool exists(const std::string& path) = 0;
  virtual uint64_t file_size(const std::string& path) = 0;
  // Seconds since 1970-01-01 UTC at which the file was changed last.
  virtual double modified_time(const std::string& path) = 0;
  // Names (not paths) in a directory, sorted, without "." and "..".
  virtual std::vector<std::string> list(const std::string& directory) = 0;

  // Replaces `to` if it is there, in one atomic step.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& path) = 0;
  // Shortens a file. Requires: size is at most the file's.
  virtual void truncate(const std::string& path, uint64_t size) = 0;
  // Makes a directory and those above it; those that are there are fine. What
  // it made survives a power cut.
  virtual void create_directories(const std::string& path) = 0;
  // Returns once the names made, changed and removed in a directory would
  // survive a power cut.
  virtual void sync_directory(const std::string& path) = 0;

  // Locks a file (made if missing) for this holder alone; null if another holder has it,
  // in this process or any other. A lock dies with its process.
  virtual std::unique_ptr<FileLock> try_lock(const std::string& path) = 0;
  // Bytes that an unprivileged user may still write where `path` is.
  virtual uint64_t free_bytes(const std::string& path) = 0;

  // The operating system's files. make_posix_file_system() has options.
  static FileSystem& posix();
};

// False for a file and for what is not there.
bool is_directory(FileSystem& files, const std::string& path);

// The whole of a file.
std::string read_file(FileSystem& files, const std::string& path);

// The lock, as FileSystem::try_lock() gives it, tried again and again until `limit` is over by the
// machine's clock, as what is waited for is another process. Null if it is still held then.
std::unique_ptr<FileLock> try_lock_for(FileSystem& files, const std::string& path,
                                       Clock::Duration limit);

// Replaces a file so that a reader, also one after a power cut, finds the old
// content or the new one, whole: temporary name, sync, rename, directory sync.
// The temporary file `<path>.tmp<32 hex>` is removed if something fails.
void replace_file(FileSystem& files, const std::string& path, std::string_view content);

}  // namespace crochet
