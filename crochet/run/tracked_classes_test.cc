// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Objects that are tracked by pointers to a base class.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/run/classes.h"
#include "crochet/run/load.h"
#include "crochet/run/loop.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
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
    Loop loop(
        {.checkpoint_dir = "run", .hooks = {StopAtStepHook({.num_steps = 1})}, .files = &files_});
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
  Loop loop({.checkpoint_dir = "run",
             .save_checkpoint_steps = 1,
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

}  // namespace
}  // namespace crochet
