// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/attack_count.h"
#include "tests/support/checkpoint_contents.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

// Reads one damaged file of torch after another: the result is right or an error.
class TorchFileDamageTest : public testing::Test {
 protected:
  // Unset if an error reports damage.
  std::optional<TensorMap> read(std::string_view bytes) {
    internal::put_file(files_, "a.pt", bytes);
    damaged_.add();
    try {
      const CheckpointReader reader("a.pt", files_);
      reader.verify();
      TensorMap values;
      for (const auto& [name, info] : reader.tensors())
        if (!reader.unreadable().contains(name)) values[name] = reader.read(name);
      return values;
    } catch (const DataLossError&) {
    } catch (const UnimplementedError&) {  // It may look like another kind of file.
    }
    return std::nullopt;
  }

  MemoryFileSystem files_;
  AttackCount damaged_{"damaged_files"};
};

class TorchDamageTest : public TorchFileDamageTest,
                        public testing::WithParamInterface<const char*> {
 protected:
  std::string golden() const {
    return read_file(FileSystem::posix(),
                     fmt::format("{}/tests/golden/torch/{}", CROCHET_SOURCE_DIR, GetParam()));
  }
};

TEST_P(TorchDamageTest, AFlippedBitIsAnErrorOrDoesNotMatter) {
  const std::string good = golden();
  const std::optional<TensorMap> expected = read(good);
  ASSERT_TRUE(expected);
  // Every bit of a small file, and one or two of each byte of a larger one.
  const size_t stride = good.size() < 3000 ? 1 : 7;
  size_t num_noticed = 0;
  for (size_t bit = 0; bit < 8 * good.size(); bit += stride) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto found = read(bad);
    num_noticed += found ? 0 : 1;
    if (found) {
      EXPECT_EQ(*found, *expected) << "byte " << bit / 8 << ", bit " << bit % 8;
    }
  }
  // The rest are times, versions, padding, and entries that are not needed.
  EXPECT_GT(num_noticed, 2 * good.size() / stride);
}

TEST_P(TorchDamageTest, EveryTruncationAndExtensionIsDetected) {
  const std::string good = golden();
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read(good.substr(0, size))) << size << " bytes";
  EXPECT_FALSE(read(good + '\0'));
  EXPECT_FALSE(read('\0' + good));
}

// Without checksums a wrong element looks like any other, but the structure is still checked.
TEST_F(TorchFileDamageTest, WithoutChecksumsDamageIsAnErrorOrAWrongValue) {
  const std::string good =
      read_file(FileSystem::posix(), CROCHET_SOURCE_DIR "/tests/golden/torch/views_legacy.pt");
  const std::optional<TensorMap> expected = read(good);
  ASSERT_TRUE(expected);
  size_t num_noticed = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    num_noticed += read(bad) == expected ? 0 : 1;
  }
  EXPECT_GT(num_noticed, 4 * good.size());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read(good.substr(0, size))) << size << " bytes";
}

INSTANTIATE_TEST_SUITE_P(All, TorchDamageTest,
                         testing::Values("views.pt", "tensor.pt", "script.pt", "trainer4.pt"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace crochet
