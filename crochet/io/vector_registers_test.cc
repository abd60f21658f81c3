// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Checksums leave the vector registers as code without AVX needs them.
#ifdef __x86_64__
#include <functional>
#include <string>

#include <cpuid.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include "crochet/io/internal/checksum128.h"
#include "crochet/io/internal/crc32.h"
#include "crochet/io/internal/crc32c.h"
#include "tests/support/random_bytes.h"

namespace crochet {
namespace {

// XGETBV with ECX = 1 (Intel's manual, volume 1, 13.2): the parts of the registers in use.
bool can_tell_what_is_in_use() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & 4U) != 0;
}

// True if bits 128 to 511 of a register have been written to since they were last cleared.
__attribute__((target("xsave"))) bool are_upper_halves_in_use() {
  constexpr uint64_t kUpperHalves = (1U << 2) | (1U << 6);
  return (_xgetbv(1) & kUpperHalves) != 0;
}

__attribute__((target("avx"))) void use_upper_halves() {
  __asm__ volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\tvinsertf128 $1, %%xmm0, %%ymm0, %%ymm0"
                   :
                   :
                   : "xmm0");
}

__attribute__((target("avx"))) void clear_upper_halves() { __asm__ volatile("vzeroupper"); }

// The processor may count the registers as in use after an interrupt, whatever they hold.
bool leaves_upper_halves_clear(const std::function<void()>& call) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    clear_upper_halves();
    call();
    if (!are_upper_halves_in_use()) return true;
  }
  return false;
}

class VectorRegistersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_tell_what_is_in_use() || __builtin_cpu_supports("avx") == 0)
      GTEST_SKIP() << "this processor cannot tell which registers are in use";
  }
};

TEST_F(VectorRegistersTest, AreSeenIfTheyAreInUse) {
  EXPECT_FALSE(leaves_upper_halves_clear(use_upper_halves));
}

TEST_F(VectorRegistersTest, AreClearedByChecksums) {
  const std::string data = random_bytes(100'000);
  const auto bytes = std::as_bytes(std::span(data));
  const std::function<void()> checksums[] = {[&] { internal::extend_crc32c(0, bytes); },
                                             [&] { internal::extend_crc32(0, bytes); },
                                             [&] { internal::checksum128(bytes); }};
  for (const auto& checksum : checksums)
    EXPECT_TRUE(leaves_upper_halves_clear(checksum)) << &checksum - checksums;
}

}  // namespace
}  // namespace crochet
#endif
