// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/part_reads.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/internal/checkpoint_contents.h"
#include "crochet/checkpoint/any_format/internal/checkpoint_pass.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/tensor/internal/convert.h"

namespace crochet::inline v0::internal {
namespace {

// As the type and shape that the program has.
class ValueInPass final : public PartValue {
 public:
  ValueInPass(const PartEntry& entry, const StoredTensor& stored, CheckpointPass& pass,
              size_t number, const PartReads::Fit& fit)
      : entry_(entry), stored_(stored), pass_(pass), number_(number), fit_(fit) {}

  Tensor read() override {
    if (!entry_.as) return pass_.read(number_);
    Tensor result(entry_.as->dtype, entry_.as->shape);
    read_into(result.writable_bytes());
    return result;
  }

  TensorMap fitted(const std::string& name, const Saveable& object, TensorMap state) override {
    return fit_(name, object, std::move(state));
  }

  void read_into(std::span<std::byte> destination) override {
    if (!entry_.as || entry_.as->dtype == stored_.dtype)
      return pass_.read_into(number_, destination);
    try {
      convert(pass_.read(number_), entry_.as->dtype, destination);
    } catch (const InvalidArgumentError& error) {
      throw InvalidArgumentError(fmt::format("\"{}\": {}", entry_.name, error.what()));
    }
  }

 private:
  const PartEntry& entry_;
  const StoredTensor& stored_;
  CheckpointPass& pass_;
  const size_t number_;
  const PartReads::Fit& fit_;
};

// Of a part without elements, which is not read.
class NoElements final : public PartValue {
 public:
  NoElements(const StoredParts::Part& part, const PartReads::Fit& fit) : part_(part), fit_(fit) {}

  Tensor read() override { return {part_.dtype, part_.shape}; }
  void read_into(std::span<std::byte>) override {}
  TensorMap fitted(const std::string& name, const Saveable& object, TensorMap state) override {
    return fit_(name, object, std::move(state));
  }

 private:
  const StoredParts::Part& part_;
  const PartReads::Fit& fit_;
};

// What an object gets of an entry, before it is reshaped and converted.
StoredParts::Part part_of(const StoredTensor& stored, const PartEntry& entry) {
  if (!entry.slice) return {stored.dtype, stored.shape};
  std::vector<int64_t> sizes;
  for (const SliceExtent& extent : *entry.slice) sizes.push_back(extent.length);
  return {stored.dtype, Shape(sizes)};
}

const StoredTensor& stored_as(const CheckpointReader& reader, const PartEntry& entry) {
  return CheckpointContents::of(reader).item(entry.name).second;
}

bool is_empty(const PartEntry& entry) {
  return entry.slice && std::ranges::any_of(*entry.slice, [](const SliceExtent& extent) {
           return extent.length == 0;
         });
}

void take_nothing(const CheckpointReader& reader, const PartEntry& entry, const PartReads::Fit& fit,
                  const PartValues::Take& take) {
  const StoredParts::Part part = entry.as.value_or(part_of(stored_as(reader, entry), entry));
  NoElements value(part, fit);
  take(value);
}

}  // namespace

class PartReads::Values final : public PartValues {
 public:
  Values(const std::string& object, PartReads& reads, const std::vector<PartEntry>& entries)
      : object_(object), reads_(reads) {
    StoredParts::Map parts;
    for (const PartEntry& entry : entries) {
      const StoredTensor& stored = stored_as(reads.reader_, entry);
      entries_.emplace(entry.key, &entry);
      parts.emplace(entry.key, entry.as.value_or(part_of(stored, entry)));
    }
    parts_ = StoredParts(std::move(parts));
  }

  const StoredParts& parts() const override { return parts_; }
  std::string checkpoint() const override { return reads_.reader_.prefix(); }

  void read_later(const std::string& key, Take take) override {
    reads_.parts_.push_back({&object_, entries_.at(key), std::move(take)});
  }

  void read_now(const std::string& key, const Take& take) override {
    const PartEntry& entry = *entries_.at(key);
    if (is_empty(entry)) return take_nothing(reads_.reader_, entry, reads_.fit_, take);
    CheckpointPass pass(reads_.reader_, {{entry.name, entry.slice}});
    ValueInPass value(entry, stored_as(reads_.reader_, entry), pass, 0, reads_.fit_);
    take(value);
  }

  void record_entries(const std::string& key, const EntryChanges& changes) override {
    reads_.record_entries_(full_name(object_, key), changes);
  }

 private:
  const std::string& object_;
  PartReads& reads_;
  std::map<std::string, const PartEntry*> entries_;
  StoredParts parts_;
};

template <typename Take>
void PartReads::take(const Part& part, const Take& take) const {
  try {
    take();
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError(cannot_be_restored(reader_.prefix(), *part.object, error));
  }
}

void PartReads::begin(const std::string& name, PartedSaveable& object, const StoredParts& stored,
                      const std::vector<PartEntry>& entries) {
  Values values(name, *this, entries);
  try {
    object.restore_parts(stored, values);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError(cannot_be_restored(reader_.prefix(), name, error));
  }
}

void PartReads::finish() {
  std::vector<Part> parts = std::exchange(parts_, {});
  std::erase_if(parts, [&](const Part& part) {
    if (!is_empty(*part.entry)) return false;
    take(part, [&] { take_nothing(reader_, *part.entry, fit_, part.take); });
    return true;
  });
  if (parts.empty()) return;
  std::vector<TensorRequest> requests;
  requests.reserve(parts.size());
  for (const Part& part : parts) requests.push_back({part.entry->name, part.entry->slice});
  CheckpointPass pass(reader_, requests);
  for (const size_t number : pass.order()) {
    throw_if_signalled("restoring");
    const Part& part = parts[number];
    ValueInPass value(*part.entry, stored_as(reader_, *part.entry), pass, number, fit_);
    take(part, [&] { part.take(value); });
  }
}

std::string cannot_be_restored(const std::string& prefix, const std::string& object,
                               const InvalidArgumentError& error) {
  return fmt::format("checkpoint {}: \"{}\" cannot be restored: {}", prefix, object, error.what());
}

}  // namespace crochet::inline v0::internal
