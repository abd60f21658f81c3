// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/process_owner.h"

#include <unistd.h>

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/process_bound.h"
#include "tests/support/forked_child.h"

namespace crochet::internal {
namespace {

TEST(ProcessOwnerTest, IsHereUntilTheProcessIsForked) {
  const ProcessOwner owner;
  EXPECT_TRUE(owner.is_here());
  EXPECT_NO_THROW(owner.check("the ring"));
  EXPECT_EQ(run_in_child([&] { return owner.is_here() ? 1 : 0; }), 0);
  EXPECT_TRUE(owner.is_here());
}

TEST(ProcessOwnerTest, NamesBothProcesses) {
  const ProcessOwner owner;
  const pid_t parent = ::getpid();
  EXPECT_EQ(run_in_child([&] {
              try {
                owner.check("the ring");
              } catch (const FailedPreconditionError& error) {
                return error.what() == fmt::format(
                                           "the ring: belongs to process {}, from which process "
                                           "{} was forked",
                                           parent, ::getpid())
                           ? 0
                           : 1;
              }
              return 2;
            }),
            0);
}

TEST(ProcessOwnerTest, DistinguishesAGrandchildFromItsAncestors) {
  const ProcessOwner first;
  EXPECT_EQ(run_in_child([&] {
              const ProcessOwner second;
              if (first.is_here() || !second.is_here()) return 1;
              return run_in_child([&] {
                const ProcessOwner third;
                return first.is_here() || second.is_here() || !third.is_here() ? 2 : 0;
              });
            }),
            0);
}

struct Counted {
  explicit Counted(int* its_count) : count(its_count) {}
  ~Counted() { ++*count; }
  int* count;
};

TEST(ProcessBoundTest, IsUsedAndDestroyedByItsProcessOnly) {
  int num_destroyed = 0;
  auto bound = std::make_unique<ProcessBound<Counted>>("the object", &num_destroyed);
  EXPECT_EQ((*bound)->count, &num_destroyed);
  EXPECT_EQ(run_in_child([&] {
              if (bound->is_here() || bound->unchecked().count != &num_destroyed) return 1;
              try {
                static_cast<void>(**bound);
                return 2;
              } catch (const FailedPreconditionError&) {
              }
              bound.reset();
              return num_destroyed == 0 ? 0 : 3;
            }),
            0);
  bound.reset();
  EXPECT_EQ(num_destroyed, 1);
}

TEST(PerProcessTest, AChildCreatesItsOwn) {
  PerProcess<std::string> text;
  *text = "the parent's";
  EXPECT_EQ(run_in_child([&] {
              if (!text->empty()) return 1;
              *text = "the child's";
              return *text == "the child's" ? 0 : 2;
            }),
            0);
  EXPECT_EQ(*text, "the parent's");
}

}  // namespace
}  // namespace crochet::internal
