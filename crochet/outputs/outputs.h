// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

class Tracker;

namespace internal {
class FileState;
class OutputState;
}  // namespace internal

// What happens when a run begins and a file of an output is not as the checkpoint has recorded it,
// or exists though no checkpoint has recorded anything.
enum class OutputMismatch {
  // The run does not begin, and nothing is changed.
  kRefuse,
  // Files may be missing, as if they had been moved to an archive: the output continues after them.
  // Anything else is refused.
  kMissingOk,
  // The output begins again: its files are emptied, or removed.
  kStartAnew,
  // The output continues at the end of what is there.
  kAdopt,
};

enum class OutputCompression {
  kNone,
  // gzip. Each save ends a member, so that a file can be cut there; gzip, zcat and Python's gzip
  // read all members as one stream. flush() writes nothing.
  kGzip,
};

struct OutputFileOptions {
  OutputMismatch mismatch = OutputMismatch::kRefuse;
  // Keeps what is cut off a file, beside it as "<file>.cut-<n>", the first n from 1 on that is
  // free.
  bool keep_cut = false;
  // The size, in bytes, from which on the output continues in another file, at the end of a step:
  // then the files of "rows.csv" are "rows.000000.csv", "rows.000001.csv" and so on. 0: one file.
  uint64_t rotate_bytes = 0;
  OutputCompression compression = OutputCompression::kNone;
  // The file system; null: the operating system's. Must outlive the output.
  FileSystem* files = nullptr;
};

// A file to which a run appends, and which always agrees with the state of the run:
//
//   OutputFile rows("runs/line/rows.csv");
//   rows << "step,loss\n";
//   loop.track("rows", rows);
//   loop.run([&](Step& step) { rows << step.number() << ',' << train() << '\n'; });
//
// A checkpoint records the length of the output between two steps, with a checksum, once the bytes
// before it would survive a power cut. A run that resumes from it cuts off what was appended later,
// after it has compared the checksums of all its outputs. So each row is there once, however often
// the run was killed.
//
// What is written before the run begins is the header of a new file; a run that resumes drops it.
// After the run, what is written is appended, and is in no checkpoint.
//
// The path is that of the file, not of a link to it. The output has a buffer: other programs see
// what was written after flush() (or std::endl), and after each save.
//
// Errors: write(bytes) throws that of the file system. The stream and the FILE only note it, as
// they do everywhere, and the run then ends with it at the end of the step.
//
// For one thread, that of the run. Must outlive the loop, and is not tracked in a container.
class CROCHET_EXPORT OutputFile : public std::ostream {
 public:
  // Opens nothing. Throws: InvalidArgumentError for a path that is empty or ends with a '/'.
  explicit OutputFile(std::string path, const OutputFileOptions& options = {});
  // Writes what is in the buffer; an error is logged.
  ~OutputFile() override;

  using std::ostream::write;
  // Appends all of `bytes`.
  OutputFile& write(std::span<const std::byte> bytes);
  // The same output for functions of C. Unbuffered, as this has a buffer. Closed by this.
  std::FILE* c_file();

  // Absolute, without the number of a file.
  const std::string& path() const;

  void track(Tracker& tracker);

 private:
  class Buffer;

  const std::shared_ptr<internal::OutputState> state_;
  const std::unique_ptr<Buffer> buffer_;
  std::FILE* c_file_ = nullptr;
};

struct TrackedFileOptions {
  // Called between two steps, before a save: puts all that the program has written into the file,
  // such as H5Fflush() or "PRAGMA wal_checkpoint(TRUNCATE)".
  std::function<void()> flush = {};
  // Called once the file is as the state says: when a run begins, and after a recovery within it.
  // The place to open it, as what is opened before may be another file.
  std::function<void()> open = {};
  // Called before a recovery replaces the file that was opened.
  std::function<void()> close = {};
  // Continues with the file that is there if a run begins without a checkpoint, or if the
  // checkpoint's copy is missing or damaged. Otherwise that is an error.
  bool adopt = false;
  // The file system; null: the operating system's. Must outlive this.
  FileSystem* files = nullptr;
};

// A file that a program, or a library that it uses, changes in place, such as one of HDF5, a SQLite
// database or a mesh:
//
//   TrackedFile results("runs/line/results.db", {.flush = [&] { ... }, .open = [&] { ... }});
//   loop.track("results", results);
//
// Each checkpoint has a copy of it, "<prefix>.file-<name>", which is put back at a restore, and
// removed with the checkpoint. Where the file system can, the copy shares the bytes of the file
// until either changes (a reflink: XFS, Btrfs), and costs nothing; elsewhere the saver's thread
// copies it, and the next step waits for that. A file that is missing is recorded, and restored, as
// missing. What SQLite leaves beside a database ("-journal", "-wal", "-shm") is removed when it is
// put back.
//
// For a file that is only appended to, see OutputFile. In a group as there: the chief's, or with
// per_rank() one of each rank, which must have paths of their own.
//
// Must outlive the loop, and is not tracked in a container.
class CROCHET_EXPORT TrackedFile {
 public:
  // Opens nothing. Throws: InvalidArgumentError for a path that is empty or ends with a '/'.
  explicit TrackedFile(std::string path, TrackedFileOptions options = {});
  ~TrackedFile();

  // Absolute.
  const std::string& path() const;

  void track(Tracker& tracker);

 private:
  std::shared_ptr<internal::FileState> state_;
};

}  // namespace crochet::inline v0
