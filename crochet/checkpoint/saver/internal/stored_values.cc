// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/stored_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/bundle/internal/bundle_index.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

// Smaller values are written again: to compare them would cost as much.
constexpr size_t kMinValueBytes = size_t{64} << 10;
// A checkpoint never links more files: those with the most unchanged bytes.
constexpr size_t kMaxFiles = 16;
// A sample consists of this many pieces, evenly spread.
constexpr size_t kPieces = 16;
constexpr size_t kPieceBytes = 64;

bool is_large(const Tensor& tensor) {
  return tensor.dtype() != DType::kString && tensor.num_bytes() >= kMinValueBytes;
}

void read_bytes(const Tensor& tensor, const ReadBytes& read, size_t begin,
                std::span<std::byte> into) {
  if (read) return read(begin, into);
  std::memcpy(into.data(), tensor.bytes().data() + begin, into.size());
}

uint64_t sample_of(const Tensor& tensor, const ReadBytes& read) {
  std::array<std::byte, kPieces * kPieceBytes> bytes;
  const size_t last = tensor.num_bytes() - kPieceBytes;
  for (size_t piece = 0; piece < kPieces; ++piece)
    read_bytes(tensor, read, last * piece / (kPieces - 1),
               std::span(bytes).subspan(piece * kPieceBytes, kPieceBytes));
  return checksum128(bytes).low;
}

Checksum128 checksum_of(const Tensor& tensor, const ReadBytes& read) {
  return read ? checksum128(tensor.num_bytes(), read) : checksum128(tensor.bytes());
}

template <typename Value>
bool is_same_version(const Value& value, const Value* known) {
  return known != nullptr && value.version != 0 && value.version == known->version;
}

template <typename Value>
bool are_different(const Value& value, const Value& known) {
  return value.sample != known.sample ||
         (value.checksum && known.checksum && value.checksum != known.checksum);
}

}  // namespace

StoredValues::Value StoredValues::value_of(const NamedTensor& named, const Snapshot& snapshot,
                                           const Value* known, bool believes_versions) {
  const Tensor& tensor = named.tensor;
  Value value{.version = snapshot.version_of(tensor)};
  const bool is_promised = believes_versions && is_same_version(value, known);
  if (is_promised && value.version == tensor.version()) {
    value.sample = known->sample;
    value.checksum = known->checksum;
    value.is_unchanged = true;
    return value;
  }
  const ReadBytes read = snapshot.pending(tensor);
  value.sample = sample_of(tensor, read);
  const bool is_same_sample = known != nullptr && value.sample == known->sample;
  if (is_promised && is_same_sample) {
    value.checksum = known->checksum;
    value.is_unchanged = true;
  } else if (is_same_sample || !snapshot.is_trusted()) {
    value.checksum = checksum_of(tensor, read);
    value.is_unchanged = is_same_sample && value.checksum == known->checksum;
  }
  return value;
}

void StoredValues::report_broken_promise(const NamedTensor& value, const Snapshot& snapshot) {
  std::string text = fmt::format(
      "\"{}\" was written to, but the write was not announced (see WriteBarrier): this snapshot "
      "may "
      "mix several steps",
      value.name);
  if (snapshot.is_trusted()) {
    if (num_sharing_ > 1)
      text += fmt::format(", and the {} checkpoints before it may have an older value",
                          num_sharing_ - 1);
    text += "; from now on, values are copied between the steps, and compared";
  }
  believes_versions_ = false;
  snapshot.record_unannounced_write(value.tensor);
  throw UnannouncedWriteError(text);
}

std::vector<std::string> StoredValues::compare(const Snapshot& snapshot, bool believes_versions) {
  std::vector<std::string> unchanged;
  captured_.clear();
  for (const NamedTensor& named : snapshot.readable()) {
    if (!is_large(named.tensor)) continue;
    const auto found = values_.find(named.name);
    const Value* const known = found == values_.end() ? nullptr : &found->second;
    const Value value = value_of(named, snapshot, known, believes_versions);
    if (value.is_unchanged)
      unchanged.push_back(named.name);
    else if (is_same_version(value, known) && are_different(value, *known) &&
             (believes_versions_ || !snapshot.is_trusted()))
      report_broken_promise(named, snapshot);
    captured_.emplace(named.name, value);
  }
  return unchanged;
}

UnchangedValues StoredValues::find_unchanged(FileSystem& files, const std::string& directory,
                                             const Snapshot& snapshot) {
  captured_.clear();
  if (!may_link_) return {};
  if (directory != directory_) forget();
  directory_ = directory;
  const bool is_whole = num_sharing_ == kMaxSharing;
  std::vector<std::string> unchanged =
      compare(snapshot, believes_versions_ && snapshot.is_trusted() && !is_whole);
  if (is_whole) unchanged.clear();
  UnchangedValues result;
  if (!unchanged.empty()) {
    try {
      find_merged(files);
    } catch (const Error& error) {  // Another rank may not have written its part.
      log_warning(fmt::format("nothing of {} is shared: {}", merged_, error.what()));
      forget();
    }
    std::erase_if(unchanged, [this](const std::string& name) { return !values_.contains(name); });
    result = shared(files, unchanged);
  }
  num_sharing_ = result.files.empty() ? 1 : num_sharing_ + 1;
  return result;
}

