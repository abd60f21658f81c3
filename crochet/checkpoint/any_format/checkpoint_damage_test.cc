// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/tensor/tensor_slice.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/attack_count.h"
#include "tests/support/checkpoint_contents.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

// Reads one damaged file after another: an error of the right kind or the true
// values, never others and never a crash.

const std::string kPrefix = "m-1";

TensorMap small_tensors() {
  return {{"bias", Tensor::from<float>({1, 2, 3})},
          {"empty", Tensor::zeros<double>({0, 4})},
          {"global_step", Tensor::scalar<int64_t>(7)},
          {"labels", Tensor::from({"cat", "", "a dog"})},
          {"mask", Tensor::zeros<bool>({5})},
          {"w", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3})}};
}

struct BundleFiles {
  std::string index;
  std::string data;
};

BundleFiles small_bundle(size_t alignment) {
  MemoryFileSystem files;
  internal::BundleWriter writer(files, kPrefix, {.alignment = alignment});
  for (const auto& [name, tensor] : small_tensors()) writer.add(name, tensor);
  writer.finish();
  return {read_file(files, internal::index_filename(kPrefix)),
          read_file(files, internal::data_filename(kPrefix, 0, 1))};
}

// True if the damage was detected.
bool is_noticed(const BundleFiles& bundle) {
  MemoryFileSystem files;
  internal::put_file(files, internal::index_filename(kPrefix), bundle.index);
  internal::put_file(files, internal::data_filename(kPrefix, 0, 1), bundle.data);
  try {
    const CheckpointReader reader(kPrefix, files);
    const TensorMap tensors = read_all(reader);
    reader.verify();
    EXPECT_EQ(tensors, small_tensors());
    return false;
  } catch (const DataLossError&) {
  } catch (const InvalidArgumentError&) {
  }
  return true;
}

int count_unnoticed_flips(const BundleFiles& good, std::string BundleFiles::*file) {
  AttackCount damaged("damaged_files");
  int num_unnoticed = 0;
  for (size_t i = 0; i < (good.*file).size(); ++i) {
    for (const int mask : {0x01, 0x10, 0x80, 0xff}) {
      SCOPED_TRACE(fmt::format("byte {} flipped by {:02x}", i, mask));
      BundleFiles bad = good;
      (bad.*file)[i] = static_cast<char>((bad.*file)[i] ^ mask);
      num_unnoticed += is_noticed(bad) ? 0 : 1;
      damaged.add();
    }
  }
  return num_unnoticed;
}

TEST(CheckpointDamageTest, EveryFlippedByteOfTheIndexIsDetected) {
  // All except the padding of the footer: 40 bytes less two handles of two or three bytes.
  EXPECT_LE(count_unnoticed_flips(small_bundle(1), &BundleFiles::index), 4 * 36);
}

TEST(CheckpointDamageTest, EveryFlippedByteOfTheDataIsDetected) {
  EXPECT_EQ(count_unnoticed_flips(small_bundle(1), &BundleFiles::data), 0);
}

TEST(CheckpointDamageTest, FlippedPaddingIsHarmless) {
  // bias, step, labels, mask and w of 12, 8, 15, 5 and 24 bytes are padded to 16, 16, 16, 16
  // and 32.
  EXPECT_EQ(count_unnoticed_flips(small_bundle(16), &BundleFiles::data), 4 * (4 + 8 + 1 + 11 + 8));
}

TEST(CheckpointDamageTest, EveryTruncationIsDetected) {
  const BundleFiles good = small_bundle(1);
  EXPECT_FALSE(is_noticed(good));
  AttackCount damaged("damaged_files");
  damaged.add(static_cast<int64_t>(good.index.size() + good.data.size()));
  for (size_t size = 0; size < good.index.size(); ++size)
    EXPECT_TRUE(is_noticed({good.index.substr(0, size), good.data}))
        << size << " bytes of the index";
  for (size_t size = 0; size < good.data.size(); ++size)
    EXPECT_TRUE(is_noticed({good.index, good.data.substr(0, size)}))
        << size << " bytes of the data";
}

