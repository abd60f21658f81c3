// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/output.h"

#include <errno.h>
#include <unistd.h>

#include <utility>

#include "crochet/io/internal/errno_error.h"

namespace crochet::tool {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

}  // namespace

DescriptorBuffer::DescriptorBuffer(int descriptor, std::string name)
    : descriptor_(descriptor), name_(std::move(name)) {}

void DescriptorBuffer::write_all() {
  const std::string bytes = std::exchange(pending_, {});  // Dropped after an error.
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count >= 0)
      done += static_cast<size_t>(count);
    else if (errno == EPIPE)
      throw OutputClosed();
    else if (errno != EINTR)
      internal::throw_errno(errno, name_, "write");
  }
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type character) {
  if (!traits_type::eq_int_type(character, traits_type::eof())) {
    const char c = traits_type::to_char_type(character);
    xsputn(&c, 1);
  }
  return traits_type::not_eof(character);
}

std::streamsize DescriptorBuffer::xsputn(const char* text, std::streamsize length) {
  pending_.append(text, static_cast<size_t>(length));
  if (pending_.size() >= kBufferBytes) write_all();
  return length;
}

int DescriptorBuffer::sync() {
  write_all();
  return 0;
}

}  // namespace crochet::tool
