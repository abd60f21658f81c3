// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"

namespace crochet::inline v0 {

// What the suite needs from a kind of group. Derive for each, with a default constructor.
class CROCHET_EXPORT GroupContractRanks {
 public:
  virtual ~GroupContractRanks() = default;

  virtual int size() const = 0;
  // Calls `body` with a new group in each rank: in threads, or in the processes that all run the
  // test.
  virtual void run(const std::function<void(Group&)>& body) = 0;
  // In `body`: waits until all ranks are here, without the group.
  virtual void meet() = 0;
};

// The contract of every Group. To be included in one source file of a test program:
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, GroupContract, MyRanks);
template <typename Ranks>
class GroupContract : public ::testing::Test {
 protected:
  int size() const { return ranks_.size(); }
  int last() const { return size() - 1; }
  void run(const std::function<void(Group&)>& body) { ranks_.run(body); }

  // The class and text of the error that `call` throws.
  template <typename ExpectedError>
  static std::string error_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const ExpectedError& error) {
      return error.what();
    } catch (...) {
      ADD_FAILURE() << "another error: " << describe(std::current_exception());
      return "";
    }
    ADD_FAILURE() << "no error";
    return "";
  }
  // Expects each call to throw the same error again.
  template <typename ExpectedError>
  static void expect_lost(Group& group, const std::string& error) {
    EXPECT_TRUE(group.is_lost());
    EXPECT_EQ(error_of<ExpectedError>([&] { group.barrier(); }), error);
    EXPECT_EQ(error_of<ExpectedError>([&] { group.all_max(1); }), error);
  }

  // The suite does not take long where the time is the machine's; but no rank that is there is so
  // late, even on a busy machine.
  static constexpr double kShort = 2;

  Ranks ranks_;
};

TYPED_TEST_SUITE_P(GroupContract);

TYPED_TEST_P(GroupContract, NumbersTheRanks) {
  this->run([this](Group& group) {
    EXPECT_EQ(group.size(), this->size());
    EXPECT_EQ(group.is_chief(), group.rank() == 0);
    const std::vector<std::string> ranks = group.all_gather(std::to_string(group.rank()));
    ASSERT_EQ(ranks.size(), static_cast<size_t>(this->size()));
    for (int rank = 0; rank < this->size(); ++rank)
      EXPECT_EQ(ranks[static_cast<size_t>(rank)], std::to_string(rank));
    EXPECT_FALSE(group.is_lost());
  });
}

TYPED_TEST_P(GroupContract, BroadcastsFromEachRank) {
  this->run([this](Group& group) {
    for (int root = 0; root < this->size(); ++root) {
      const std::string bytes = fmt::format("from {}\0{}", root, std::string(3, '\xff'));
      EXPECT_EQ(group.broadcast(group.rank() == root ? bytes : "not sent", root), bytes);
    }
    EXPECT_EQ(group.broadcast(""), "");
  });
}

TYPED_TEST_P(GroupContract, GathersInTheChief) {
  this->run([this](Group& group) {
    const std::vector<std::string> gathered =
        group.gather(std::string(static_cast<size_t>(group.rank()), 'x'));
    ASSERT_EQ(gathered.size(), group.is_chief() ? static_cast<size_t>(this->size()) : 0U);
    for (size_t rank = 0; rank < gathered.size(); ++rank)
      EXPECT_EQ(gathered[rank], std::string(rank, 'x'));
  });
}

TYPED_TEST_P(GroupContract, FindsWhatIsDifferent) {
  this->run([this](Group& group) {
    const auto same = group.all_distinct("x");
    ASSERT_EQ(same.size(), 1U);
    EXPECT_EQ(same[0].rank, 0);
    EXPECT_EQ(same[0].bytes, "x");
    EXPECT_EQ(group.all_distinct("").size(), 1U);
    // Ranks 1, 3, 5, ... have the same.
    const auto two = group.all_distinct(std::string(static_cast<size_t>(group.rank() % 2), '\0'));
    ASSERT_EQ(two.size(), static_cast<size_t>(std::min(this->size(), 2)));
    for (size_t i = 0; i < two.size(); ++i) {
      EXPECT_EQ(two[i].rank, static_cast<int>(i));
      EXPECT_EQ(two[i].bytes, std::string(i, '\0'));
    }
    const auto all = group.all_distinct(std::to_string(group.rank()));
    ASSERT_EQ(all.size(), static_cast<size_t>(this->size()));
    for (int rank = 0; rank < this->size(); ++rank) {
      EXPECT_EQ(all[static_cast<size_t>(rank)].rank, rank);
      EXPECT_EQ(all[static_cast<size_t>(rank)].bytes, std::to_string(rank));
    }
  });
}