// For a bundle in two data files with a tensor in slices: the entries of shards and slices are
// also protected, as is each of the files.
TEST(CheckpointDamageTest, EveryDamageOfSeveralDataFilesIsDetected) {
  MemoryFileSystem files;
  const Tensor upper = Tensor::from({"a", "bc"});
  const Tensor lower = Tensor::from({"", "d", "e"});
  internal::BundleWriter writer(files, kPrefix, {.num_shards = 2});
  writer.add("w", Tensor::from<float>({1, 2, 3}));
  writer.add_slice("tags", {5}, parse_slice("0,2"), upper);
  writer.next_shard();
  writer.add_slice("tags", {5}, parse_slice("2,3"), lower);
  writer.add("x", Tensor::scalar<int64_t>(7));
  writer.finish();
  const auto is_whole = [&] {
    try {
      const CheckpointReader reader(kPrefix, files);
      reader.verify();
      const TensorMap expected = {{"tags", Tensor::from({"a", "bc", "", "d", "e"})},
                                  {"w", Tensor::from<float>({1, 2, 3})},
                                  {"x", Tensor::scalar<int64_t>(7)}};
      EXPECT_EQ(read_all(reader), expected);
      return true;
    } catch (const DataLossError&) {
    } catch (const InvalidArgumentError&) {
    }
    return false;
  };
  ASSERT_TRUE(is_whole());
  AttackCount damaged("damaged_files");
  int num_unnoticed = 0;
  for (const std::string& name : files.list("")) {
    const std::string good = read_file(files, name);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x10);
      internal::put_file(files, name, bad);
      num_unnoticed += is_whole() ? 1 : 0;
      internal::put_file(files, name, good.substr(0, i));
      EXPECT_FALSE(is_whole()) << name << " cut to " << i << " bytes";
      damaged.add(2);
    }
    files.remove(name);
    EXPECT_THROW(CheckpointReader(kPrefix, files).verify(), Error) << name;
    internal::put_file(files, name, good);
  }
  EXPECT_LE(num_unnoticed, 36);  // The padding of the footer.
}

// The checksums of the table are corrected, so that only the checks of the entries
// remain.
TEST(CheckpointDamageTest, AFlippedByteOfAnEntryWithAValidChecksumDoesNotCrash) {
  TensorMap expected = small_tensors();
  expected.erase("labels");  // RawBundle does not write strings.
  internal::RawBundle bundle;
  for (const auto& [name, tensor] : expected) {
    const auto bytes = tensor.bytes();
    bundle.add(name, {.dtype = tensor.dtype(), .shape = tensor.shape()},
               {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  std::map<std::string, std::string> table{{"", internal::encode(bundle.header)}};
  for (const auto& [name, entry] : bundle.entries) table[name] = internal::encode(entry);
  AttackCount damaged("damaged_files");
  int num_noticed = 0;
  for (auto& [name, value] : table) {
    for (size_t bit = 0; bit < 8 * value.size(); ++bit) {
      damaged.add();
      const char original = value[bit / 8];
      value[bit / 8] = static_cast<char>(original ^ (1 << bit % 8));
      MemoryFileSystem files;
      internal::put_file(files, internal::index_filename(kPrefix), internal::encode_table(table));
      internal::put_file(files, internal::data_filename(kPrefix, 0, 1), bundle.shards[0]);
      try {
        // A float may become an int here; nothing else protects the type.
        read_all(CheckpointReader(kPrefix, files));
      } catch (const DataLossError&) {
        ++num_noticed;
      } catch (const InvalidArgumentError&) {
        ++num_noticed;
      } catch (const UnimplementedError&) {
        ++num_noticed;
      }
      value[bit / 8] = original;
    }
  }
  EXPECT_GT(num_noticed, 100);
}

}  // namespace
}  // namespace crochet
