// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Objects that are tracked by pointers to a base class.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/load.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/tracking/tracker.h"
#include "tests/support/restores_test.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// Lists no classes.
struct Agent {
  double money = 1;
  virtual ~Agent() = default;
  virtual void track(Tracker& tracker) { tracker("money", money); }
};
struct Trader : Agent {};

// Lists them; `track` is not virtual.
struct Form {
  virtual ~Form() = default;
  virtual double area() const = 0;
  double x = 0;
  void track(Tracker& tracker) { tracker("x", x); }
};
struct Circle final : Form {
  double radius = 1;
  double area() const override { return 3 * radius * radius; }
  void track(Tracker& tracker) {
    Form::track(tracker);
    tracker("radius", radius);
  }
};
struct Path : Form {
  std::vector<double> points;
  double area() const override { return static_cast<double>(points.size()); }
  void track(Tracker& tracker) {
    Form::track(tracker);
    tracker("points", points);
  }
};
struct Unlisted : Path {};

Classes<Form> crochet_classes(const Form*) {
  return Classes<Form>().add<Circle>("circle").add<Path>("path");
}

class TrackedClassesTest : public testing::Test {
 protected:
  template <typename T>
  void save(T& value) {
    Loop loop({.checkpoint = {.dir = "run"},
               .hooks = {StopAtStepHook({.num_steps = 1})},
               .files = &files_});
    loop.track("s", value);
    loop.run([] {});
  }

  MemoryFileSystem files_;
};

TEST_F(TrackedClassesTest, RefusesAnObjectOfAnotherClassWhenItIsTracked) {
  std::unique_ptr<Agent> agent = std::make_unique<Trader>();
  std::vector<std::shared_ptr<Agent>> agents = {std::make_shared<Agent>(),
                                                std::make_shared<Trader>()};
  Loop loop({.files = &files_});
  const auto refuses = [](const char* name) {
    return ThrowsMessage<FailedPreconditionError>(
        AllOf(HasSubstr(name), HasSubstr("found an object of class Trader at a pointer to Agent"),
              HasSubstr("crochet_classes(const Agent*)")));
  };
  EXPECT_THAT([&] { loop.track("agent", agent); }, refuses("\"agent\""));
  EXPECT_THAT([&] { loop.track("agents", agents); }, refuses("\"agents/1\""));
}

TEST_F(TrackedClassesTest, RefusesAnObjectOfAnotherClassAtTheFirstSave) {
  std::vector<std::unique_ptr<Agent>> agents;
  Loop loop({.checkpoint = {.dir = "run", .every_steps = 1},
             .hooks = {StopAtStepHook({.last_step = 9})},
             .files = &files_});
  loop.track("agents", agents);
  int64_t steps = 0;
  EXPECT_THROW(loop.run([&] {
    ++steps;
    agents.push_back(std::make_unique<Trader>());
  }),
               FailedPreconditionError);
  EXPECT_EQ(steps, 1);
}

TEST_F(TrackedClassesTest, TakesAnObjectOfTheClassItself) {
  std::vector<std::unique_ptr<Agent>> agents;
  agents.push_back(std::make_unique<Agent>());
  agents[0]->money = 3;
  save(agents);
  agents.clear();
  load("run", {{"s", agents}}, &files_);
  EXPECT_EQ(agents.at(0)->money, 3);
}

TEST_F(TrackedClassesTest, AsAdvisedTracksTheObjectInsteadOfThePointer) {
  std::unique_ptr<Agent> agent = std::make_unique<Trader>();
  agent->money = 3;
  save(*agent);
  agent->money = 0;
  load("run", {{"s", *agent}}, &files_);
  EXPECT_EQ(agent->money, 3);
}

