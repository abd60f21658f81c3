// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <limits>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/page.h"
#include "crochet/tensor/tensor.h"
#include "tests/support/sanitizers.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

static_assert(std::is_nothrow_move_constructible_v<Buffer>);

bool is_aligned(const std::byte* data) {
  return reinterpret_cast<uintptr_t>(data) % kBufferAlignment == 0;
}

TEST(BufferTest, IsUnsetByDefault) {
  const Buffer buffer;
  EXPECT_FALSE(buffer);
  EXPECT_EQ(buffer.size(), 0);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_FALSE(buffer.is_unique());
}

TEST(BufferTest, IsAlignedWhateverItsSize) {
  for (size_t size = 0; size < 200; ++size) {
    Buffer buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_TRUE(is_aligned(buffer.data())) << size;
    std::memset(buffer.mutable_data(), 1, size);
  }
}

TEST(BufferTest, CountsItsHolders) {
  Buffer first(8);
  EXPECT_TRUE(first.is_unique());
  {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): copying is tested.
    const Buffer second = first;
    EXPECT_EQ(second.data(), first.data());
    EXPECT_FALSE(first.is_unique());
    EXPECT_FALSE(second.is_unique());
  }
  EXPECT_TRUE(first.is_unique());
}

TEST(BufferTest, MovingKeepsTheCount) {
  Buffer first(8);
  const std::byte* const data = first.data();
  Buffer second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): the promise of the move.
  EXPECT_TRUE(second.is_unique());
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
  EXPECT_TRUE(first.is_unique());
}

TEST(BufferTest, AssignmentReleasesTheOldMemory) {
  Buffer kept(8);
  Buffer other = kept;
  other = Buffer(16);
  EXPECT_TRUE(kept.is_unique());
  EXPECT_EQ(other.size(), 16);
  Buffer& itself = other;
  other = itself;
  EXPECT_TRUE(other.is_unique());
}

TEST(BufferTest, ReportsTheSizeItCannotAllocate) {
  const size_t size = std::numeric_limits<size_t>::max() - 5;
  EXPECT_THAT([&] { Buffer buffer(size); },
              ThrowsMessage<ResourceExhaustedError>(HasSubstr(std::to_string(size))));
}

TEST(BufferTest, BorrowedMemoryIsNeverUniqueAndIsReleasedOnce) {
  const std::byte bytes[3] = {};
  int num_released = 0;
  const auto release = [](void* count) noexcept { ++*static_cast<int*>(count); };
  {
    Buffer first = Buffer::borrow(bytes, release, &num_released);
    EXPECT_EQ(first.data(), bytes);
    EXPECT_EQ(first.size(), 3);
    EXPECT_FALSE(first.is_unique());
    const Buffer second = first;
    first = Buffer();
    EXPECT_EQ(second.data(), bytes);
    EXPECT_FALSE(second.is_unique());
    EXPECT_EQ(num_released, 0);
  }
  EXPECT_EQ(num_released, 1);
}

// The accesses of a reader happen before its release of the buffer is seen: otherwise the
// thread sanitizer would report a race.
TEST(BufferTest, OnceUniqueItMayBeWrittenAfterReadsOfOtherThreads) {
  Buffer buffer(64);
  for (int round = 0; round < 200; ++round) {
    std::memset(buffer.mutable_data(), round, buffer.size());
    std::latch copied(2);
    const auto read = [&copied, round](const Buffer& shared) {
      copied.count_down();
      EXPECT_EQ(shared.data()[63], std::byte(round));
    };
    std::jthread first([&read, copy = buffer]() mutable { read(std::exchange(copy, Buffer())); });
    std::jthread second([&read, copy = buffer]() mutable { read(std::exchange(copy, Buffer())); });
    copied.wait();
    wait_until("the readers", [&] { return buffer.is_unique(); });
    std::memset(buffer.mutable_data(), 255, buffer.size());
  }
}

TEST(BufferTest, IsAlignedWhenLarge) {
  for (const size_t size : {(size_t{4} << 20) - 64, size_t{4} << 20, (size_t{9} << 20) + 1}) {
    Buffer buffer(size);
    EXPECT_TRUE(is_aligned(buffer.data())) << size;
    buffer.mutable_data()[0] = buffer.mutable_data()[size - 1] = std::byte{1};
    EXPECT_EQ(buffer.data()[size - 1], std::byte{1});
  }
}

TEST(BufferTest, StartsAtAPageWhenLarge) {
  for (const size_t size : {kPageAlignedBytes, kPageAlignedBytes + 1, (size_t{4} << 20) - 4096,
                            size_t{4} << 20, size_t{5} << 20}) {
    const Buffer buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 4096, 0u) << size;
  }
}

