// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/c.h"
#include "crochet/c/internal/error_codes.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/journal/internal/read_journal.h"

struct crochet_checkpoint {
  explicit crochet_checkpoint(const std::string& prefix) : reader(prefix) {
    for (const auto& [name, info] : reader.tensors()) names.push_back(name);
  }

  crochet::CheckpointReader reader;
  std::vector<std::string> names;
};

namespace {

using crochet::internal::check_given;
using crochet::internal::code_of;

const crochet::TensorInfo& info_of(const crochet_checkpoint& checkpoint, const char* name) {
  const auto& tensors = checkpoint.reader.tensors();
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    static_cast<void>(checkpoint.reader.read(name));  // Its error has names that are like it.
    throw crochet::NotFoundError(name);
  }
  return found->second;
}

}  // namespace

int crochet_checkpoint_open(const char* path, int64_t step, crochet_checkpoint** checkpoint) {
  return code_of([&] {
    check_given(path, "path");
    check_given(checkpoint, "checkpoint");
    *checkpoint = new crochet_checkpoint(crochet::internal::chosen_checkpoint(
        crochet::FileSystem::posix(), path,
        step < 0 ? crochet::CheckpointChoice::newest() : crochet::CheckpointChoice::at_step(step)));
  });
}

void crochet_checkpoint_close(crochet_checkpoint* checkpoint) { delete checkpoint; }

const char* crochet_checkpoint_prefix(const crochet_checkpoint* checkpoint) {
  return checkpoint == nullptr ? "" : checkpoint->reader.prefix().c_str();
}

size_t crochet_checkpoint_num_values(const crochet_checkpoint* checkpoint) {
  return checkpoint == nullptr ? 0 : checkpoint->names.size();
}

const char* crochet_checkpoint_name(const crochet_checkpoint* checkpoint, size_t index) {
  return index < crochet_checkpoint_num_values(checkpoint) ? checkpoint->names[index].c_str()
                                                           : nullptr;
}

int crochet_checkpoint_describe(const crochet_checkpoint* checkpoint, const char* name, int* dtype,
                                int* rank, int64_t* sizes) {
  return code_of([&] {
    check_given(checkpoint, "checkpoint");
    check_given(name, "name");
    const crochet::TensorInfo& info = info_of(*checkpoint, name);
    if (info.shape.rank() > CROCHET_MAX_RANK)
      throw crochet::UnimplementedError(fmt::format("\"{}\": found {} dimensions, at most {}", name,
                                                    info.shape.rank(), CROCHET_MAX_RANK));
    if (dtype != nullptr) *dtype = static_cast<int>(info.dtype);
    if (rank != nullptr) *rank = info.shape.rank();
    if (sizes != nullptr) std::ranges::copy(info.shape.dimensions(), sizes);
  });
}

int crochet_checkpoint_read(const crochet_checkpoint* checkpoint, const char* name, void* elements,
                            size_t num_bytes) {
  return code_of([&] {
    check_given(checkpoint, "checkpoint");
    check_given(name, "name");
    if (num_bytes > 0) check_given(elements, "elements");
    checkpoint->reader.read_into(name, {static_cast<std::byte*>(elements), num_bytes});
  });
}

int crochet_checkpoint_read_text(const crochet_checkpoint* checkpoint, const char* name,
                                 int64_t index, char* text, size_t size, size_t* num_bytes) {
  return code_of([&] {
    check_given(checkpoint, "checkpoint");
    check_given(name, "name");
    if (size > 0) check_given(text, "text");
    const crochet::Tensor value = checkpoint->reader.read(name);
    const std::span<const std::string> strings = value.strings();
    if (index < 0 || static_cast<size_t>(index) >= strings.size())
      throw crochet::InvalidArgumentError(
          fmt::format("\"{}\": found index {}, of {} strings", name, index, strings.size()));
    const std::string& found = strings[static_cast<size_t>(index)];
    if (num_bytes != nullptr) *num_bytes = found.size();
    if (found.size() >= size)
      throw crochet::OutOfRangeError(fmt::format("\"{}\": found room for {} bytes, expected {}",
                                                 name, size, found.size() + 1));
    std::memcpy(text, found.c_str(), found.size() + 1);
  });
}

int crochet_checkpoint_verify(const crochet_checkpoint* checkpoint) {
  return code_of([&] {
    check_given(checkpoint, "checkpoint");
    checkpoint->reader.verify();
  });
}

int crochet_journal_read(const char* directory, crochet_journal_callback each, void* context) {
  return code_of([&] {
    check_given(directory, "directory");
    check_given(reinterpret_cast<const void*>(each), "each");
    for (const auto& entry :
         crochet::internal::read_journal(crochet::FileSystem::posix(), directory).entries)
      if (each(context, entry.stamp.life, entry.stamp.step, entry.stamp.time,
               entry.event.c_str()) != 0)
        return;
  });
}
