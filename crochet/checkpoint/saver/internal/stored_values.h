// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/checksum128.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// How many checkpoints in a row share a data file: then one is written whole, so that neither a
// damaged sector nor a value that was wrongly taken as unchanged reaches more of them. Less than
// the five that are kept by default, so that those do not depend on a single file.
inline constexpr int kMaxSharing = 4;

// What a save need not write, because the checkpoint before it has it.
struct UnchangedValues {
  // By the names of a snapshot; `file` is an index into `files`.
  std::map<std::string, StoredPlace, std::less<>> places = {};
  // The data files of that checkpoint that contain them.
  std::vector<std::string> files = {};
  uint64_t num_bytes = 0;  // Of these values.

  std::optional<StoredPlace> place_of(std::string_view name) const {
    const auto found = places.find(name);
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }
};

// The large values in the last checkpoint that this process wrote to a directory, and in which of
// its files they are, so that the next checkpoint shares the bytes of those that did not change.
//
// A value did not change if it has the same version (Snapshot::version_of()), or the same 128-bit
// checksum. To read all of a value for that costs time, so this is only done if a sample of it is
// the same as before: of a model of which everything is trained, nothing but samples is read. A
// value without a version, such as a new copy each time, is therefore shared from the third
// checkpoint on.
//
// A version is a promise by the writers of the value. It is not believed if the snapshot is not
// trusted, for a checkpoint that is written whole, and once a promise was found broken: then the
// snapshot is not saved either, and later ones do not rely on promises of those writers.
//
// At most kMaxSharing checkpoints in a row share a file. The first one of a process is whole, and
// so is the first one after forget(): nothing needs to be remembered on disk for that.
//
// A file is shared as long as at least half of it is needed: a checkpoint never takes more room
// than twice its values.
//
// Not thread-safe.
class StoredValues {
 public:
  // Compares the snapshot with the last checkpoint, if that is in the same directory and its files
  // are as they were written. Throws: the error that stopped a copy; UnannouncedWriteError if a
  // value changed although its version did not: the snapshot may mix several steps.
  UnchangedValues find_unchanged(FileSystem& files, const std::string& directory,
                                 const Snapshot& snapshot);
  // The snapshot passed last is now a durable checkpoint, written by this writer, to which its
  // tensors were added in their order. If the files cannot be examined, the next checkpoint shares
  // nothing.
  void replace(FileSystem& files, const std::string& prefix, const CheckpointWriter& writer,
               const Snapshot& snapshot) noexcept;
  // The same for a durable part of the checkpoint `prefix`, of which several ranks write the parts:
  // once they are merged, its data files have other names, which the index of that checkpoint has.
  // `key_of` returns the key of a tensor there, by the tensor's name.
  using KeyOf = std::function<std::string(std::string_view name)>;
  void replace_part(const std::string& prefix, const CheckpointWriter& writer,
                    const Snapshot& snapshot, const KeyOf& key_of) noexcept;
  // The files could not be linked. If none ever was, no later checkpoint shares anything.
  void record_refused_links();
  // The next checkpoint shares nothing, as after a restore.
  void forget();

 private:
  struct Value {
    uint64_t version = 0;
    uint64_t sample = 0;
    std::optional<Checksum128> checksum = {};  // If it was needed.
    bool is_unchanged = false;
    StoredPlace place = {};
    std::string key = {};  // In the index of the checkpoint merged_.
  };
  using Values = std::map<std::string, Value, std::less<>>;
  struct DataFile {
    std::string path;
    uint64_t size = 0;
    double modified_time = 0;

    friend bool operator==(const DataFile&, const DataFile&) = default;
  };

  // The values of the snapshot passed last, where the writer has stored them.
  void place_captured(const CheckpointWriter& writer, const Snapshot& snapshot);
  // Finds the data files of a part in the checkpoint that was made of it, and forgets the values
  // that are not there. Throws: the error of an index that cannot be read.
  void find_merged(FileSystem& files);
  static DataFile examine(FileSystem& files, const std::string& path);
  // The values of the snapshot, without places, are captured_. Returns the names of those that are
  // unchanged.
  std::vector<std::string> compare(const Snapshot& snapshot, bool believes_versions);
  // The value of the snapshot, without a place. `known`: in the last checkpoint, or null.
  static Value value_of(const NamedTensor& named, const Snapshot& snapshot, const Value* known,
                        bool believes_versions);
  // The value has the same version as before, but other elements. Throws: as find_unchanged().
  [[noreturn]] void report_broken_promise(const NamedTensor& value, const Snapshot& snapshot);
  // Shares the files of which enough is unchanged.
  UnchangedValues shared(FileSystem& files, const std::vector<std::string>& unchanged) const;
  bool is_as_written(FileSystem& files, const DataFile& file) const;

  bool may_link_ = true;
  bool has_linked_ = false;
  bool believes_versions_ = true;
  int num_sharing_ = 0;  // Checkpoints that may share a file of the last one, which is included.
  std::string directory_;
  std::string merged_;  // The prefix of the checkpoint in which files_ are not found yet, if any.
  std::vector<DataFile> files_;
  Values values_;
  Values captured_;  // Of the snapshot passed last.
};

}  // namespace crochet::inline v0::internal
