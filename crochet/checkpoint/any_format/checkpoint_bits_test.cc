// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/attack_count.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/restored_from.h"

namespace crochet {
namespace {

// A whole checkpoint of 64 KiB, damaged in every way: each bit of each file flipped, each
// file cut to each length, data files swapped, missing or of another save. Each is reported, or
// every restored value is bit-equal; nothing crashes; and no size in the files is trusted: no
// allocation is larger than twice the files.

// Files whose bytes a test can change in place.
class DamagedFiles final : public MemoryFileSystem {
 public:
  // Requires: the path stays the file's.
  std::string& bytes(const std::string& path) {
    const auto found = bytes_.find(path);
    return found != bytes_.end() ? found->second
                                 : bytes_.emplace(path, read_file(*this, path)).first->second;
  }
  // Its content before bytes() was called.
  void heal(const std::string& path) { bytes_.erase(path); }

  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    const auto found = bytes_.find(path);
    if (found == bytes_.end()) return MemoryFileSystem::open(path);
    return std::make_unique<File>(found->second, path);
  }
  uint64_t file_size(const std::string& path) override {
    const auto found = bytes_.find(path);
    return found != bytes_.end() ? found->second.size() : MemoryFileSystem::file_size(path);
  }

 private:
  class File final : public ReadableFile {
   public:
    File(const std::string& bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {}
    uint64_t size() const override { return bytes_.size(); }
    void read_at(uint64_t offset, std::span<std::byte> destination) const override {
      if (offset > bytes_.size() || destination.size() > bytes_.size() - offset)
        throw DataLossError(fmt::format("{}: ends at {}", path_, bytes_.size()));
      std::copy_n(std::as_bytes(std::span(bytes_)).begin() + static_cast<ptrdiff_t>(offset),
                  destination.size(), destination.begin());
    }

   private:
    const std::string& bytes_;
    const std::string path_;
  };

  std::map<std::string, std::string> bytes_;
};

class CheckpointBitsTest : public testing::Test {
 protected:
  CheckpointBitsTest() {
    for (int i = 0; i < 16; ++i) {
      std::vector<float> values(1000);
      for (size_t j = 0; j < values.size(); ++j)
        values[j] = static_cast<float>(i) + 0.001f * static_cast<float>(j);
      graph_.variable(fmt::format("w{}", i), Tensor::from<float>(values, {10, 100}));
    }
    graph_.variable("names", Tensor::from({std::string("a"), std::string(900, 'x')}));
    session_ = graph_.new_session("");
    session_->run(graph_.train());
    save(1);
    original_ = state_of(*session_);
  }

  void save(int num_shards) {
    FakeClock clock;
    Saver saver({.num_shards = num_shards, .files = &files_, .clock = &clock});
    saver.save(*session_, "d/m", 1);
    num_shards_ = num_shards;
  }

  std::vector<std::string> data_paths() const {
    std::vector<std::string> paths;
    for (int i = 0; i < num_shards_; ++i)
      paths.push_back(internal::data_filename(kPrefix, i, num_shards_));
    return paths;
  }

  TensorMap state_of(Session& session) {
    TensorMap state;
    const Snapshot snapshot = session.snapshot(graph_.variables());
    for (const auto& [name, tensor] : snapshot.tensors()) state[name] = tensor;
    return state;
  }

  uint64_t total_bytes() {
    uint64_t sum = 0;
    for (const std::string& name : files_.list("d")) sum += files_.file_size("d/" + name);
    return sum;
  }

  // Restores the checkpoint as a new process does; true if that reports damage, which it must
  // if the values are not the original ones.
  bool restore_reports_damage() {
    const AllocationCounter allocations;
    bool reported = false;
    try {
      Saver saver({.files = &files_});
      const auto session = graph_.new_session("");
      saver.restore(*session, kPrefix);
      EXPECT_TRUE(state_of(*session) == original_);
    } catch (const Error& error) {
      EXPECT_THAT(error.code(), testing::AnyOf(Code::kDataLoss, Code::kInvalidArgument,
                                               Code::kNotFound, Code::kUnimplemented));
      reported = true;
    }
    EXPECT_LE(allocations.largest(), 2 * total_bytes_);
    return reported;
  }

