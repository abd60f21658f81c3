// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/ranks/internal/group_agreement.h"

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/ranks/ranks.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/store_ranks.h"

namespace crochet {
namespace {

using internal::RunAgreement;
using testing::HasSubstr;
using testing::Optional;
using testing::ThrowsMessage;

class GroupAgreementTest : public testing::Test {
 protected:
  ~GroupAgreementTest() override { set_pending_signal(0); }

  // Calls `body` in each of three ranks. They agree after each n-th step.
  static void run(const std::function<void(RunAgreement&, int rank)>& body,
                  int64_t every_n_steps = 1) {
    StoreRanks(3).run([&](const std::shared_ptr<Group>& group) {
      ScriptedGraph graph;
      body(*internal::make_agreement(group, every_n_steps, 60, graph), group->rank());
    });
  }
  static void start(RunAgreement& agreement, StopState& stop) {
    agreement.hold(stop);
    agreement.start(0, std::nullopt, std::nullopt, stop);
  }
};

TEST_F(GroupAgreementTest, GivesAllRanksTheChoiceOfTheChief) {
  run([](RunAgreement& agreement, int rank) {
    EXPECT_EQ(agreement.choose([&] { return fmt::format("choice of {}", rank); }), "choice of 0");
    EXPECT_EQ(agreement.share(fmt::format("text of {}", rank)), "text of 0");
    EXPECT_EQ(agreement.gather("x").size(), rank == 0 ? 3U : 0U);
  });
}

TEST_F(GroupAgreementTest, LetsAllRecoverIfTheChiefMust) {
  run([](RunAgreement& agreement, int) {
    EXPECT_THAT([&] { agreement.choose([]() -> std::string { throw AbortedError("gone"); }); },
                ThrowsMessage<AbortedError>(HasSubstr("gone")));
    agreement.recover(std::make_exception_ptr(AbortedError("gone")));  // Nothing is exchanged.
    EXPECT_EQ(agreement.choose([] { return "again"; }), "again");
  });
}

TEST_F(GroupAgreementTest, NamesTheFirstRankThatDiffers) {
  run([](RunAgreement& agreement, int rank) {
    agreement.check_same([] { return internal::Fingerprint{{"w", "float32 [2]"}}; });
    const auto fingerprint = [rank] {
      return internal::Fingerprint{{"w", rank == 1 ? "int64 [2]" : "float32 [2]"}};
    };
    EXPECT_THAT([&] { agreement.check_same(fingerprint); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(
                    "rank 1 of 3 differs from rank 0: w is int64 [2], expected float32 [2]")));
  });
}

TEST_F(GroupAgreementTest, FindsTheFirstText) {
  run([](RunAgreement& agreement, int rank) {
    EXPECT_EQ(agreement.first_of(""), std::nullopt);
    EXPECT_THAT(agreement.first_of(rank == 0 ? "" : fmt::format("damage {}", rank)),
                Optional(std::string("rank 1: damage 1")));
  });
}

// A process that is asked to end by a signal has little time, also where a hook asks for a stop.
TEST_F(GroupAgreementTest, AStopHasTheSignalOfAnyRank) {
  run([](RunAgreement& agreement, int rank) {
    StopState stop;
    start(agreement, stop);
    internal::SaveProposal save;
    std::optional<StopRequest> proposal;
    if (rank == 0) proposal = StopRequest{"a hook", "enough"};
    if (rank == 2) proposal = StopRequest{"SignalHook", "SIGTERM", SIGTERM};
    agreement.after_step(1, proposal, save, stop);
    ASSERT_TRUE(stop.stop_request());
    EXPECT_EQ(stop.stop_request()->who, "rank 0: a hook");
    EXPECT_EQ(stop.stop_request()->signal, SIGTERM);
  });
}

TEST_F(GroupAgreementTest, SavesIfARankAsksForItUnlessOneRejects) {
  run([](RunAgreement& agreement, int rank) {
    StopState stop;
    start(agreement, stop);
    internal::SaveProposal save;
    if (rank == 1) save.request = "a good moment";
    agreement.after_step(1, std::nullopt, save, stop);
    EXPECT_THAT(save.request, Optional(std::string("rank 1: a good moment")));
    EXPECT_FALSE(save.is_rejected);
    save = {};
    save.is_rejected = rank == 2;
    agreement.after_step(2, std::nullopt, save, stop);
    EXPECT_EQ(save.request, std::nullopt);
    EXPECT_TRUE(save.is_rejected);
  });
}

TEST_F(GroupAgreementTest, ARequestWaitsUntilTheRanksAgree) {
  run(
      [](RunAgreement& agreement, int rank) {
        StopState stop;
        start(agreement, stop);
        EXPECT_TRUE(agreement.is_agreed());
        internal::SaveProposal save;
        if (rank == 0) save.request = "now";
        agreement.after_step(1, std::nullopt, save, stop);
        EXPECT_FALSE(agreement.is_agreed());
        EXPECT_EQ(save.request, std::nullopt);
        agreement.after_step(3, std::nullopt, save, stop);
        EXPECT_TRUE(agreement.is_agreed());
        EXPECT_THAT(save.request, Optional(std::string("now")));
      },
      /*every_n_steps=*/3);
}

// Also the one that is ahead: it must not save what the others do not have.
TEST_F(GroupAgreementTest, RanksAtDifferentStepsAreAnErrorInAll) {
  run([](RunAgreement& agreement, int rank) {
    StopState stop;
    start(agreement, stop);
    internal::SaveProposal save;
    EXPECT_THROW(agreement.after_step(rank == 1 ? 2 : 1, std::nullopt, save, stop),
                 FailedPreconditionError);
  });
}

TEST_F(GroupAgreementTest, EndsWithTheSignalOfAnyRank) {
  run([](RunAgreement& agreement, int) {
    StopState stop;
    start(agreement, stop);
    set_pending_signal(SIGTERM);
    stop.request_stop({"a hook", "enough"});
    EXPECT_FALSE(stop.stop_request());
    agreement.finish([] { return int64_t{0}; }, stop);
    ASSERT_TRUE(stop.stop_request());
    EXPECT_EQ(stop.stop_request()->who, "a hook");
    EXPECT_EQ(agreement.ending_signal(), SIGTERM);
    agreement.finished();
  });
}

TEST_F(GroupAgreementTest, ARankThatFailsEndsTheCallsOfTheOthers) {
  run([](RunAgreement& agreement, int rank) {
    if (rank == 1) return agreement.fail(std::make_exception_ptr(DataLossError("a bad disk")));
    EXPECT_THAT([&] { agreement.share(""); },
                ThrowsMessage<RankFailedError>(HasSubstr("a bad disk")));
    EXPECT_FALSE(agreement.can_recover());
  });
}

// Parts of a rank that is silent may never be written; one that fails finishes its part.
TEST_F(GroupAgreementTest, OnlyASilentRankLeavesPartsUnwritten) {
  for (const bool is_silent : {false, true})
    StoreRanks(2).run([&](const std::shared_ptr<Group>& group) {
      ScriptedGraph graph;
      internal::GroupAgreement agreement(group, 1, 60, internal::RankLayout::of(graph));
      if (group->rank() == 1) {
        if (!is_silent) agreement.fail(std::make_exception_ptr(DataLossError("a bad disk")));
        return;
      }
      try {
        agreement.share("");
        FAIL() << "no error";
      } catch (...) {
        agreement.fail(std::current_exception());
      }
      EXPECT_EQ(agreement.lost()->load(), is_silent);
      // What is thrown afterwards is a consequence.
      agreement.fail(std::make_exception_ptr(UnavailableError("the group is lost")));
      EXPECT_EQ(agreement.lost()->load(), is_silent);
    });
}

TEST(AloneTest, AgreesWithItself) {
  const std::shared_ptr<RunAgreement> alone = internal::agreement_alone();
  EXPECT_TRUE(alone->is_alone());
  EXPECT_TRUE(alone->is_chief());
  EXPECT_TRUE(alone->is_agreed());
  EXPECT_EQ(alone->choose([] { return "mine"; }), "mine");
  EXPECT_EQ(alone->share("mine"), "mine");
  EXPECT_EQ(alone->first_of(""), std::nullopt);
  EXPECT_EQ(alone->first_of("damage"), "damage");
  StopState stop;
  alone->hold(stop);
  stop.request_stop({"a hook", "enough"});
  EXPECT_TRUE(stop.stop_request());
  EXPECT_THROW(alone->as_rank([] { throw InvalidArgumentError("mine"); }), InvalidArgumentError);
}

TEST(AloneTest, AGroupOfOneIsNotAsked) {
  ScriptedGraph graph;
  const auto group = std::make_shared<SingleGroup>();
  const auto agreement = internal::make_agreement(group, 1, 60, graph);
  EXPECT_TRUE(agreement->is_alone());
  EXPECT_EQ(group_of(graph), nullptr);
  {
    const internal::AttachedAgreement attached(graph, agreement);
    EXPECT_EQ(group_of(graph), group.get());
    EXPECT_EQ(internal::agreement_of(graph), agreement);
  }
  EXPECT_EQ(group_of(graph), nullptr);
}

}  // namespace
}  // namespace crochet