TEST_F(TrackedClassesTest, ListedClassesComeBackWithAllTheirParts) {
  std::vector<std::unique_ptr<Form>> forms;
  auto circle = std::make_unique<Circle>();
  circle->radius = 2;
  circle->x = 5;
  auto path = std::make_unique<Path>();
  path->points = {1, 2, 3};
  forms.push_back(std::move(circle));
  forms.push_back(nullptr);
  forms.push_back(std::move(path));
  save(forms);
  const CheckpointReader reader("run/model.ckpt-1", files_);
  EXPECT_TRUE(reader.contains("s/0/%class/circle"));
  EXPECT_TRUE(reader.contains("s/0/radius"));

  std::vector<std::unique_ptr<Form>> resumed;
  resumed.push_back(std::make_unique<Path>());  // Of another class.
  load("run", {{"s", resumed}}, &files_);
  ASSERT_EQ(resumed.size(), 3);
  EXPECT_EQ(resumed[0]->area(), 12);
  EXPECT_EQ(resumed[0]->x, 5);
  EXPECT_EQ(resumed[1], nullptr);
  EXPECT_EQ(resumed[2]->area(), 3);
}

TEST_F(TrackedClassesTest, AnObjectOfTheStoredClassStaysInItsPlace) {
  std::shared_ptr<Form> form = std::make_shared<Circle>();
  save(form);
  const Form* const before = form.get();
  load("run", {{"s", form}}, &files_);
  EXPECT_EQ(form.get(), before);
}

TEST_F(TrackedClassesTest, RefusesAClassThatIsNotListed) {
  std::unique_ptr<Form> form = std::make_unique<Unlisted>();
  EXPECT_THAT([&] { save(form); }, ThrowsMessage<FailedPreconditionError>(AllOf(
                                       HasSubstr("Unlisted"), HasSubstr("Add the class to"))));
}

// A later version of the program: `radius` is smaller, circles have a colour, and there are discs.
struct NewForm {
  virtual ~NewForm() = default;
  virtual std::string text() const = 0;
  void track(Tracker&) {}
};
struct NewCircle final : NewForm {
  float radius = 1;
  int color = 1;
  std::string text() const override { return "circle " + std::to_string(radius); }
  void track(Tracker& tracker) { tracker("radius", radius)("color", color); }
};
struct Disc final : NewForm {
  double radius = 1;
  std::vector<double> points;
  std::string text() const override { return "disc " + std::to_string(radius); }
  void track(Tracker& tracker) { tracker("radius", radius)("points", points); }
};
struct Ring final : NewForm {
  double radius = 1;
  std::vector<double> points;
  std::string text() const override { return "ring " + std::to_string(radius); }
  void track(Tracker& tracker) { tracker("radius", radius)("points", points); }
};
struct Pair final : NewForm {
  std::unique_ptr<NewForm> first;
  std::string text() const override { return "pair of " + (first ? first->text() : "nothing"); }
  void track(Tracker& tracker) { tracker("first", first); }
};

Classes<NewForm> crochet_classes(const NewForm*) {
  return Classes<NewForm>().add<NewCircle>("circle").add<Disc>("disc").add<Ring>("ring").add<Pair>(
      "pair");
}

std::unique_ptr<Form> circle(double radius) {
  auto made = std::make_unique<Circle>();
  made->x = 5;
  made->radius = radius;
  return made;
}
std::unique_ptr<Form> path(std::vector<double> points) {
  auto made = std::make_unique<Path>();
  made->x = 7;
  made->points = std::move(points);
  return made;
}
template <typename Class>
std::unique_ptr<NewForm> round(double radius, std::vector<double> points = {}) {
  auto made = std::make_unique<Class>();
  made->radius = static_cast<decltype(made->radius)>(radius);
  if constexpr (requires { made->points; }) made->points = std::move(points);
  return made;
}
std::unique_ptr<NewForm> pair(std::unique_ptr<NewForm> first) {
  auto made = std::make_unique<Pair>();
  made->first = std::move(first);
  return made;
}

// Restores from a checkpoint that has an object of another class than the program, and the options
// that they advise.
class OtherClassTest : public RestoresTest {
 protected:
  OtherClassTest() : RestoresTest("s") {}

