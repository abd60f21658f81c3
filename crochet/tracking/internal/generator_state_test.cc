// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers that a checkpoint holds for a random generator may be damaged, or another
// generator's: either they are rejected and the generator is unchanged, or they are a valid state
// and the generator continues from it.
#include "crochet/tracking/internal/generator_state.h"

#include <limits>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/tracking/internal/saveable_adapters.h"

namespace crochet::internal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

using ShuffledRanlux = std::shuffle_order_engine<std::ranlux48_base, 16>;
using IndependentBits = std::independent_bits_engine<std::ranlux24, 32, uint_fast32_t>;
// No modulus: every number is a valid state.
using FullRange = std::linear_congruential_engine<uint64_t, 6364136223846793005u, 1, 0>;

template <typename Generator>
std::vector<uint64_t> state_of(const Generator& generator) {
  Generator copy = generator;
  const TensorMap state = saveable_generator(copy, "rng")->save();
  const std::span<const uint64_t> numbers = state.at("").flat<uint64_t>();
  return {numbers.begin(), numbers.end()};
}

template <typename Generator>
void restore(Generator& generator, const std::vector<uint64_t>& numbers) {
  saveable_generator(generator, "rng")->restore({{"", Tensor::from(numbers)}});
}

// True if the numbers were accepted as a state.
template <typename Generator>
bool is_taken(const std::vector<uint64_t>& numbers, const std::string& what) {
  Generator generator(7);
  const Generator before = generator;
  try {
    restore(generator, numbers);
  } catch (const InvalidArgumentError&) {
    EXPECT_EQ(generator, before) << what;
    return false;
  }
  EXPECT_EQ(state_of(generator), numbers) << what;
  bool in_range = true;
  for (int i = 0; i < 1500; ++i) {
    const auto number = generator();
    in_range = in_range && number >= Generator::min() && number <= Generator::max();
  }
  EXPECT_TRUE(in_range) << what;
  return true;
}

template <typename Generator>
class GeneratorStateTest : public testing::Test {
 protected:
  static std::vector<uint64_t> good() {
    Generator generator(1);
    generator.discard(1001);
    return state_of(generator);
  }
};

using Generators =
    testing::Types<std::minstd_rand0, std::minstd_rand, FullRange, std::mt19937, std::mt19937_64,
                   std::ranlux24_base, std::ranlux48_base, std::ranlux24, std::ranlux48,
                   std::knuth_b, ShuffledRanlux, IndependentBits>;
TYPED_TEST_SUITE(GeneratorStateTest, Generators);

TYPED_TEST(GeneratorStateTest, ResumesFromItsOwnStateAtAnyPosition) {
  TypeParam generator(3);
  for (int i = 0; i < 700; ++i) {
    const std::vector<uint64_t> state = state_of(generator);
    TypeParam other(99);
    restore(other, state);
    ASSERT_EQ(other, generator) << "after " << i << " numbers";
    generator();
  }
}

TYPED_TEST(GeneratorStateTest, SurvivesEveryNumberThatIsDamaged) {
  const std::vector<uint64_t> good = this->good();
  for (size_t i = 0; i < good.size(); ++i)
    for (const uint64_t damage :
         {uint64_t{0}, uint64_t{1}, good[i] + 1, good[i] ^ (uint64_t{1} << 24),
          good[i] ^ (uint64_t{1} << 40), good[i] ^ (uint64_t{1} << 60),
          std::numeric_limits<uint64_t>::max()}) {
      std::vector<uint64_t> damaged = good;
      damaged[i] = damage;
      is_taken<TypeParam>(damaged, fmt::format("number {} is {}", i, damage));
    }
}

TYPED_TEST(GeneratorStateTest, RefusesEveryOtherLength) {
  const std::vector<uint64_t> good = this->good();
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(is_taken<TypeParam>({good.begin(), good.begin() + static_cast<ptrdiff_t>(length)},
                                     fmt::format("{} numbers", length)));
  for (const uint64_t more : {0, 1, 7}) {
    std::vector<uint64_t> longer = good;
    longer.push_back(more);
    EXPECT_FALSE(is_taken<TypeParam>(longer, "one number more"));
  }
}

TYPED_TEST(GeneratorStateTest, SurvivesTheStateOfEveryOtherGenerator) {
  const auto attempt = [](const auto& other) {
    is_taken<TypeParam>(state_of(other), "another generator's");
  };
  attempt(std::minstd_rand(5));
  attempt(std::mt19937(5));
  attempt(std::mt19937_64(5));
  attempt(std::ranlux24_base(5));
  attempt(std::ranlux48_base(5));
  attempt(std::ranlux24(5));
  attempt(std::ranlux48(5));
  attempt(std::knuth_b(5));
  attempt(ShuffledRanlux(5));
}

// Every number would be the same: a distribution that rejects some numbers would never return.
TYPED_TEST(GeneratorStateTest, RejectsAStateOfZeros) {
  if (std::is_same_v<TypeParam, FullRange>) GTEST_SKIP() << "zero is a valid state of this engine";
  EXPECT_FALSE(is_taken<TypeParam>(std::vector<uint64_t>(this->good().size()), "zeros"));
}

// A third-party generator that reads fewer numbers than it wrote.
struct Forgetful {
  using result_type = uint32_t;
  static constexpr uint32_t min() { return 0; }
  static constexpr uint32_t max() { return 9; }
  uint32_t operator()() { return state = (state + 1) % 10; }
  uint32_t state = 0;
  bool operator==(const Forgetful&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Forgetful& generator) {
  return out << generator.state;
}
std::istream& operator>>(std::istream& in, Forgetful& generator) { return in >> generator.state; }

TEST(ForeignGeneratorTest, MustReadAllNumbersUnchanged) {
  Forgetful generator;
  restore(generator, {5});
  EXPECT_EQ(generator.state, 5);
  EXPECT_THROW(restore(generator, {6, 7}), InvalidArgumentError);
  EXPECT_THROW(restore(generator, {uint64_t{1} << 40}), InvalidArgumentError);
  EXPECT_THROW(restore(generator, {}), InvalidArgumentError);
  EXPECT_EQ(generator.state, 5);
}

// A third-party generator whose state is not what it writes.
struct Rounded {
  using result_type = uint32_t;
  static constexpr uint32_t min() { return 0; }
  static constexpr uint32_t max() { return 9; }
  uint32_t operator()() { return ++state % 10; }
  uint32_t state = 1234;
};
std::ostream& operator<<(std::ostream& out, const Rounded& generator) {
  return out << generator.state / 1000;
}
std::istream& operator>>(std::istream& in, Rounded& generator) { return in >> generator.state; }

TEST(ForeignGeneratorTest, IsRefusedBeforeASaveIfItDoesNotReadWhatItWrites) {
  Rounded generator;
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT([&] { saveable_generator(generator, "noise"); },
                ThrowsMessage<UnimplementedError>(HasSubstr("\"noise\": this type's operator>>")))
        << i;
}

}  // namespace
}  // namespace crochet::internal
