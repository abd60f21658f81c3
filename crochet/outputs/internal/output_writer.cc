// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/output_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/outputs/internal/file_copy.h"
#include "crochet/outputs/internal/output_encoder.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;

constexpr const char* kMismatchAdvice =
    "OutputFileOptions::mismatch has ways to continue: kMissingOk continues after files that are "
    "missing, kStartAnew empties the output, kAdopt continues at the end of what is there";

uint32_t crc32c_of(const ReadableFile& file, uint64_t num_bytes) {
  return extend_by_file(0, file, 0, num_bytes);
}

}  // namespace

OutputWriter::OutputWriter(std::string path, const OutputFileOptions& options)
    : path_(std::move(path)), options_(options), files_(FileSystem::or_posix(options.files)) {}

OutputWriter::~OutputWriter() = default;

void OutputWriter::throw_if_failed() const {
  if (error_) std::rethrow_exception(error_);
}

template <typename Call>
void OutputWriter::noting_errors(const Call& call) {
  throw_if_failed();
  try {
    call();
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
}

void OutputWriter::refuse(const char* reason) {
  buffer_.clear();
  refusal_ = reason;
}

void OutputWriter::append(std::span<const std::byte> bytes) {
  noting_errors([&] {
    if (refusal_ != nullptr) throw FailedPreconditionError(fmt::format("{}: {}", path_, refusal_));
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (has_begun_ && buffer_.size() >= kBufferBytes) write_buffer();
  });
}

void OutputWriter::flush() {
  noting_errors([this] {
    if (!has_begun_ || encoder_) return;
    write_buffer();
    file_->flush();
  });
}

void OutputWriter::finish() {
  noting_errors([this] {
    if (!has_begun_) return;
    write_buffer();
    write({}, /*ends_member=*/true);
    file_->flush();
  });
}

void OutputWriter::begin_step() {
  noting_errors([this] {
    if (!has_begun_) return;
    if (rotates() && position_.files.back().num_bytes + buffer_.size() >= options_.rotate_bytes)
      rotate();
    is_in_step_ = true;
    step_begin_ = buffer_.size();
    step_cut_.reset();
  });
}

void OutputWriter::end_step() {
  throw_if_failed();
  is_in_step_ = false;
}

OutputPosition OutputWriter::position() {
  OutputPosition position;
  noting_errors([&] {
    position = position_;
    if (!has_begun_) return;
    put_in_place();
    if (!is_in_step_) {
      write(buffer_, /*ends_member=*/true);
      buffer_.clear();
    } else if (!step_cut_) {
      cut_before_step();
    }
    file_->flush();
    position = position_;
    if (is_in_step_) position.files.back() = *step_cut_;
  });
  return position;
}

void OutputWriter::put_in_place() {
  if (is_in_place_) return;
  check(/*is_own=*/true);
  start();
}

void OutputWriter::write_buffer() {
  put_in_place();
  if (is_in_step_ && !step_cut_) cut_before_step();
  write(buffer_, /*ends_member=*/false);
  buffer_.clear();
}

void OutputWriter::cut_before_step() {
  write(std::span(buffer_).first(step_begin_), /*ends_member=*/true);
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(step_begin_));
  step_begin_ = 0;
  step_cut_ = position_.files.back();
}

void OutputWriter::write(std::span<const std::byte> bytes, bool ends_member) {
  if (encoder_) {
    encoded_.clear();
    encoder_->add(bytes, encoded_);
    if (ends_member) encoder_->end_member(encoded_);
    bytes = encoded_;
  }
  if (bytes.empty()) return;
  file_->append(bytes);
  OutputPosition::File& last = position_.files.back();
  last.crc32c = extend_crc32c(last.crc32c, bytes);
  last.num_bytes += bytes.size();
}

void OutputWriter::rotate() {
  put_in_place();
  write(buffer_, /*ends_member=*/true);
  buffer_.clear();
  file_->close();
  file_ = files_.create(path_of(position_.files.size()));
  position_.files.emplace_back();
}

void OutputWriter::restore(OutputPosition position) {
  position_ = std::move(position);
  has_position_ = true;
  is_in_place_ = false;
  error_ = nullptr;
  if (!has_begun_) return;  // The buffer has the header.
  if (position_.files.empty()) position_.files.emplace_back();
  buffer_.clear();
  // A step continues, as after a rehearsal.
  step_begin_ = 0;
  step_cut_ = position_.files.back();
}

void OutputWriter::check(bool is_own) {
  if (!has_position_) {
    if (!is_own) check_new();
    return;
  }
  std::vector<OutputPosition::File>& files = position_.files;
  if (!rotates() && files.size() > 1)
    throw InvalidArgumentError(
        fmt::format("{}: found rotate_bytes = 0, expected another number, as the output has {} "
                    "files in the checkpoint",
                    path_, files.size()));
  for (size_t n = 0; n < files.size(); ++n) {
    const std::optional<OutputPosition::File> kept = compare(n, files[n], n + 1 == files.size());
    if (!kept) return files.clear();
    files[n] = *kept;
  }
}

