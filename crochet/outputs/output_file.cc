// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <streambuf>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/outputs/internal/output_state.h"
#include "crochet/outputs/outputs.h"

namespace crochet::inline v0 {

// Passes everything on: the buffer is the writer's.
class OutputFile::Buffer final : public std::streambuf {
 public:
  explicit Buffer(internal::OutputState& state) : state_(state) {}

  void append(std::span<const std::byte> bytes) { state_.writer().append(bytes); }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    append(std::as_bytes(std::span(text, static_cast<size_t>(size))));
    return size;
  }
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof()))
      return traits_type::not_eof(character);
    const char text = traits_type::to_char_type(character);
    append(std::as_bytes(std::span(&text, 1)));
    return character;
  }
  int sync() override {
    state_.writer().flush();
    return 0;
  }

 private:
  internal::OutputState& state_;
};

OutputFile::OutputFile(std::string path, const OutputFileOptions& options)
    : std::ostream(nullptr),
      state_(std::make_shared<internal::OutputState>(
          internal::checked_output_path("OutputFile", path, FileSystem::or_posix(options.files)),
          options)),
      buffer_(std::make_unique<Buffer>(*state_)) {
  rdbuf(buffer_.get());
}

OutputFile::~OutputFile() {
  if (c_file_ != nullptr) std::fclose(c_file_);
  internal::try_or_log([this] { return "writing the rest of " + path(); },
                       [this] { state_->writer().finish(); });
}

OutputFile& OutputFile::write(std::span<const std::byte> bytes) {
  buffer_->append(bytes);
  return *this;
}

std::FILE* OutputFile::c_file() {
  if (c_file_ != nullptr) return c_file_;
  const auto write = [](void* buffer, const char* text, size_t size) -> ssize_t {
    try {
      static_cast<Buffer*>(buffer)->append(std::as_bytes(std::span(text, size)));
      return static_cast<ssize_t>(size);
    } catch (...) {  // The writer has noted it.
      errno = EIO;
      return 0;
    }
  };
  c_file_ = ::fopencookie(buffer_.get(), "w",
                          {.read = nullptr, .write = write, .seek = nullptr, .close = nullptr});
  if (c_file_ == nullptr)
    throw ResourceExhaustedError(fmt::format("{}: fopencookie failed: no memory", path()));
  std::setvbuf(c_file_, nullptr, _IONBF, 0);
  return c_file_;
}

const std::string& OutputFile::path() const { return state_->path(); }

void OutputFile::track(Tracker& tracker) { internal::RunOutput::track(state_, tracker); }

}  // namespace crochet::inline v0