// The pages of a buffer's memory that exist, because something has been written to them.
size_t num_touched_pages(const Buffer& buffer) {
  auto* const begin = const_cast<std::byte*>(buffer.data());
  std::vector<unsigned char> is_resident((buffer.size() + internal::kPageBytes - 1) /
                                         internal::kPageBytes);
  EXPECT_EQ(mincore(begin, buffer.size(), is_resident.data()), 0);
  return static_cast<size_t>(
      std::ranges::count_if(is_resident, [](unsigned char page) { return (page & 1) != 0; }));
}

// The thread that allocates memory for a save is the training's; others fill it.
TEST(BufferTest, AllocatingLargeMemoryTouchesNoneOfIt) {
  if (kHasAddressSanitizer || kHasThreadSanitizer)
    GTEST_SKIP() << "a sanitizer's allocator writes to what it allocates";
  // Memory that malloc has used before has pages, some with malloc's own links: take all of it
  // away.
  ASSERT_EQ(mallopt(M_MMAP_THRESHOLD, static_cast<int>(kPageAlignedBytes / 2)), 1);
  std::vector<std::unique_ptr<void, decltype(&std::free)>> used;
  do used.emplace_back(std::malloc(kPageAlignedBytes), &std::free);
  while (used.back().get() < sbrk(0));
  std::vector<Buffer> buffers;
  for (const size_t size :
       {kPageAlignedBytes, kPageAlignedBytes + 1, size_t{4} << 20, (size_t{4} << 20) + 64,
        (size_t{9} << 20) - 8, size_t{10} << 20, (size_t{40} << 20) + 1})
    for (int i = 0; i < 3; ++i) {
      buffers.emplace_back(size);
      EXPECT_EQ(num_touched_pages(buffers.back()), 0) << size;
    }
  // Nor does allocating others, next to it.
  for (const Buffer& buffer : buffers) EXPECT_EQ(num_touched_pages(buffer), 0) << buffer.size();
  buffers.back().mutable_data()[0] = std::byte{1};
  EXPECT_GT(num_touched_pages(buffers.back()), 0);
}

// Then no huge page contains anything but the memory, whether or not this machine has them.
TEST(BufferTest, StartsAtAHugePageWhenItHasSome) {
  for (const size_t size : {size_t{4} << 20, (size_t{9} << 20) + 1}) {
    const Buffer buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (size_t{2} << 20), 0u) << size;
  }
}

TEST(BufferTest, VersionChangesWithEachWriteAccess) {
  Buffer first(8);
  const Buffer second = first;
  const uint64_t version = second.version();
  EXPECT_NE(version, 0);
  EXPECT_EQ(first.version(), version);
  first.data();
  EXPECT_EQ(second.version(), version);
  first.writable_data();
  EXPECT_GT(second.version(), version);
}

// Who has the address may write at any time.
TEST(BufferTest, HasNoVersionOnceItsAddressWasHandedOutForWriting) {
  Buffer buffer(8);
  EXPECT_FALSE(buffer.is_exposed());
  buffer.mutable_data();
  EXPECT_TRUE(buffer.is_exposed());
  EXPECT_EQ(buffer.version(), 0);
  buffer.writable_data();
  EXPECT_EQ(buffer.version(), 0);
}

TEST(BufferTest, HasNoVersionIfReadOnly) {
  static const std::byte bytes[4] = {};
  EXPECT_EQ(Buffer().version(), 0);
  EXPECT_EQ(Buffer::borrow(
                bytes, [](void*) noexcept {}, nullptr)
                .version(),
            0);
}

TEST(BufferTest, CountsTheMemoryOfAllBuffers) {
  constexpr size_t kSize = size_t{5} << 20;
  reset_peak_buffer_usage();
  const size_t before = buffer_usage().num_bytes;
  {
    const Buffer first(kSize);
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): copying is tested.
    const Buffer same = first;
    const Buffer second(kSize / 2);
    EXPECT_EQ(buffer_usage().num_bytes, before + kSize + kSize / 2);
  }
  const std::byte bytes[4] = {};
  const Buffer borrowed = Buffer::borrow(
      bytes, [](void*) noexcept {}, nullptr);
  EXPECT_EQ(buffer_usage().num_bytes, before);
  EXPECT_EQ(buffer_usage().peak_num_bytes, before + kSize + kSize / 2);
  reset_peak_buffer_usage();
  EXPECT_EQ(buffer_usage().peak_num_bytes, before);
}

}  // namespace
}  // namespace crochet