void OutputWriter::check_new() {
  OutputPosition present;
  for (size_t n = 0; files_.exists(path_of(n)) && (n == 0 || rotates()); ++n) {
    const auto file = files_.open(path_of(n));
    present.files.push_back({file->size(), crc32c_of(*file, file->size())});
  }
  if (present.files.empty() || options_.mismatch == OutputMismatch::kStartAnew) return;
  if (options_.mismatch != OutputMismatch::kAdopt)
    throw AlreadyExistsError(
        fmt::format("{}: found a file of {} bytes, expected none, as no checkpoint of the run has "
                    "recorded it: move it away, or set a mismatch: {}",
                    path_of(0), present.files[0].num_bytes, kMismatchAdvice));
  position_ = std::move(present);
}

// Unset if the output begins again.
std::optional<OutputPosition::File> OutputWriter::compare(size_t n,
                                                          const OutputPosition::File& expected,
                                                          bool is_last) const {
  const OutputMismatch mismatch = options_.mismatch;
  const std::string path = path_of(n);
  if (!files_.exists(path)) {
    if (mismatch == OutputMismatch::kStartAnew) return std::nullopt;
    if (mismatch == OutputMismatch::kRefuse)
      throw NotFoundError(
          fmt::format("{}: found no file, expected one of {} bytes, as the checkpoint has "
                      "recorded: put it back; otherwise {}",
                      path, expected.num_bytes, kMismatchAdvice));
    return is_last ? OutputPosition::File{} : expected;
  }
  const auto file = files_.open(path);
  const uint64_t num_bytes = file->size();
  if (num_bytes >= expected.num_bytes && crc32c_of(*file, expected.num_bytes) == expected.crc32c)
    return expected;
  switch (mismatch) {
    case OutputMismatch::kStartAnew:
      return std::nullopt;
    case OutputMismatch::kAdopt:
      return OutputPosition::File{num_bytes, crc32c_of(*file, num_bytes)};
    case OutputMismatch::kRefuse:
    case OutputMismatch::kMissingOk:
      break;
  }
  throw DataLossError(
      num_bytes < expected.num_bytes
          ? fmt::format("{}: found {} bytes, expected at least the {} that the checkpoint has "
                        "recorded: put the longer file back; otherwise {}",
                        path, num_bytes, expected.num_bytes, kMismatchAdvice)
          : fmt::format("{}: found other bytes among the first {} than the checkpoint has "
                        "recorded (by their crc32c): put the unchanged file back; otherwise {}",
                        path, expected.num_bytes, kMismatchAdvice));
}

void OutputWriter::start() {
  noting_errors([this] {
    file_.reset();
    std::vector<OutputPosition::File>& kept = position_.files;
    // Also if it is the header of an output that continues.
    if (!has_begun_ && (kept.size() > 1 || (kept.size() == 1 && kept[0].num_bytes > 0)))
      buffer_.clear();
    files_.create_directories(directory_of(path_));
    remove_files_from(std::max<size_t>(kept.size(), 1));
    if (kept.empty()) kept.emplace_back();
    for (size_t n = 0; n < kept.size(); ++n) cut(n, kept[n].num_bytes);
    file_ = files_.append_to(path_of(kept.size() - 1));
    encoder_ = make_encoder(options_.compression);
    const std::lock_guard lock(sync_mutex_);
    // What a checkpoint has recorded is on the disk.
    first_unsynced_ = options_.mismatch == OutputMismatch::kAdopt ? 0 : kept.size() - 1;
    num_synced_names_ = 0;
    sync_error_ = nullptr;
  });
  has_begun_ = has_position_ = is_in_place_ = true;
}

void OutputWriter::remove_files_from(size_t n) const {
  if (!rotates()) return;
  size_t end = n;
  while (files_.exists(path_of(end))) ++end;
  // Backwards: if this is killed, the rest is found again.
  while (end > n) {
    --end;
    cut(end, 0);
    files_.remove(path_of(end));
  }
}

void OutputWriter::cut(size_t n, uint64_t num_bytes) const {
  const std::string path = path_of(n);
  if (!files_.exists(path) || files_.file_size(path) <= num_bytes) return;
  if (options_.keep_cut) keep_tail(path, num_bytes);
  files_.truncate(path, num_bytes);
}

void OutputWriter::keep_tail(const std::string& path, uint64_t begin) const {
  std::string kept;
  for (int64_t n = 1; kept.empty() || files_.exists(kept); ++n)
    kept = fmt::format("{}.cut-{}", path, n);
  copy_file(files_, path, kept, begin);
  files_.sync_directory(parent_directory(path));
}

void OutputWriter::sync(const OutputPosition& position) {
  const std::lock_guard lock(sync_mutex_);
  if (sync_error_) std::rethrow_exception(sync_error_);
  try {
    const size_t num_files = position.files.size();
    for (size_t n = first_unsynced_; n < num_files; ++n)
      // Files that are complete may have been moved to an archive.
      if (n + 1 == num_files || files_.exists(path_of(n))) files_.sync_file(path_of(n));
    if (num_files > num_synced_names_) files_.sync_directory(parent_directory(path_));
    first_unsynced_ = std::max(first_unsynced_, num_files == 0 ? 0 : num_files - 1);
    num_synced_names_ = std::max(num_synced_names_, num_files);
  } catch (...) {
    sync_error_ = std::current_exception();
    throw;
  }
}

}  // namespace crochet::inline v0::internal