TYPED_TEST_P(GroupContract, FindsTheLargestNumber) {
  this->run([this](Group& group) {
    EXPECT_EQ(group.all_max(group.rank()), this->last());
    EXPECT_EQ(group.all_max(-group.rank() - 5), -5);
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    EXPECT_EQ(group.all_max(kLeast), kLeast);
    EXPECT_EQ(group.all_max(group.rank() == this->last() ? kMost : kLeast), kMost);
    const Group::Range ranks = group.all_range(group.rank() - 1);
    EXPECT_EQ(ranks.smallest, -1);
    EXPECT_EQ(ranks.largest, this->last() - 1);
    const Group::Range same = group.all_range(kLeast);
    EXPECT_EQ(same.smallest, kLeast);
    EXPECT_EQ(same.largest, kLeast);
    EXPECT_EQ(group.all_range(group.rank() == 0 ? kMost : kLeast).largest, kMost);
  });
}

TYPED_TEST_P(GroupContract, SendsManyBytes) {
  this->run([this](Group& group) {
    const auto bytes_of = [](int rank, size_t length) {
      std::string bytes(length, '\0');
      for (size_t i = 0; i < length; ++i)
        bytes[i] = static_cast<char>(i * 31 + static_cast<size_t>(rank));
      return bytes;
    };
    for (const size_t length : {size_t{900}, size_t{1024}, size_t{5000}, size_t{3} << 20}) {
      EXPECT_TRUE(group.broadcast(bytes_of(group.rank(), length), this->last()) ==
                  bytes_of(this->last(), length));
      // Each rank has another length.
      const size_t own = length + static_cast<size_t>(group.rank());
      const std::vector<std::string> all = group.all_gather(bytes_of(group.rank(), own));
      for (int rank = 0; rank < this->size(); ++rank)
        EXPECT_TRUE(all[static_cast<size_t>(rank)] ==
                    bytes_of(rank, length + static_cast<size_t>(rank)));
    }
  });
}

TYPED_TEST_P(GroupContract, KeepsTheOrderOfManyCalls) {
  this->run([](Group& group) {
    for (int64_t i = 0; i < 200; ++i) {
      EXPECT_EQ(group.all_max(group.rank() == 0 ? i : 0), i);
      group.barrier();
      EXPECT_EQ(group.broadcast(std::to_string(i)), std::to_string(i));
    }
  });
}

TYPED_TEST_P(GroupContract, RefusesBadArgumentsAndStaysUsable) {
  this->run([this](Group& group) {
    EXPECT_THAT(
        this->template error_of<InvalidArgumentError>([&] { group.broadcast("", this->size()); }),
        ::testing::HasSubstr(
            fmt::format("root is {}, expected 0 to {}", this->size(), this->last())));
    EXPECT_THROW(group.broadcast("", -1), InvalidArgumentError);
    EXPECT_THROW(group.barrier(0), InvalidArgumentError);
    EXPECT_FALSE(group.is_lost());
    EXPECT_EQ(group.all_max(group.rank()), this->last());
  });
}