void StoredValues::find_merged(FileSystem& files) {
  if (merged_.empty()) return;
  const BundleIndex index = read_bundle_index(files, index_filename(merged_));
  std::map<size_t, int> shards;  // By the number of the file.
  std::erase_if(values_, [&](const Values::value_type& named) {
    const StoredPlace& place = named.second.place;
    const auto found = index.entries.find(named.second.key);
    if (found == index.entries.end()) return true;
    const StoredTensor& entry = found->second;
    const bool is_here = entry.offset == place.offset && entry.size == place.size &&
                         entry.masked_crc32c == place.masked_crc32c;
    return !is_here || shards.emplace(place.file, entry.shard).first->second != entry.shard;
  });
  for (const auto& [file, shard] : shards)
    files_.at(file) = examine(files, data_filename(merged_, shard, index.header.num_shards));
  merged_.clear();
}

UnchangedValues StoredValues::shared(FileSystem& files,
                                     const std::vector<std::string>& unchanged) const {
  UnchangedValues result;
  std::vector<uint64_t> needed(files_.size());
  const auto place_in = [this](const std::string& name) {
    return values_.find(name)->second.place;
  };
  for (const std::string& name : unchanged) {
    const StoredPlace place = place_in(name);
    needed[place.file] += static_cast<uint64_t>(place.size);
  }
  std::vector<size_t> by_need(files_.size());
  std::iota(by_need.begin(), by_need.end(), size_t{0});
  std::ranges::stable_sort(by_need, std::greater(), [&](size_t file) { return needed[file]; });
  std::map<size_t, size_t> numbers;  // In the result.
  for (const size_t file : by_need) {
    if (numbers.size() == kMaxFiles || needed[file] == 0 || needed[file] < files_[file].size / 2 ||
        !is_as_written(files, files_[file]))
      continue;
    numbers.emplace(file, numbers.size());
    result.files.push_back(files_[file].path);
  }
  for (const std::string& name : unchanged) {
    StoredPlace place = place_in(name);
    const auto number = numbers.find(place.file);
    if (number == numbers.end()) continue;
    place.file = number->second;
    result.num_bytes += static_cast<uint64_t>(place.size);
    result.places.emplace(name, place);
  }
  return result;
}

StoredValues::DataFile StoredValues::examine(FileSystem& files, const std::string& path) {
  return {.path = path, .size = files.file_size(path), .modified_time = files.modified_time(path)};
}

// Another process may have removed the checkpoint or replaced it.
bool StoredValues::is_as_written(FileSystem& files, const DataFile& file) const {
  try {
    return examine(files, file.path) == file;
  } catch (const Error& error) {
    log_warning(fmt::format("nothing of {} is shared: {}", file.path, error.what()));
    return false;
  }
}

void StoredValues::replace(FileSystem& files, const std::string& prefix,
                           const CheckpointWriter& writer, const Snapshot& snapshot) noexcept {
  try {
    if (writer.linked_bytes() > 0) has_linked_ = true;
    const int num_files = writer.num_files();
    std::vector<DataFile> present;
    for (int file = 0; file < num_files; ++file)
      present.push_back(examine(files, data_filename(prefix, file, num_files)));
    place_captured(writer, snapshot);
    files_ = std::move(present);
    merged_.clear();
  } catch (const std::exception& error) {
    log_lazily(Severity::kWarning, [&] {
      return fmt::format("the next checkpoint shares no bytes with {}: {}", prefix, error.what());
    });
    forget();
  }
}

void StoredValues::replace_part(const std::string& prefix, const CheckpointWriter& writer,
                                const Snapshot& snapshot, const KeyOf& key_of) noexcept {
  try {
    if (writer.linked_bytes() > 0) has_linked_ = true;
    place_captured(writer, snapshot);
    for (auto& [name, value] : values_) value.key = key_of(name);
    files_.assign(static_cast<size_t>(writer.num_files()), {});
    merged_ = prefix;
  } catch (const std::exception& error) {
    log_lazily(Severity::kWarning, [&] {
      return fmt::format("the next checkpoint shares no bytes with {}: {}", prefix, error.what());
    });
    forget();
  }
}

void StoredValues::place_captured(const CheckpointWriter& writer, const Snapshot& snapshot) {
  const std::vector<StoredPlace> places = writer.places();
  size_t index = 0;
  for (const auto& [name, tensor] : snapshot.readable()) {
    const StoredPlace& place = places.at(index++);
    if (const auto value = captured_.find(name); value != captured_.end())
      value->second.place = place;
  }
  values_ = std::exchange(captured_, {});
}

void StoredValues::record_refused_links() {
  may_link_ = has_linked_;
  forget();
}

void StoredValues::forget() {
  num_sharing_ = 0;
  merged_.clear();
  files_.clear();
  values_.clear();
}

}  // namespace crochet::inline v0::internal