  // True if reading one tensor reports damage.
  static bool read_reports_damage(const CheckpointReader& reader, const std::string& name,
                                  std::vector<std::byte>& buffer) {
    const TensorInfo& info = reader.tensors().at(name);
    try {
      if (info.dtype == DType::kString) {
        reader.read(name);
      } else {
        buffer.resize(static_cast<size_t>(info.shape.num_elements()) * element_size(info.dtype));
        reader.read_into(name, buffer);
      }
      return false;
    } catch (const DataLossError&) {
      return true;
    }
  }

  // Flips each bit of a file in turn.
  void for_each_flip(const std::string& path, const std::function<void(size_t bit)>& check) {
    std::string& bytes = files_.bytes(path);
    for (size_t bit = 0; bit < 8 * bytes.size() && !HasFailure(); ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      check(bit);
      damaged_.add();
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      log_.clear();  // Or it grows, and counts among the allocations.
      if (HasFailure()) ADD_FAILURE() << path << ": bit " << bit;
    }
    files_.heal(path);
  }

  // Cuts a file to each length that is less than its own.
  void for_each_cut(const std::string& path, const std::function<void(size_t size)>& check) {
    std::string& bytes = files_.bytes(path);
    while (!bytes.empty() && !HasFailure()) {
      bytes.pop_back();
      check(bytes.size());
      damaged_.add();
      log_.clear();  // Or it grows, and counts among the allocations.
      if (HasFailure()) ADD_FAILURE() << path << ": cut to " << bytes.size();
    }
    files_.heal(path);
  }

  const std::string kPrefix = "d/m-1";
  const std::string kIndex = internal::index_filename(kPrefix);

