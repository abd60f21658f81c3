// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/joined_renamings.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/engines/local/graph.h"
#include "crochet/session/parted_saveable.h"

namespace crochet {
namespace {

using internal::JoinedRenamings;
using internal::RestoreMismatch;
using testing::ElementsAre;
using testing::IsEmpty;

// Plans its own parts, as a module does.
class Module final : public PartedSaveable {
 public:
  explicit Module(std::vector<StatePart> parts) : parts_(std::move(parts)) {
    for (StatePart& part : parts_) part.planned_by = "";
  }

  TensorMap save() const override { return {}; }
  std::vector<StatePart> parts_for(const StoredParts&) const override { return parts_; }
  void restore_parts(const StoredParts&, PartValues&) override {}

 private:
  std::vector<StatePart> parts_;
};

// The program has "rate", and a module "net" with a submodule "a".
class JoinedRenamingsTest : public testing::Test {
 protected:
  JoinedRenamingsTest() {
    graph_.variable("rate", Tensor::scalar(1.0));
    graph_.add_saveable({.name = "net",
                         .object = std::make_shared<Module>(std::vector<StatePart>{
                             {.key = "a.w"},
                             {.key = "a.b"},
                             {.key = "w"},
                             {.key = "modes/training", .is_object = true, .is_optional = true},
                             {.key = "gradients/a.w", .named_after = "net/a.w"}})});
  }

  JoinedRenamings joined(const std::vector<StoredName>& renamings,
                         const std::vector<std::string>& only_stored) const {
    RestoreMismatch mismatch;
    for (const StoredName& each : renamings) mismatch.missing.push_back({each.name, each.name, {}});
    for (const std::string& key : only_stored) mismatch.surplus.push_back({key, {}});
    return JoinedRenamings(renamings, mismatch, graph_);
  }

  local::Graph graph_;
};

TEST_F(JoinedRenamingsTest, AModuleIsOneRule) {
  const JoinedRenamings renamings =
      joined({{"net/a.w", "old/a.w"}, {"net/a.b", "old/a.b"}, {"net/w", "old/w"}},
             {"old/a.w", "old/a.b", "old/w", "old/gradients/a.w", "old/modes/training"});
  EXPECT_THAT(renamings.rules, ElementsAre(StoredName{"net", "old"}));
  EXPECT_THAT(renamings.missing, IsEmpty());
  EXPECT_THAT(renamings.surplus, IsEmpty());
}

TEST_F(JoinedRenamingsTest, ASubmoduleIsOneRule) {
  const JoinedRenamings renamings = joined({{"net/a.w", "net/b.w"}, {"net/a.b", "net/b.b"}},
                                           {"net/b.w", "net/b.b", "net/gradients/b.w"});
  EXPECT_THAT(renamings.rules, ElementsAre(StoredName{"net/a.*", "net/b.*"}));
  EXPECT_THAT(renamings.surplus, IsEmpty());
}

// A rule for the module would look for "old/w", which does not exist.
TEST_F(JoinedRenamingsTest, ARuleIsAsWideAsAllItsValuesExist) {
  EXPECT_THAT(
      joined({{"net/a.w", "old/a.w"}, {"net/a.b", "old/a.b"}}, {"old/a.w", "old/a.b"}).rules,
      ElementsAre(StoredName{"net/a.*", "old/a.*"}));
  EXPECT_THAT(joined({{"net/a.w", "old/a.w"}}, {"old/a.w"}).rules,
              ElementsAre(StoredName{"net/a.w", "old/a.w"}));
}

TEST_F(JoinedRenamingsTest, ARuleThatContradictsAnotherIsNotJoined) {
  const std::vector<StoredName> single = {
      {"net/a.w", "net/b.w"}, {"net/a.b", "net/c.b"}, {"net/w", "net/v"}};
  EXPECT_EQ(joined(single, {"net/b.w", "net/b.b", "net/c.b", "net/c.w", "net/v"}).rules, single);
}

TEST_F(JoinedRenamingsTest, AValueOutsideOfModulesKeepsItsOwnRule) {
  EXPECT_THAT(joined({{"rate", "speed"}}, {"speed"}).rules,
              ElementsAre(StoredName{"rate", "speed"}));
}

TEST_F(JoinedRenamingsTest, ListsWhatIsLeft) {
  RestoreMismatch mismatch;
  mismatch.missing = {{"net/w", "net/w", {}}, {"rate", "rate", {}}};
  mismatch.surplus = {{"old/w", {}}, {"old/other", {}}};
  const JoinedRenamings renamings({{"net/w", "old/w"}}, mismatch, graph_);
  EXPECT_THAT(renamings.missing, ElementsAre("rate"));
  EXPECT_THAT(renamings.surplus, ElementsAre("old/other"));
}

// It may have a parameter group whose parameters are renamed.
TEST_F(JoinedRenamingsTest, DoesNotAdviseToLeaveOutWhatAnObjectMayTakeOnceItsPartsAreRenamed) {
  graph_.add_saveable({.name = "adam",
                       .object = std::make_shared<Module>(
                           std::vector<StatePart>{{.key = "step/net/w", .named_after = "net/w"}})});
  EXPECT_THAT(
      joined({{"net/w", "old/w"}}, {"old/w", "adam/step/old/w", "adam/groups/1/lr"}).surplus,
      IsEmpty());
  EXPECT_THAT(joined({{"rate", "speed"}}, {"speed", "adam/groups/1/lr"}).surplus,
              ElementsAre("adam/groups/1/lr"));
}

TEST_F(JoinedRenamingsTest, WithoutRenamingsAllIsLeft) {
  RestoreMismatch mismatch;
  mismatch.missing = {{"net/w", "net/w", {}}};
  mismatch.surplus = {{"old/w", {}}};
  const JoinedRenamings renamings({}, mismatch, graph_);
  EXPECT_THAT(renamings.rules, IsEmpty());
  EXPECT_THAT(renamings.missing, ElementsAre("net/w"));
  EXPECT_THAT(renamings.surplus, ElementsAre("old/w"));
}

}  // namespace
}  // namespace crochet
