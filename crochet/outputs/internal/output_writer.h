// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crochet/io/file_system.h"
#include "crochet/outputs/internal/output_position.h"
#include "crochet/outputs/outputs.h"

namespace crochet::inline v0::internal {

class OutputEncoder;

// Appends to the files of an output, and cuts them back.
//
// For one thread, but for sync().
class OutputWriter {
 public:
  OutputWriter(std::string path, const OutputFileOptions& options);
  ~OutputWriter();

  const std::string& path() const { return path_; }
  // Requires: the run has not begun.
  void set_path(std::string path) { path_ = std::move(path); }
  // This rank has nothing to write: from now on, append() throws a FailedPreconditionError with
  // this reason. What is in the buffer, a header, is dropped.
  void refuse(const char* reason);
  bool rotates() const { return options_.rotate_bytes != 0; }

  // Adds to the buffer, and writes it if it is full. Throws the file system's error, again in each
  // later call, until start().
  void append(std::span<const std::byte> bytes);
  // Writes the buffer, once the run has begun. Does nothing for a compressed output, of which each
  // flush would end a member. Throws: as append().
  void flush();
  // The same; a compressed output is then complete.
  void finish();

  // What is appended from now on belongs to a step, and is not part of position() until the end of
  // it: the step may fail, and be made again. Throw: as append().
  void begin_step();
  void end_step();
  // Of what was appended, except by a step that has not ended. Writes it, and ends a member of a
  // compressed output. Throws: as append().
  OutputPosition position();

  // From now on, the output is at `position`, as it was in this run or an earlier one. What is in
  // the buffer is dropped. Changes no file: that is for check() and start().
  void restore(OutputPosition position);

  // How the files agree with the position. `is_own`: what is there without a position was written
  // by this run, in an earlier life without a checkpoint. Changes nothing.
  // Throws: NotFoundError for a file that is missing, DataLossError for one that is shorter or has
  // other bytes, AlreadyExistsError for one that is there without a position; as the options state.
  void check(bool is_own);
  // Cuts the files, and opens the last one. Requires: check().
  void start();

  // True after restore(), if the run had begun.
  bool is_to_start() const { return has_begun_ && !is_in_place_; }

  // Returns once the bytes up to `position` would survive a power cut. Throws the file system's
  // error, again in each later call until start(): nobody knows what is on the disk. Thread-safe.
  void sync(const OutputPosition& position);

 private:
  std::string path_of(size_t n) const { return output_path(path_, rotates(), n); }
  void throw_if_failed() const;
  template <typename Call>
  void noting_errors(const Call& call);
  void put_in_place();
  void write_buffer();
  // Has the file a place at which it can be cut, if the step fails.
  void cut_before_step();
  void write(std::span<const std::byte> bytes, bool ends_member);
  void rotate();
  void check_new();
  std::optional<OutputPosition::File> compare(size_t n, const OutputPosition::File& expected,
                                              bool is_last) const;
  void remove_files_from(size_t n) const;
  void cut(size_t n, uint64_t num_bytes) const;
  void keep_tail(const std::string& path, uint64_t begin) const;

  std::string path_;
  const OutputFileOptions options_;
  FileSystem& files_;  // Not owned; outlives this.

  std::unique_ptr<OutputEncoder> encoder_;  // Null if nothing is compressed, and before start().
  std::vector<std::byte> encoded_;
  std::vector<std::byte> buffer_;
  OutputPosition position_;  // Of what was written: the buffer follows.
  bool is_in_step_ = false;
  size_t step_begin_ = 0;  // In the buffer, unless the step is cut.
  // Of the last file, once what precedes the present step is written. Only that file is written in
  // a step.
  std::optional<OutputPosition::File> step_cut_;
  bool has_position_ = false;  // Of a run that has begun, or by restore().
  bool has_begun_ = false;     // Files may be written.
  bool is_in_place_ = false;   // The files end where the buffer begins.
  std::unique_ptr<WritableFile> file_;
  std::exception_ptr error_;
  const char* refusal_ = nullptr;

  std::mutex sync_mutex_;  // Guards what follows.
  size_t first_unsynced_ = 0;
  size_t num_synced_names_ = 0;
  std::exception_ptr sync_error_;
};

}  // namespace crochet::inline v0::internal