  LogCapture log_;
  AttackCount damaged_{"damaged_files"};
  ScriptedGraph graph_;
  std::unique_ptr<Session> session_;
  DamagedFiles files_;
  int num_shards_ = 1;
  TensorMap original_;
  uint64_t total_bytes_ = 0;
};

TEST_F(CheckpointBitsTest, EachFlippedBitOfTheDataIsReported) {
  total_bytes_ = total_bytes();
  ASSERT_GE(total_bytes_, 64u << 10);
  ASSERT_FALSE(restore_reports_damage());
  const AllocationCounter allocations;
  files_.bytes(data_paths()[0]);  // Before it is opened, so that the reader sees the flipped bits.
  const CheckpointReader reader(kPrefix, files_);
  std::vector<std::byte> buffer;
  std::string owner = "w0";
  size_t num_checked = 0;
  for_each_flip(data_paths()[0], [&](size_t bit) {
    ++num_checked;
    if (bit % 1021 == 0) {
      EXPECT_TRUE(restore_reports_damage());
    }
    // The neighbour's, in most cases.
    if (read_reports_damage(reader, owner, buffer)) return;
    for (const auto& [name, info] : reader.tensors()) {
      owner = name;
      if (read_reports_damage(reader, owner, buffer)) return;
    }
    ADD_FAILURE() << "the damage was not reported";
  });
  EXPECT_EQ(num_checked, 8 * files_.file_size(data_paths()[0]));
  EXPECT_LE(allocations.largest(), 2 * total_bytes_);
}

TEST_F(CheckpointBitsTest, EachFlippedBitOfTheIndexIsReportedOrHarmless) {
  total_bytes_ = total_bytes();
  size_t num_harmless = 0;
  for_each_flip(kIndex, [&](size_t) { num_harmless += restore_reports_damage() ? 0 : 1; });
  EXPECT_LE(num_harmless, 8 * 36u) << "the padding of the footer";
}

TEST_F(CheckpointBitsTest, EachFlippedBitOfSidecarAndStateIsHarmless) {
  total_bytes_ = total_bytes();
  for (const std::string& path :
       {internal::sidecar_filename(kPrefix), std::string("d/checkpoint")}) {
    for_each_flip(path, [&](size_t) {
      const AllocationCounter allocations;
      read_sidecar(files_, kPrefix);
      try {
        get_checkpoint_state(files_, "d");
      } catch (const InvalidArgumentError&) {  // It no longer names a checkpoint.
      }
      EXPECT_LE(allocations.largest(), 2 * total_bytes_);
      Saver saver({.files = &files_});
      const auto session = graph_.new_session("");
      EXPECT_THAT(saver.restore_newest(*session, "d", "m"), RestoredFrom(kPrefix));
      EXPECT_EQ(read_global_step(*session), 1);
    });
    EXPECT_FALSE(restore_reports_damage());
  }
}

TEST_F(CheckpointBitsTest, EachTruncationIsReportedOrHarmless) {
  total_bytes_ = total_bytes();
  for_each_cut(kIndex, [&](size_t) { EXPECT_TRUE(restore_reports_damage()); });
  {
    files_.bytes(data_paths()[0]);  // Before it is opened, so that the reader sees the truncation.
    const CheckpointReader reader(kPrefix, files_);
    for_each_cut(data_paths()[0], [&](size_t size) {
      EXPECT_THROW(reader.verify(), DataLossError);
      if (size % 257 == 0) {
        EXPECT_TRUE(restore_reports_damage());
      }
    });
  }
  for (const std::string& path : {internal::sidecar_filename(kPrefix), std::string("d/checkpoint")})
    for_each_cut(path, [&](size_t) {
      read_sidecar(files_, kPrefix);
      Saver saver({.files = &files_});
      const auto session = graph_.new_session("");
      EXPECT_THAT(saver.restore_newest(*session, "d", "m"), RestoredFrom(kPrefix));
    });
}

TEST_F(CheckpointBitsTest, SwappedMissingAndStaleDataFilesAreReported) {
  // From another run at the same step: other values in files of the same names and sizes.
  session_ = graph_.new_session("");
  session_->run(graph_.train());
  for (const Variable& variable : graph_.variables()) {
    if (!variable.name().starts_with("w")) continue;
    const Assignment assignment{
        .variable = variable, .shape = {10, 100}, .fill = [](std::span<std::byte> memory) {
          std::ranges::fill(memory, std::byte{1});
        }};
    session_->assign({&assignment, 1});
  }
  files_.remove(kIndex);
  save(3);
  std::map<std::string, std::string> stale;
  for (const std::string& path : data_paths()) stale[path] = read_file(files_, path);
  stale[kIndex] = read_file(files_, kIndex);

  session_ = graph_.new_session("");
  session_->run(graph_.train());
  ASSERT_TRUE(state_of(*session_) == original_);
  save(3);
  total_bytes_ = total_bytes();
  ASSERT_FALSE(restore_reports_damage());

  for (const auto& [path, old_bytes] : stale) {
    const std::string good = read_file(files_, path);
    ASSERT_EQ(good.size(), old_bytes.size()) << path;
    files_.bytes(path) = old_bytes;
    EXPECT_TRUE(restore_reports_damage()) << path << " of another save";
    files_.heal(path);
    for (const std::string& other : data_paths()) {
      if (other == path || path == kIndex) continue;
      std::swap(files_.bytes(path), files_.bytes(other));
      EXPECT_TRUE(restore_reports_damage()) << path << " and " << other << " swapped";
      files_.heal(path);
      files_.heal(other);
    }
    files_.remove(path);
    EXPECT_TRUE(restore_reports_damage()) << path << " missing";
    internal::put_file(files_, path, good);
    EXPECT_FALSE(restore_reports_damage());
  }
}

}  // namespace
}  // namespace crochet