  // The log has one piece of advice, which is to keep the object `name`.
  void expect_advice_to_keep(const std::string& name) {
    EXPECT_TRUE(log_.contains("entries of \"" + name + "\", which .restore = {.keep = {\"" + name +
                              "\"}} keeps"));
    EXPECT_FALSE(log_.contains("allow_"));
    EXPECT_THAT(report_.dropped, ElementsAre(name));
    EXPECT_THAT(report_.made, ElementsAre(name));
    EXPECT_THAT(report_.resized, IsEmpty());
  }
  void expect_kept() const {
    EXPECT_THAT(report_.dropped, IsEmpty());
    EXPECT_THAT(report_.made, IsEmpty());
    EXPECT_FALSE(report_.kept.empty());
  }
};

TEST_F(OtherClassTest, ReplacesTheObjectUnlessItIsKept) {
  save(circle(2));
  EXPECT_EQ(restored(path({1, 2}))->area(), 12);
  expect_advice_to_keep("s");
  for (const NamePatterns& patterns :
       {NamePatterns{"s"}, NamePatterns{"s/*"}, NamePatterns(true)}) {
    const auto kept = restored(path({1, 2}), {.keep = patterns});
    EXPECT_EQ(kept->area(), 2);
    EXPECT_EQ(kept->x, 7);
    expect_kept();
  }
}

TEST_F(OtherClassTest, NamesTheElement) {
  const auto forms = [](auto... each) {
    std::vector<std::unique_ptr<Form>> forms;
    (forms.push_back(std::move(each)), ...);
    return forms;
  };
  save(forms(circle(1), circle(2)));
  EXPECT_EQ(restored(forms(circle(7), path({1, 2, 3}))).at(1)->area(), 12);
  expect_advice_to_keep("s/1");
  const auto kept = restored(forms(circle(7), path({1, 2, 3})), {.keep = {"s/1"}});
  EXPECT_EQ(kept.at(0)->area(), 3);
  EXPECT_EQ(kept.at(1)->area(), 3);
  EXPECT_EQ(kept.at(1)->x, 7);
}

// Nothing else shows that the object is another one.
TEST_F(OtherClassTest, IsReportedIfBothHaveTheSameParts) {
  save(round<Disc>(2, {1, 2}));
  EXPECT_EQ(restored(round<Ring>(7, {1, 2, 3}))->text(), "disc 2.000000");
  expect_advice_to_keep("s");
  EXPECT_EQ(restored(round<Ring>(7, {1, 2, 3}), {.keep = {"s"}})->text(), "ring 7.000000");
  expect_kept();
}

TEST_F(OtherClassTest, IsReportedOfTheOutermostObject) {
  save(pair(pair(round<Disc>(2))));
  const auto now = [] { return pair(round<Ring>(7)); };
  EXPECT_EQ(restored(now())->text(), "pair of pair of disc 2.000000");
  expect_advice_to_keep("s/first");
  EXPECT_EQ(restored(now(), {.keep = {"s/first"}})->text(), "pair of ring 7.000000");
  expect_kept();
  save(pair(round<Disc>(2)));
  EXPECT_EQ(restored(pair(pair(nullptr)))->text(), "pair of disc 2.000000");
  EXPECT_EQ(restored(pair(pair(nullptr)), {.keep = {"s/first"}})->text(),
            "pair of pair of nothing");
}

TEST_F(OtherClassTest, IsReportedWithinOtherValuesThatAreWhole) {
  using Any = std::variant<int, std::unique_ptr<NewForm>>;
  save(Any(round<Disc>(2)));
  EXPECT_EQ(std::get<1>(restored(Any(round<Ring>(7))))->text(), "disc 2.000000");
  expect_advice_to_keep("s/1");
  EXPECT_EQ(std::get<1>(restored(Any(round<Ring>(7)), {.keep = {"s/1"}}))->text(), "ring 7.000000");

  using Map = std::map<std::pair<int, int>, std::unique_ptr<NewForm>>;
  const auto map = [](std::unique_ptr<NewForm> form) {
    Map map;
    map[{1, 2}] = std::move(form);
    return map;
  };
  save(map(round<Disc>(2)));
  EXPECT_EQ((restored(map(round<Ring>(7))).at({1, 2})->text()), "disc 2.000000");
  expect_advice_to_keep("s");
  EXPECT_EQ((restored(map(round<Ring>(7)), {.keep = {"s"}}).at({1, 2})->text()), "ring 7.000000");
}

