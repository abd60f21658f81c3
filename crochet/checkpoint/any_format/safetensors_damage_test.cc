// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"
#include "crochet/tensor/tensor_slice.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/attack_count.h"
#include "tests/support/checkpoint_contents.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

// Reads one damaged file after another: each damage is reported as such.

TensorMap storable_tensors() {
  return {{"bias", Tensor::from<float>({1, 2, 3})},
          {"c", Tensor::zeros<std::complex<double>>({2})},
          {"empty", Tensor::zeros<double>({0, 4})},
          {"global_step", Tensor::scalar<int64_t>(7)},
          {"labels", Tensor::from({"cat", "", "a dog"})},
          {"mask", Tensor::zeros<bool>({5})}};
}

class SafetensorsDamageTest : public testing::Test {
 protected:
  void write(int num_shards, const std::string& prefix = "m", int64_t step = 7) {
    internal::SafetensorsWriter writer(files_, prefix, {.num_shards = num_shards});
    TensorMap tensors = storable_tensors();
    tensors["global_step"] = Tensor::scalar(step);
    size_t num_added = 0;
    for (const auto& [name, tensor] : tensors) {
      if (num_shards > 1 && num_added++ == 3) writer.next_shard();
      writer.add(name, tensor);
    }
    writer.add_slice("w", {3}, parse_slice("0,2"), Tensor::from<float>({1, 2}));
    writer.add_slice("w", {3}, parse_slice("2,1"), Tensor::from<float>({3}));
    writer.finish();
  }

  // True if `look` reports damage.
  template <typename Look>
  bool is_noticed_by(const Look& look) {
    try {
      look(CheckpointReader("m", files_));
    } catch (const DataLossError&) {
      return true;
    }
    return false;
  }

  // True if both reading and verifying report damage; values read without an error must be those
  // written.
  bool is_noticed() {
    TensorMap tensors;
    const bool is_read =
        !is_noticed_by([&](const CheckpointReader& reader) { tensors = read_all(reader); });
    EXPECT_EQ(is_noticed_by([](const CheckpointReader& reader) { reader.verify(); }), !is_read);
    if (!is_read) return true;
    TensorMap expected = storable_tensors();
    expected["w"] = Tensor::from<float>({1, 2, 3});
    EXPECT_EQ(tensors, expected);
    return false;
  }

  void expect_damage_is_noticed(const std::string& name) {
    const std::string good = read_file(files_, name);
    damaged_.add(static_cast<int64_t>(9 * good.size()) + 1);
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      internal::put_file(files_, name, bad);
      EXPECT_TRUE(is_noticed()) << name << ", byte " << bit / 8 << ", bit " << bit % 8;
    }
    for (size_t size = 0; size < good.size(); ++size) {
      internal::put_file(files_, name, good.substr(0, size));
      EXPECT_TRUE(is_noticed()) << name << " cut to " << size << " bytes";
    }
    internal::put_file(files_, name, good + '\0');
    EXPECT_TRUE(is_noticed()) << name << " with a byte more";
    internal::put_file(files_, name, good);
    EXPECT_FALSE(is_noticed());
  }

  MemoryFileSystem files_;
  AttackCount damaged_{"damaged_files"};
};

TEST_F(SafetensorsDamageTest, EveryFlippedBitAndTruncationIsDetected) {
  write(1);
  EXPECT_FALSE(is_noticed());
  expect_damage_is_noticed("m.safetensors");
}

TEST_F(SafetensorsDamageTest, EveryFlippedBitAndTruncationOfSeveralFilesIsDetected) {
  write(2);
  EXPECT_FALSE(is_noticed());
  for (const std::string& name : files_.list("")) expect_damage_is_noticed(name);
}

TEST_F(SafetensorsDamageTest, SwappedMissingAndStaleFilesAreDetected) {
  const std::string first = "m-00001-of-00002.safetensors";
  const std::string second = "m-00002-of-00002.safetensors";
  write(2, "m", 6);
  const std::string stale = read_file(files_, second);
  const std::string stale_first = read_file(files_, first);
  write(2);
  const std::string good_first = read_file(files_, first);
  const std::string good = read_file(files_, second);
  EXPECT_FALSE(is_noticed());
  const auto put = [&](const std::string& a, const std::string& b) {
    internal::put_file(files_, first, a);
    internal::put_file(files_, second, b);
  };
  put(good, good_first);
  EXPECT_TRUE(is_noticed());
  put(good_first, good_first);
  EXPECT_TRUE(is_noticed());
  // Which of them has the step that differs does not matter.
  EXPECT_TRUE(stale != good || stale_first != good_first);
  put(stale_first, stale);
  EXPECT_TRUE(is_noticed());
  put(good_first, good);
  EXPECT_FALSE(is_noticed());
  files_.remove(second);
  EXPECT_TRUE(is_noticed());
}

// Without checksums only the structure is checked: no crash, and no value of another shape.
TEST_F(SafetensorsDamageTest, AFlippedBitOfAFileWithoutChecksumsDoesNotCrash) {
  TensorMap expected = storable_tensors();
  expected.erase("labels");
  expected.erase("c");
  internal::SafetensorsWriter writer(files_, "m", {.checksums = false});
  for (const auto& [name, tensor] : expected) writer.add(name, tensor);
  writer.finish();
  const std::string good = read_file(files_, "m.safetensors");
  damaged_.add(static_cast<int64_t>(8 * good.size()));
  int num_noticed = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    internal::put_file(files_, "m.safetensors", bad);
    try {
      const CheckpointReader reader("m", files_);
      for (const auto& [name, info] : reader.tensors())
        EXPECT_EQ(reader.read(name).shape(), info.shape);
    } catch (const DataLossError&) {
      ++num_noticed;
    } catch (const UnimplementedError&) {
      ++num_noticed;
    }
  }
  EXPECT_GT(num_noticed, 100);
}

}  // namespace
}  // namespace crochet