TYPED_TEST_P(GroupContract, NamesARankThatIsMissing) {
  if (this->size() == 1) GTEST_SKIP() << "a rank alone";
  this->run([this](Group& group) {
    group.barrier();
    if (group.rank() == this->last()) {
      this->ranks_.meet();
      // It comes too late, and learns of it, at the latest in its next call.
      const std::string late = this->template error_of<Error>([&] {
        group.barrier();
        group.barrier();
      });
      EXPECT_THAT(late, ::testing::HasSubstr("in call 2"));
      EXPECT_TRUE(group.is_lost());
      return;
    }
    const std::string error =
        this->template error_of<DeadlineExceededError>([&] { group.barrier(this->kShort); });
    EXPECT_THAT(error, ::testing::HasSubstr(
                           fmt::format("for rank {} of {} in call 2", this->last(), this->size())));
    this->template expect_lost<DeadlineExceededError>(group, error);
    this->ranks_.meet();
  });
}

TYPED_TEST_P(GroupContract, NamesAMissingChief) {
  if (this->size() == 1) GTEST_SKIP() << "a rank alone";
  this->run([this](Group& group) {
    if (group.is_chief()) {
      this->ranks_.meet();
      return;
    }
    const std::string error =
        this->template error_of<DeadlineExceededError>([&] { group.all_max(1, this->kShort); });
    EXPECT_THAT(error, ::testing::HasSubstr("rank 0"));
    EXPECT_TRUE(group.is_lost());
    this->ranks_.meet();
  });
}

TYPED_TEST_P(GroupContract, ReportsDifferentCalls) {
  if (this->size() == 1) GTEST_SKIP() << "a rank alone";
  this->run([this](Group& group) {
    group.barrier();
    const std::string error = this->template error_of<FailedPreconditionError>([&] {
      if (group.rank() == this->last())
        group.all_max(1);
      else
        group.barrier();
    });
    EXPECT_THAT(error,
                ::testing::HasSubstr(fmt::format(
                    "rank {} made call 2, all_max; rank 0 made call 2, barrier", this->last())));
    this->template expect_lost<FailedPreconditionError>(group, error);
  });
}

TYPED_TEST_P(GroupContract, ReportsDifferentRoots) {
  if (this->size() == 1) GTEST_SKIP() << "a rank alone";
  this->run([this](Group& group) {
    const std::string error = this->template error_of<FailedPreconditionError>(
        [&] { group.broadcast("x", group.is_chief() ? 0 : 1); });
    EXPECT_THAT(error, ::testing::HasSubstr("rank 1 made call 1, broadcast from rank 1; rank 0 "
                                            "made call 1, broadcast from rank 0"));
  });
}

TYPED_TEST_P(GroupContract, NamesARankThatLeaves) {
  if (this->size() == 1) GTEST_SKIP() << "a rank alone";
  for (const int leaver : {this->last(), 0})
    this->run([&](Group& group) {
      group.barrier();
      if (group.rank() == leaver) {
        group.leave("its disk is full");
        EXPECT_TRUE(group.is_lost());
        EXPECT_THROW(group.barrier(), RankFailedError);
      } else {
        try {
          group.barrier();
          ADD_FAILURE() << "no error";
        } catch (const RankFailedError& error) {
          EXPECT_EQ(error.rank(), leaver);
          EXPECT_THAT(error.what(),
                      ::testing::HasSubstr(fmt::format("rank {} of {}", leaver, this->size())));
          EXPECT_THAT(error.what(), ::testing::HasSubstr("its disk is full"));
        }
        EXPECT_TRUE(group.is_lost());
      }
      this->ranks_.meet();
    });
}

TYPED_TEST_P(GroupContract, ARankAloneLeaves) {
  if (this->size() > 1) GTEST_SKIP() << "not alone";
  this->run([](Group& group) {
    group.leave("done");
    EXPECT_TRUE(group.is_lost());
    EXPECT_THROW(group.all_max(1), RankFailedError);
  });
}

REGISTER_TYPED_TEST_SUITE_P(GroupContract, NumbersTheRanks, BroadcastsFromEachRank,
                            GathersInTheChief, FindsWhatIsDifferent, FindsTheLargestNumber,
                            SendsManyBytes, KeepsTheOrderOfManyCalls,
                            RefusesBadArgumentsAndStaysUsable, NamesARankThatIsMissing,
                            NamesAMissingChief, ReportsDifferentCalls, ReportsDifferentRoots,
                            NamesARankThatLeaves, ARankAloneLeaves);

}  // namespace crochet::inline v0