TEST_F(OtherClassTest, OfTheSameClassIsRestoredInPlace) {
  save(round<Disc>(2, {1, 2}));
  EXPECT_EQ(restored(round<Disc>(7, {1, 2, 3}))->text(), "disc 2.000000");
  EXPECT_THAT(report_.dropped, IsEmpty());
  EXPECT_TRUE(log_.contains("which .restore = {.keep = {\"s/points\"}} keeps"));
  restored(round<Disc>(7, {1, 2, 3}), {.keep = {"s/points"}});
  EXPECT_THAT(report_.kept, ElementsAre("s/points"));
}

TEST_F(OtherClassTest, APartCannotBeKept) {
  save(round<Disc>(2));
  EXPECT_THAT([&] { restored(round<Ring>(7), {.keep = {"s/radius"}}); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("restore.keep has \"s/radius\""), HasSubstr(".keep = {\"s\"}"))));
  EXPECT_EQ(restored(round<Ring>(7), {.keep = {"s"}})->text(), "ring 7.000000");
}

TEST_F(OtherClassTest, AdvisesWhatHelpsIfThePartsDifferToo) {
  save(circle(2));  // Without a colour, and with an `x`; the radius has another type.
  const RestoreOptions advised = {
      .allow_missing = {"s/color"}, .allow_mismatched = {"s/radius"}, .allow_surplus = {"s/x"}};
  EXPECT_THAT([&] { restored(round<Ring>(7)); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("{.allow_missing = {\"s/color\"}, .allow_surplus = {\"s/x\"}, "
                            ".convert_dtype = {\"s/radius\"}}")));
  EXPECT_EQ(restored(round<Ring>(7), advised)->text(), "ring 7.000000");
}

TEST_F(OtherClassTest, IsMadeOrDroppedAsAdvised) {
  save(std::unique_ptr<NewForm>());
  EXPECT_EQ(restored(round<Ring>(7)), nullptr);
  EXPECT_TRUE(log_.contains("which .restore = {.allow_missing = {\"s/*\"}} keeps"));
  EXPECT_EQ(restored(round<Ring>(7), {.allow_missing = {"s/*"}})->text(), "ring 7.000000");
  save(round<Ring>(7));
  EXPECT_EQ(restored(std::unique_ptr<NewForm>())->text(), "ring 7.000000");
  EXPECT_EQ(restored(std::unique_ptr<NewForm>(), {.allow_surplus = {"s/*"}}), nullptr);
}

TEST_F(OtherClassTest, OfAnUnknownNameIsRefusedWithAdvice) {
  save(round<Ring>(7));
  EXPECT_THAT(
      [&] {
        restored(path({1, 2}));
      },
      ThrowsMessage<InvalidArgumentError>(
          AllOf(HasSubstr("\"s\" is of the class \"ring\""),
                HasSubstr(".keep = {\"s\"} to keep this program's object"))));
  EXPECT_EQ(restored(path({1, 2}), {.keep = {"s"}})->area(), 2);
}

TEST_F(OtherClassTest, IsRefusedOfAFixedValue) {
  const auto restore = [&](auto now, const RestoreOptions& options) {
    auto value = fixed(now);
    run(options, value);
    return now;
  };
  save(round<Disc>(2));
  EXPECT_THAT([&] { restore(round<Ring>(7), {}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(".keep = {\"s\"}")));
  EXPECT_EQ(restore(round<Ring>(7), {.keep = {"s"}})->text(), "ring 7.000000");
  save(std::variant<int, double>(2));
  const std::variant<int, double> now = 7.0;
  EXPECT_THAT([&] { restore(now, {}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(".keep = {\"s\"}")));
  EXPECT_EQ(restore(now, {.keep = {"s"}}), now);
}

}  // namespace
}  // namespace crochet
