// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/structure_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet {
namespace {

using internal::StructureFit;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<StatePart> parts(const std::vector<std::string>& names) {
  std::vector<StatePart> parts;
  for (const std::string& name : names)
    parts.push_back({.key = name, .is_object = internal::is_marker(name)});
  return parts;
}

StoredParts::Map stored(const std::vector<std::string>& names) {
  StoredParts::Map stored;
  for (const std::string& name : names) stored.emplace(name, StoredParts::Part{});
  return stored;
}

// The options match what begins so.
StructureFit fit(const std::vector<std::string>& present, const std::vector<std::string>& in_file,
                 const std::string& stays = "-", const std::string& left_out = "-") {
  return StructureFit(
      parts(present), stored(in_file),
      {.stays = [stays](const std::string& part) { return part.starts_with(stays); },
       .is_left_out = [left_out](const std::string& part) { return part.starts_with(left_out); }});
}

std::vector<std::string> names(const std::vector<StructureFit::Entry>& entries) {
  std::vector<std::string> names;
  for (const auto& each : entries) names.push_back(each.name);
  return names;
}

std::vector<std::string> names(const StoredParts::Map& parts) {
  std::vector<std::string> names;
  for (const auto& [name, part] : parts) names.push_back(name);
  return names;
}

TEST(StructureFitTest, NamesTheTopmostPartThatOnlyOneHas) {
  const StructureFit found = fit({"de/w", "de/b", "fr/w", "fr/b"}, {"de/w", "de/b", "en/w"});
  EXPECT_THAT(names(found.only_present), ElementsAre("fr"));
  EXPECT_THAT(found.only_present[0].parts, ElementsAre("fr/w", "fr/b"));
  EXPECT_THAT(names(found.only_stored), ElementsAre("en"));
  EXPECT_THAT(names(found.wanted), ElementsAre("de/b", "de/w", "en/w"));
}

TEST(StructureFitTest, AnEntryStaysIfAllOfItsPartsDo) {
  EXPECT_THAT(names(fit({"de/w", "fr/w", "fr/b"}, {"de/w"}, "fr/").wanted),
              ElementsAre("de/w", "fr/b", "fr/w"));
  EXPECT_THAT(names(fit({"de/w", "fr/w", "fr/b"}, {"de/w"}, "fr/w").wanted), ElementsAre("de/w"));
}

TEST(StructureFitTest, LeavesOutWhatOnlyTheCheckpointHas) {
  const StructureFit found = fit({"de/w"}, {"de/w", "fr/w", "fr/b"}, "-", "fr/");
  EXPECT_THAT(names(found.wanted), ElementsAre("de/w"));
  EXPECT_THAT(found.left_out, ElementsAre("fr/b", "fr/w"));
  EXPECT_THAT(names(fit({"de/w"}, {"de/w", "fr/w", "fr/b"}, "-", "fr/b").wanted),
              ElementsAre("de/w", "fr/b", "fr/w"));
}

TEST(StructureFitTest, AnEmptyContainerAwaitsEntries) {
  const StructureFit found = fit({"a/%empty", "n"}, {"a/0/x", "a/1/x", "n"});
  EXPECT_THAT(names(found.only_stored), ElementsAre("a"));
  EXPECT_TRUE(found.only_stored[0].is_awaited);
  EXPECT_THAT(found.only_present, IsEmpty());
  EXPECT_FALSE(fit({"a/0/x"}, {"a/0/x", "a/1/x"}).only_stored[0].is_awaited);
}

TEST(StructureFitTest, EntriesThatStayMakeAMarkerVoid) {
  EXPECT_THAT(names(fit({"a/0/x"}, {"a/%empty"}).only_present), ElementsAre("a/0"));
  const StructureFit found = fit({"a/0/x"}, {"a/%empty"}, "a/");
  EXPECT_THAT(names(found.wanted), ElementsAre("a/0/x"));
  EXPECT_THAT(found.void_markers, ElementsAre("a/%empty"));
}

TEST(StructureFitTest, AnAbsentValueIsAnEntryAsAWhole) {
  const StructureFit dropped = fit({"x", "y"}, {"%null"});
  EXPECT_THAT(names(dropped.only_present), ElementsAre(""));
  EXPECT_TRUE(dropped.only_present[0].is_nullable);
  EXPECT_THAT(names(fit({"x", "y"}, {"%null"}, "x").wanted), ElementsAre("%null"));
  EXPECT_THAT(names(fit({"head"}, {"head/%null"}, "head").wanted), ElementsAre("head"));
  EXPECT_THAT(names(fit({"b", "head/%null"}, {"b", "head/w"}).only_stored), ElementsAre("head"));
}

TEST(StructureFitTest, EntriesOfAnObjectAreItsOwn) {
  std::vector<StatePart> present = parts({"generator"});
  present[0].is_object = true;
  const StructureFit found(present, stored({"generator/state", "generator/cached"}),
                           {.stays = [](const std::string&) { return false; },
                            .is_left_out = [](const std::string&) { return false; }});
  EXPECT_THAT(found.only_present, IsEmpty());
  EXPECT_THAT(found.only_stored, IsEmpty());
}

// As the names of its entries depend on its keys.
TEST(StructureFitTest, AKeyedContainerTakesNoOptionsForItsEntries) {
  std::vector<StatePart> present = parts({"a/values/0/x", "a/values/1/x", "b/values/0/x"});
  for (StatePart& part : present) part.wholes = {{part.key.substr(0, 1), WholeValue::Kind::kKeyed}};
  const StructureFit found(present, stored({"a/values/0/x", "a/values/2/x"}),
                           {.stays = [](const std::string&) { return true; },
                            .is_left_out = [](const std::string&) { return true; }});
  EXPECT_THAT(names(found.only_present), ElementsAre("a/values/1"));
  EXPECT_EQ(found.only_present.at(0).whole.value().name, "a");
  EXPECT_THAT(names(found.only_stored), ElementsAre("a/values/2"));
  EXPECT_THAT(names(found.wanted), ElementsAre("a/values/0/x", "a/values/2/x", "b/values/0/x"));
  EXPECT_TRUE(found.wanted.at("b/values/0/x").is_own);
}

class PlannedStructureTest : public testing::Test {
 protected:
  // "0" and "1" plan their own parts, and "0" has a container beside them.
  static StructureFit fit(const std::vector<std::string>& in_file, bool stays = false) {
    std::vector<StatePart> present = parts({"0/w", "0/extra", "1/w", "0/members/0/x"});
    for (StatePart& part : present)
      if (!part.key.starts_with("0/members")) part.planned_by = part.key.substr(0, 1);
    return StructureFit(present, stored(in_file),
                        {.stays = [stays](const std::string&) { return stays; },
                         .is_left_out = [](const std::string&) { return true; }});
  }
};

TEST_F(PlannedStructureTest, WhatPlansItsPartsComparesThem) {
  const StructureFit found = fit({"0/w", "0/state/w", "0/members/0/x", "1/w"}, true);
  EXPECT_THAT(names(found.wanted), ElementsAre("0/members/0/x", "0/state/w", "0/w", "1/w"));
  EXPECT_THAT(found.left_out, IsEmpty());
  EXPECT_THAT(found.only_present, IsEmpty());
}

TEST_F(PlannedStructureTest, IsAnEntryOfItsContainer) {
  const std::vector<std::string> first = {"0/w", "0/extra", "0/members/0/x"};
  EXPECT_THAT(names(fit(first).only_present), ElementsAre("1"));
  EXPECT_THAT(names(fit(first, true).wanted),
              ElementsAre("0/extra", "0/members/0/x", "0/w", "1/w"));
  EXPECT_THAT(fit({"0/w", "0/members/0/x", "1/w", "2/w"}).left_out, ElementsAre("2/w"));
}

TEST_F(PlannedStructureTest, AContainerBesideItsPartsIsComparedAsAnyOther) {
  EXPECT_THAT(fit({"0/w", "0/members/0/x", "0/members/1/x", "1/w"}).left_out,
              ElementsAre("0/members/1/x"));
}

}  // namespace
}  // namespace crochet
