// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a program restores, and what the error says where a checkpoint does not fit.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/hooks/early_stopping_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/io/file_system.h"
#include "crochet/loop/load.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/raw_torch.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

class RestoringTest : public testing::Test {
 protected:
  LoopOptions options(int64_t last_step, const RestoreOptions& restore = {},
                      const std::string& directory = "run") {
    return {.checkpoint = {.dir = directory, .every_steps = 10},
            .restore = restore,
            .hooks = {StopAtStepHook({.last_step = last_step})},
            .files = &files_};
  }

  // Trains "model/w" and "model/b" to step 20: all values are the step.
  void train(const std::string& directory = "run") {
    std::vector<float> w(3);
    float b = 0;
    Loop loop(options(20, {}, directory));
    loop.track("model/w", w);
    loop.track("model/b", b);
    loop.run([&](Step& step) {
      w.assign(3, static_cast<float>(step.number()));
      b = static_cast<float>(step.number());
    });
  }

  // Tracks what `track` does, and runs to step 30.
  template <typename Track>
  RunReport resume(const RestoreOptions& restore, const Track& track,
                   const std::string& directory = "run") {
    Loop loop(options(30, restore, directory));
    track(loop);
    return loop.run([] {});
  }

  // Of severity INFO, that contain the text.
  int64_t num_lines(const std::string& text) const {
    return std::ranges::count_if(log_.lines(Severity::kInfo), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }

  LogCapture log_;
  MemoryFileSystem files_;
};

TEST_F(RestoringTest, AFieldThatWasGainedStartsWithTheOptionThatTheErrorNames) {
  train();
  std::vector<float> w(3);
  float b = 0;
  std::array<float, 128> momentum = {};
  momentum[5] = 7;
  const auto track = [&](Loop& loop) {
    loop.track("model/w", w);
    loop.track("model/b", b);
    loop.track("model/momentum", momentum);
  };
  EXPECT_THAT([&] { resume({}, track); },
              ThrowsMessage<NotFoundError>(
                  "run: model.ckpt-20 lacks \"model/momentum\" (float32 [128]); everything else "
                  "matches. Start with .restore = {.allow_missing = {\"model/momentum\"}} to keep "
                  "its initial value, or add it to a copy with crochet convert --fill"));
  const RestoreOptions restore = {.allow_missing = {"model/momentum"}};
  const RunReport report = resume(restore, track);
  EXPECT_EQ(report.resumed_from, 20);
  EXPECT_THAT(report.restore->missing, ElementsAre("model/momentum"));
  EXPECT_EQ(w[2], 20);
  EXPECT_EQ(momentum[5], 7);
  momentum[5] = 0;
  EXPECT_THAT(resume(restore, track).restore->missing, IsEmpty()) << "it is saved by now";
  EXPECT_EQ(momentum[5], 7);
}

TEST_F(RestoringTest, AFieldThatWasLostStartsWithTheOptionThatTheErrorNames) {
  train();
  float b = 0;
  const auto track = [&](Loop& loop) { loop.track("model/b", b); };
  EXPECT_THAT([&] { resume({}, track); },
              ThrowsMessage<InvalidArgumentError>(
                  "run: model.ckpt-20 has \"model/w\" (float32 [3]), which this program does not "
                  "track; everything else matches. Start with .restore = {.allow_surplus = "
                  "{\"model/w\"}} to leave it out"));
  resume({.allow_surplus = {"model/*"}}, track);
  EXPECT_EQ(b, 20);
}

TEST_F(RestoringTest, AFieldThatWasRenamedStartsWithTheOptionThatTheErrorNames) {
  train();
  std::vector<float> weights(3);
  float b = 0;
  const auto track = [&](Loop& loop) {
    loop.track("model/weights", weights);
    loop.track("model/b", b);
  };
  EXPECT_THAT(
      [&] { resume({}, track); },
      ThrowsMessage<InvalidArgumentError>(HasSubstr(
          "Start with .restore = {.rename = {{\"model/weights\", \"model/w\"}}} if it was renamed, "
          "or with .restore = {.allow_missing = {\"model/weights\"}, .allow_surplus = "
          "{\"model/w\"}} to keep its initial value and leave it out")));
  const RestoreOptions restore = {.rename = {{"model/weights", "model/w"}}};
  EXPECT_THAT(resume(restore, track).restore->renamed,
              ElementsAre(std::pair("model/weights", "model/w")));
  EXPECT_EQ(weights[0], 20);
  EXPECT_THAT(resume(restore, track).restore->renamed, IsEmpty()) << "it is saved by now";
  EXPECT_EQ(weights[0], 20);
}

TEST_F(RestoringTest, SuggestsTheRenamingWithTheMostSimilarName) {
  std::vector<float> encoder = {1, 2};
  std::vector<float> decoder = {3, 4};
  {
    Loop loop(options(20));
    loop.track("encoder/weights", encoder);
    loop.track("decoder/weights", decoder);
    loop.run([] {});
  }
  std::vector<float> enc(2), dec(2), momentum(2);
  const auto track = [&](Loop& loop) {
    loop.track("enc/weights", enc);
    loop.track("dec/weights", dec);
    loop.track("momentum", momentum);
  };
  EXPECT_THAT([&] { resume({}, track); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("Start with .restore = {.rename = {{\"enc/weights\", "
                            "\"encoder/weights\"}, {\"dec/weights\", \"decoder/weights\"}}, "
                            ".allow_missing = {\"momentum\"}} if they were renamed, or with ")));
  resume({.rename = {{"enc/weights", "encoder/weights"}, {"dec/weights", "decoder/weights"}},
          .allow_missing = {"momentum"}},
         track);
  EXPECT_THAT(enc, ElementsAre(1, 2));
  EXPECT_THAT(dec, ElementsAre(3, 4));
}

TEST_F(RestoringTest, TheAdviceKeepsTheOptionsThatAreSet) {
  train("old");
  std::vector<float> v(3);
  std::array<double, 1> b = {};
  float a1 = 1, a2 = 2, extra = 3;
  const auto track = [&](Loop& loop) {
    loop.track("model/v", v);
    loop.track("model/b", b);
    loop.track("model/a1", a1);
    loop.track("model/a2", a2);
    loop.track("model/extra", extra);
  };
  const std::string set =
      ".restore = {.from = \"old\", .which = CheckpointChoice::at_step(10), .only = {\"model/*\"}, "
      ".rename = {{\"model/v\", \"model/w\"}}, .allow_missing = {\"model/a?\"";
  EXPECT_THAT(
      [&] {
        resume({.from = "old",
                .which = CheckpointChoice::at_step(10),
                .only = {"model/*"},
                .rename = {{"model/v", "model/w"}},
                .allow_missing = {"model/a?"},
                .convert_dtype = true},
               track);
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr(
          "Start with " + set +
          ", \"model/extra\"}, .allow_mismatched = {\"model/b\"}, .convert_dtype = true} to keep "
          "its initial value and keep the initial value")));
  EXPECT_EQ(resume({.from = "old",
                    .which = CheckpointChoice::at_step(10),
                    .only = {"model/*"},
                    .rename = {{"model/v", "model/w"}},
                    .allow_missing = {"model/a?", "model/extra"},
                    .allow_mismatched = {"model/b"},
                    .convert_dtype = true},
                   track)
                .first_step,
            0);
  EXPECT_EQ(v[0], 10);
}

TEST_F(RestoringTest, TheAdviceWritesEveryOptionAsTheProgramDoes) {
  {
    LoopOptions with = options(20, {}, "old");
    with.checkpoint.saver.keep_best = KeepBest{"loss", 1};
    Loop loop(std::move(with));
    loop.scalar("loss", [] { return 1.0; });
    loop.run([] {});
  }
  float x = 0;
  const auto track = [&](Loop& loop) { loop.track("x", x); };
  EXPECT_THAT(
      [&] {
        resume({.from = "old",
                .which = CheckpointChoice::best("loss", Better::kLower),
                .allow_mismatched = true,
                .allow_surplus = {"a", "b \"quoted\""},
                .reshape = {"c"}},
               track);
      },
      ThrowsMessage<NotFoundError>(HasSubstr(
          "Start with .restore = {.from = \"old\", .which = CheckpointChoice::best(\"loss\", "
          "Better::kLower), .allow_missing = {\"x\"}, .allow_mismatched = true, .allow_surplus = "
          "{\"a\", \"b \\\"quoted\\\"\"}, .reshape = {\"c\"}} to keep its initial value")));
}

// A renaming that is set and finds nothing would hide the suggested one.
TEST_F(RestoringTest, ASuggestedRenamingReplacesTheOneThatIsSet) {
  train();
  std::vector<float> weights(3);
  float b = 0;
  const auto track = [&](Loop& loop) {
    loop.track("model/weights", weights);
    loop.track("model/b", b);
  };
  EXPECT_THAT(
      [&] {
        resume({.rename = {{"model/weights", "model/kernel"}, {"model/*", "net/*"}}}, track);
      },
      ThrowsMessage<InvalidArgumentError>(
          HasSubstr("Start with .restore = {.rename = {{\"model/weights\", \"model/w\"}}} if "
                    "it was renamed")));
  resume({.rename = {{"model/weights", "model/w"}}}, track);
  EXPECT_EQ(weights[0], 20);
}

TEST_F(RestoringTest, ASuggestedNameMatchesOnlyItself) {
  train();
  std::vector<float> w(3);
  float b = 0, first = 0;
  const auto track = [&](Loop& loop) {
    loop.track("model/w", w);
    loop.track("model/b", b);
    loop.track("first[0]", first);
  };
  EXPECT_THAT([&] { resume({}, track); },
              ThrowsMessage<NotFoundError>(
                  HasSubstr("Start with .restore = {.allow_missing = {\"first\\\\[0]\"}} to")));
  EXPECT_THAT(resume({.allow_missing = {"first\\[0]"}}, track).restore->missing,
              ElementsAre("first[0]"));
}

struct CannotBeMade {
  explicit CannotBeMade(float initial) : value(initial) {}
  void track(Tracker& tracker) { tracker("value", value); }
  float value;
};

TEST_F(RestoringTest, NothingIsSuggestedThatWouldNotHelp) {
  std::vector<CannotBeMade> parts(2, CannotBeMade(1));
  {
    Loop loop(options(20));
    loop.track("parts", parts);
    loop.run([] {});
  }
  parts.pop_back();
  float extra = 0;
  const auto track = [&](Loop& loop) {
    loop.track("parts", parts);
    loop.track("extra", extra);
  };
  EXPECT_THAT([&] { resume({}, track); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("lacks \"extra\" (float32 []); and \"parts\": "),
                        HasSubstr("cannot make"), Not(HasSubstr("Start with")))));
}

struct OldLayer {
  std::vector<float> w = {1, 2, 3};
  void track(Tracker& tracker) { tracker("w", w); }
};
struct NewLayer {
  std::vector<double> w = {4, 5};
  std::vector<float> momentum = std::vector<float>(5);
  void track(Tracker& tracker) { tracker("w", w)("momentum", momentum); }
};

TEST_F(RestoringTest, TheErrorShowsThePresentSizesOfWhatCanGrow) {
  std::vector<OldLayer> old_layers(1);
  {
    Loop loop(options(20));
    loop.track("layers", old_layers);
    loop.run([] {});
  }
  std::vector<NewLayer> layers(1);
  std::vector<std::array<float, 2>> pairs(7);
  const auto track = [&](Loop& loop) {
    loop.track("layers", layers);
    loop.track("pairs", pairs);
  };
  EXPECT_THAT(
      [&] { resume({}, track); },
      ThrowsMessage<InvalidArgumentError>(
          "run: model.ckpt-20 lacks \"pairs\" (float32 [7,2]), \"layers/0/momentum\" (float32 "
          "[5]); and has \"layers/0/w\" as float32 [3], where this program has float64; "
          "everything else matches. Start with .restore = {.allow_missing = {\"pairs\", "
          "\"layers/0/momentum\"}, .convert_dtype = {\"layers/0/w\"}} to keep their initial values "
          "and convert it"));
  resume({.allow_missing = {"pairs", "layers/0/momentum"}, .convert_dtype = {"layers/0/w"}}, track);
  EXPECT_THAT(layers[0].w, ElementsAre(1, 2, 3)) << "any size fits";
  std::vector<std::array<float, 3>> triples(6);
  EXPECT_THAT(
      [&] { resume({.allow_surplus = true}, [&](Loop& loop) { loop.track("pairs", triples); }); },
      ThrowsMessage<InvalidArgumentError>(
          HasSubstr("has \"pairs\" as float32 [7,2], where this program has float32 [6,3]")));
}

TEST_F(RestoringTest, LogsWhichSizesTheCheckpointReplaces) {
  train();
  const char* const line =
      "run/model.ckpt-20: the checkpoint's structure replaces that of this program: sizes of "
      "\"model/w\" (3 elements, was 8), which .restore = {.keep = {\"model/w\"}} keeps";
  float b = 0;
  const auto track = [&](Loop& loop, std::vector<float>& w) {
    loop.track("model/w", w);
    loop.track("model/b", b);
  };
  for (const bool is_early : {false, true}) {
    std::vector<float> w(8);
    Loop loop(options(is_early ? 21 : 20));
    track(loop, w);
    if (is_early) loop.restore();
    loop.run([] {});
    EXPECT_EQ(w.size(), 3u);
    EXPECT_EQ(num_lines(line), is_early ? 2 : 1);
  }
  std::vector<float> w(8);
  load("run", CheckpointChoice::at_step(20), {{"model/w", w}}, &files_);
  EXPECT_EQ(num_lines(line), 3);
  for (const size_t size : {0, 3}) {
    w.assign(size, 0);
    resume({}, [&](Loop& loop) { track(loop, w); });
    EXPECT_EQ(w.size(), 3u);
  }
  EXPECT_EQ(num_lines("structure replaces"), 3) << "filled, or of the same size";
}

TEST_F(RestoringTest, LogsTheSizesOfPartsOfContainersToo) {
  std::vector<OldLayer> layers(9);
  std::vector<std::array<float, 2>> pairs(3);
  const auto run = [&](int64_t last_step) {
    Loop loop(options(last_step));
    loop.track("layers", layers);
    loop.track("pairs", pairs);
    loop.run([] {});
  };
  run(20);
  for (OldLayer& layer : layers) layer.w.resize(1);
  pairs.resize(4);
  run(30);
  EXPECT_EQ(layers[8].w.size(), 3u);
  EXPECT_TRUE(
      log_.contains("\"layers/6/w\" (3 elements, was 1) and 2 more, which .restore = "
                    "{.keep = {\"layers\", \"pairs\"}} keeps"));
  pairs.resize(4);
  run(40);
  EXPECT_TRUE(log_.contains(
      "run/model.ckpt-30: the checkpoint's structure replaces that of this program: sizes of "
      "\"pairs\" (shape [3,2], was [4,2])"));
}

TEST_F(RestoringTest, ARecoveryIsNotASurprise) {
  std::vector<float> w(1);
  int64_t failures = 0;
  Loop loop(options(12));
  loop.track("model/w", w);
  const RunReport report = loop.run([&](Step& step) {
    if (step.number() == 12 && failures++ == 0) throw AbortedError("try again");
    w.push_back(0);
  });
  EXPECT_EQ(report.recoveries, 1);
  EXPECT_FALSE(log_.contains("structure replaces"));
}

// The options are about the checkpoint with which a run starts.
TEST_F(RestoringTest, ARecoveryRestoresWhatTheRunSavedWhateverTheOptionsAre) {
  std::map<std::string, std::vector<float>> entries{{"a", {1}}};
  float rate = 1;
  int64_t failures = 0;
  Loop loop(options(12, {.keep = {"rate"}, .allow_missing = true, .allow_mismatched = true}));
  loop.track("entries", entries);
  loop.track("rate", rate);
  loop.run([&](Step& step) {
    if (step.number() == 10) rate = 0.5f;
    if (step.number() == 12 && failures++ == 0) {
      rate = 7;
      entries["b"] = {2};
      throw AbortedError("try again");
    }
  });
  EXPECT_EQ(failures, 2);
  EXPECT_EQ(rate, 0.5f);
  EXPECT_FALSE(entries.contains("b"));
}

TEST_F(RestoringTest, WarnsOfParametersOfADistributionThatTheProgramHasChanged) {
  std::normal_distribution<double> noise(0, 2);
  const auto track = [&](Loop& loop) { loop.track("noise", noise); };
  {
    Loop loop(options(20));
    track(loop);
    loop.run([] {});
  }
  resume({}, track);
  EXPECT_FALSE(log_.contains("parameters"));
  noise = std::normal_distribution<double>(0, 3);
  resume({}, track);
  EXPECT_EQ(noise.stddev(), 2);
  EXPECT_TRUE(log_.contains("\"noise\": the checkpoint's parameters"));
  EXPECT_TRUE(log_.contains(".restore = {.keep = {\"noise\"}} keeps the program's"));
  noise = std::normal_distribution<double>(0, 3);
  resume({.keep = {"noise"}}, track);
  EXPECT_EQ(noise.stddev(), 3);
}

// A program's settings: numbers that training may change as well, and a generator.
class SettingsTest : public RestoringTest {
 protected:
  // Starts the program with these settings, and makes 10 steps. Returns what it ends with.
  struct Settings {
    double rate = 0.1;
    int batch = 32;
    unsigned seed = 1;
  };
  Settings run(const Settings& settings, const RestoreOptions& restore = {},
               bool restores_early = false) {
    log_.clear();
    double rate = settings.rate;
    int batch = settings.batch;
    std::mt19937 random(settings.seed);
    last_step_ += 10;
    Loop loop(options(last_step_, restore));
    loop.track("adam/rate", rate);
    loop.track("batch", batch);
    loop.track("random", random);
    if (restores_early) loop.restore();
    bool is_first = true;
    std::mt19937 before;
    loop.run([&] {
      if (std::exchange(is_first, false)) before = random;
      rate *= 0.9;
      random();
    });
    is_seeded_ = before == std::mt19937(settings.seed);
    return {.rate = rate, .batch = batch, .seed = settings.seed};
  }
  std::vector<std::string> warnings() {
    std::vector<std::string> lines = log_.lines(Severity::kWarning);
    std::erase_if(lines, [](const std::string& line) {
      return line.find("begins with other settings") == std::string::npos;
    });
    return lines;
  }

  int64_t last_step_ = 0;
  bool is_seeded_ = false;  // The first step of the last run began with the program's seed.
};

TEST_F(SettingsTest, ThatOnlyTrainingHasChangedAreNotReported) {
  run({});
  for (const bool restores_early : {false, true}) {
    run({}, {}, restores_early);
    EXPECT_THAT(warnings(), IsEmpty());
    EXPECT_FALSE(is_seeded_);
  }
}

TEST_F(SettingsTest, ThatTheProgramHasChangedAreReportedOnce) {
  for (const bool restores_early : {false, true}) {
    run({});
    const Settings changed{.rate = restores_early ? 0.02 : 0.01, .batch = 64, .seed = 7};
    const Settings after = run(changed, {}, restores_early);
    EXPECT_EQ(after.batch, 32) << "the checkpoint's value counts";
    EXPECT_FALSE(is_seeded_);
    EXPECT_THAT(
        warnings(),
        ElementsAre(
            AllOf(HasSubstr(fmt::format("\"adam/rate\" is {} (was 0.1; 0.0", changed.rate)),
                  HasSubstr("\"batch\" is 64 (was 32; 32 in the checkpoint), \"random\" (another "),
                  HasSubstr("the checkpoint's count, and .restore = {.keep = {\"adam/rate\", "
                            "\"batch\", \"random\"}} keeps this program's"))));
    run(changed, {}, restores_early);
    EXPECT_THAT(warnings(), IsEmpty());
    EXPECT_TRUE(files_.exists("run"));
    for (const std::string& name : files_.list("run")) files_.remove("run/" + name);
    last_step_ = 0;
  }
}

TEST_F(SettingsTest, AreKeptAsTheAdviceSays) {
  run({});
  const Settings after =
      run({.rate = 1, .batch = 64, .seed = 7}, {.keep = {"adam/rate", "batch", "random"}});
  EXPECT_EQ(after.batch, 64);
  EXPECT_DOUBLE_EQ(after.rate, std::pow(0.9, 10));
  EXPECT_TRUE(is_seeded_);
  EXPECT_THAT(warnings(), IsEmpty());
}

// A later loop begins with what training has left, as the checkpoint has it.
TEST_F(SettingsTest, OfASecondLoopInAProcessAreNotReported) {
  double rate = 0.1;
  for (const int64_t last_step : {10, 20, 30}) {
    Loop loop(options(last_step));
    loop.track("rate", rate);
    loop.run([&] { rate *= 0.9; });
    EXPECT_THAT(warnings(), IsEmpty());
  }
}

TEST_F(SettingsTest, OfARecoveryAreNotReported) {
  run({});
  log_.clear();
  double rate = 0.5;
  int num_failures = 0;
  Loop loop(options(30));
  loop.track("adam/rate", rate);
  int batch = 32;
  std::mt19937 random(1);
  loop.track("batch", batch);
  loop.track("random", random);
  loop.run([&](Step& step) {
    rate *= 0.9;
    if (step.number() % 10 == 5 && num_failures++ < 2) throw AbortedError("again");
  });
  EXPECT_EQ(warnings().size(), 1) << "that of the start";
}

TEST_F(SettingsTest, TakeLittleRoomInSidecars) {
  std::array<double, 1000> numbers = {};
  Loop loop(options(10));
  for (size_t i = 0; i < numbers.size(); ++i) loop.track(fmt::format("number{:04}", i), numbers[i]);
  loop.run([] {});
  const auto sidecar = read_sidecar(files_, "run/model.ckpt-10");
  ASSERT_TRUE(sidecar);
  size_t num_bytes = 0;
  for (const auto& [name, text] : sidecar->initial_values) num_bytes += name.size() + text.size();
  EXPECT_GT(num_bytes, 4000);
  EXPECT_LE(num_bytes, 4096);
}

TEST_F(RestoringTest, AnEarlyRestoreLogsNoSurplus) {
  train();
  std::vector<float> w(3);
  float b = 0;
  Loop loop(options(30));
  loop.track("model/w", w);
  loop.track("model/b", b);
  loop.restore();
  loop.run([] {});
  EXPECT_FALSE(log_.contains("surplus"));
}

TEST_F(RestoringTest, ReshapesAVectorToo) {
  {
    std::array<std::array<float, 5>, 2> old = {{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}};
    std::map<std::string, std::array<std::array<float, 5>, 2>> olds{{"x", old}};
    Loop loop(options(20));
    loop.track("x", old);
    loop.track("in_a_container", olds);
    loop.run([] {});
  }
  std::vector<float> x(10);
  std::map<std::string, std::vector<float>> inner{{"x", std::vector<float>(3)}};
  const auto track = [&](Loop& loop) {
    loop.track("x", x);
    loop.track("in_a_container", inner);
  };
  EXPECT_THAT([&] { resume({}, track); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "Start with .restore = {.reshape = {\"x\", \"in_a_container/x\"}} to restore")));
  const RunReport report = resume({.reshape = true}, track);
  EXPECT_THAT(x, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(inner["x"], x);
  EXPECT_THAT(report.restore->reshaped, ElementsAre("x", "in_a_container/x"));
}

TEST_F(RestoringTest, AFieldOfAnotherSizeStartsWithTheOptionThatTheErrorNames) {
  train();
  std::array<float, 4> w = {1, 2, 3, 4};
  float b = 0;
  const auto track = [&](Loop& loop) {
    loop.track("model/w", w);
    loop.track("model/b", b);
  };
  EXPECT_THAT(
      [&] { resume({}, track); },
      ThrowsMessage<InvalidArgumentError>(
          "run: model.ckpt-20 has \"model/w\" as float32 [3], where this program has float32 [4]; "
          "everything else matches. Start with .restore = {.allow_mismatched = {\"model/w\"}} to "
          "keep the initial value"));
  resume({.allow_mismatched = {"model/w"}}, track);
  EXPECT_EQ(w[3], 4);
  EXPECT_EQ(b, 20);
}

TEST_F(RestoringTest, AFieldOfAnotherTypeStartsWithTheOptionThatTheErrorNames) {
  train();
  std::array<double, 3> w = {};
  float b = 0;
  const auto track = [&](Loop& loop) {
    loop.track("model/w", w);
    loop.track("model/b", b);
  };
  EXPECT_THAT([&] { resume({}, track); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "Start with .restore = {.convert_dtype = {\"model/w\"}} to convert it")));
  const RunReport report = resume({.convert_dtype = true}, track);
  EXPECT_THAT(report.restore->converted, ElementsAre("model/w"));
  EXPECT_EQ(w[1], 20);
}

TEST_F(RestoringTest, StartsWithTheWeightsOfAnotherRunOnlyOnce) {
  train("old");
  std::vector<float> w(3);
  float b = -1;
  const auto track = [&](Loop& loop) {
    loop.track("net/w", w);
    loop.track("b", b);
  };
  const RestoreOptions restore = {.from = "old",
                                  .which = CheckpointChoice::at_step(10),
                                  .only = {"net/*"},
                                  .rename = {{"net/*", "model/*"}}};
  const RunReport first = resume(restore, track);
  EXPECT_EQ(first.resumed_from, std::nullopt);
  EXPECT_EQ(first.first_step, 0);
  EXPECT_THAT(first.restore->restored, ElementsAre("net/w"));
  EXPECT_EQ(w[0], 10);
  EXPECT_EQ(b, -1);
  w.assign(3, 0);
  EXPECT_EQ(resume(restore, track).resumed_from, 30);
  EXPECT_EQ(w[0], 10) << "of its own checkpoint";
}

// From a source that has both, also after restarts.
TEST_F(RestoringTest, StartsFromTheAveragedWeightsOfAnotherRunOnce) {
  std::map<std::string, std::vector<float>> model{{"w", {1, 1}}}, average{{"w", {2, 2}}};
  const auto track = [&](Loop& loop) {
    loop.track("model", model);
    loop.track("average", average);
  };
  {
    Loop loop(options(20, {}, "old"));
    track(loop);
    loop.run([] {});
  }
  const RestoreOptions restore = {
      .from = "old", .only = {"model/*"}, .rename = {{"model/*", "average/*"}}};
  resume(restore, track);
  EXPECT_EQ(model["w"][0], 2);
  model["w"][0] = 5;
  {
    Loop loop(options(40, restore));
    track(loop);
    loop.run([&] { model["w"][0] = 7; });
  }
  model["w"][0] = 0;
  Loop loop(options(40, restore));
  track(loop);
  EXPECT_EQ(loop.restore(), 40);
  EXPECT_EQ(model["w"][0], 7) << "the rule was applied already";
  load(RestoreOptions{.from = "old", .rename = {{"model/*", "average/*"}}}, {{"model", model}},
       &files_);
  EXPECT_EQ(model["w"][0], 2);
}

TEST_F(RestoringTest, SwapsTwoValuesOfItsOwnRunOnce) {
  float a = 1, b = 2;
  const auto track = [&](Loop& loop) {
    loop.track("a", a);
    loop.track("b", b);
  };
  {
    Loop loop(options(20));
    track(loop);
    loop.run([] {});
  }
  const RestoreOptions restore = {.rename = {{"a", "b"}, {"b", "a"}}};
  {
    Loop loop(options(30, restore));
    track(loop);
    EXPECT_EQ(loop.restore(), 20);
    EXPECT_EQ(a, 2);
    loop.run([] {});
  }
  a = b = 0;
  resume(restore, track);
  EXPECT_EQ(a, 2) << "what was saved with the rules has the new names";
  EXPECT_EQ(b, 1);
}

TEST_F(RestoringTest, AMisspeltRenameStartsWithTheOptionThatTheErrorNames) {
  train();
  std::vector<float> weights(3);
  float b = 0;
  const auto track = [&](Loop& loop) {
    loop.track("model/weights", weights);
    loop.track("model/b", b);
  };
  const RestoreOptions restore = {
      .rename = {{"model/wieghts", "model/w"}}, .allow_missing = true, .allow_surplus = true};
  EXPECT_THAT(
      [&] { resume(restore, track); },
      ThrowsMessage<InvalidArgumentError>(
          "run: model.ckpt-20 fits, but rename {\"model/wieghts\", \"model/w\"} matches nothing: "
          "no value that the program restores has the first name and is stored under the second; "
          "everything else matches. Start with .restore = {.allow_missing = true, .allow_surplus "
          "= true} to leave out the rename that matches nothing"));
  EXPECT_EQ(resume({.allow_missing = true, .allow_surplus = true}, track).resumed_from, 20);
}

TEST_F(RestoringTest, KeepsTheProgramsValueOfASetting) {
  float rate = 0.5f, w = 0;
  const auto track = [&](Loop& loop) {
    loop.track("adam/rate", rate);
    loop.track("w", w);
  };
  {
    Loop loop(options(20));
    track(loop);
    loop.run([&] { w = 1; });
  }
  rate = 0.25f;
  w = 0;
  const RunReport report = resume({.keep = {"adam/rate"}}, track);
  EXPECT_EQ(rate, 0.25f);
  EXPECT_EQ(w, 1);
  EXPECT_THAT(report.restore->kept, ElementsAre("adam/rate"));
  EXPECT_EQ(num_lines("1 kept as the program has them (adam/rate)"), 1);
}

TEST_F(RestoringTest, ContinuesWhereAnotherRunWas) {
  train("old");
  std::vector<float> w(3);
  float b = 0;
  const auto track = [&](Loop& loop) {
    loop.track("model/w", w);
    loop.track("model/b", b);
  };
  for (const char* const from : {"old", "old/model.ckpt-20", "old/model.ckpt-20.index"}) {
    const RunReport report = resume({.from = from}, track, fmt::format("run-{}", base_name(from)));
    EXPECT_EQ(report.first_step, 20) << from;
    EXPECT_EQ(report.resumed_from, 20);
    EXPECT_EQ(w[0], 20);
  }
}

TEST_F(RestoringTest, GoesBackOnce) {
  train();
  float count = 0;
  std::vector<float> w(3);
  const auto run = [&](const RestoreOptions& restore, int64_t last_step, bool is_early = false) {
    LoopOptions all_kept = options(last_step, restore);
    all_kept.checkpoint.saver.max_to_keep = 0;
    Loop loop(std::move(all_kept));
    loop.track("model/w", w);
    loop.track("model/b", count);
    if (is_early) loop.restore();
    return loop.run([&] { ++count; });
  };
  for (const bool is_early : {false, true}) {
    const RestoreOptions back = {.which = CheckpointChoice::at_step(is_early ? 0 : 10)};
    EXPECT_EQ(run(back, 13, is_early).resumed_from, is_early ? 0 : 10);
    EXPECT_EQ(count, 13);
    EXPECT_EQ(run(back, 15, is_early).resumed_from, 13) << "it went back before";
    EXPECT_EQ(run({}, 16).resumed_from, 15) << "not from the abandoned checkpoint of step 20";
    EXPECT_EQ(run(back, 18, is_early).resumed_from, 16) << "the record is inherited";
  }
  EXPECT_EQ(run({.which = CheckpointChoice::at_step(16)}, 17).resumed_from, 16);
  EXPECT_EQ(run({.which = CheckpointChoice::at_step(0)}, 1).resumed_from, 0)
      << "another request since";
  EXPECT_TRUE(files_.exists("run/model.ckpt-20.index.abandoned"));
}

TEST_F(RestoringTest, GoingBackToNothingIsAnError) {
  float b = 0;
  const auto track = [&](Loop& loop) { loop.track("model/b", b); };
  EXPECT_THAT([&] { resume({.which = CheckpointChoice::at_step(7)}, track); },
              ThrowsMessage<NotFoundError>("run: no checkpoint in this directory, where the run "
                                           "goes back to the checkpoint of step 7"));
}

TEST_F(RestoringTest, AnEarlyRestoreStartsFromAnotherRunToo) {
  train("old");
  std::vector<float> w(3);
  for (const bool is_part : {false, true}) {
    Loop loop(options(
        30,
        {.from = "old", .only = is_part ? NamePatterns{"model/w"} : true, .allow_surplus = true},
        is_part ? "part" : "whole"));
    loop.track("model/w", w);
    EXPECT_EQ(loop.restore(), is_part ? 0 : 20);
    EXPECT_EQ(w[0], 20);
    w[0] = 5;
    const RunReport report = loop.run([] {});
    EXPECT_EQ(w[0], 5);
    EXPECT_EQ(report.first_step, is_part ? 0 : 20);
  }
}

TEST_F(RestoringTest, OptionsWithoutEffectAreErrors) {
  const auto expect_refused = [&](const RestoreOptions& restore, const std::string& message) {
    EXPECT_THAT([&] { Loop(options(1, restore)); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(message)));
  };
  expect_refused({.only = {"a"}}, "LoopOptions: restore.only has no effect without restore.from");
  expect_refused({.from = "run"}, "restore.from is checkpoint.dir");
  expect_refused({.rename = {{"a/*", "b"}}}, "rename {\"a/*\", \"b\"}: found 1 and 0 \"*\"");
}

TEST_F(RestoringTest, LoadsTheBestCheckpoint) {
  float b = 0;
  {
    LoopOptions with = options(30);
    with.checkpoint.saver.keep_best = KeepBest{"accuracy", 1, Better::kHigher};
    Loop loop(with);
    loop.track("b", b);
    std::map<int64_t, float> accuracy = {{10, 0.5f}, {20, 0.75f}, {30, 0.25f}};
    int64_t now = 0;
    loop.scalar("accuracy", [&] { return accuracy[now]; });
    loop.run([&](Step& step) { b = static_cast<float>(now = step.number()); });
  }
  b = 0;
  EXPECT_EQ(load("run", CheckpointChoice::best("accuracy"), {{"b", b}}, &files_).prefix,
            "run/model.ckpt-20");
  EXPECT_EQ(b, 20);
  load("run", CheckpointChoice::best("accuracy", Better::kLower), {{"b", b}}, &files_);
  EXPECT_EQ(b, 30);
  EXPECT_THAT(
      [&] {
        load("run", CheckpointChoice::best("loss"), {{"b", b}}, &files_);
      },
      ThrowsMessage<NotFoundError>(
          "run: none of its 4 checkpoints has a metric \"loss\"; found accuracy"));
}

TEST_F(RestoringTest, LoadsAPartOfTheNewest) {
  train();
  float b = 0;
  EXPECT_THAT(load("run", {{"model/b", b}}, &files_).restored, ElementsAre("model/b"));
  EXPECT_EQ(b, 20);
  load({.from = "run", .which = CheckpointChoice::at_step(10), .rename = {{"bias", "model/b"}}},
       {{"bias", b}}, &files_);
  EXPECT_EQ(b, 10);
  EXPECT_THAT(
      [&] {
        load("run", CheckpointChoice::at_step(15), {{"model/b", b}}, &files_);
      },
      ThrowsMessage<NotFoundError>(
          "run: no checkpoint of step 15; found model.ckpt-0, model.ckpt-10, "
          "model.ckpt-20"));
  EXPECT_THAT(
      [&] {
        load("run", {{"bias", b}}, &files_);
      },
      ThrowsMessage<NotFoundError>(
          "run: model.ckpt-20 lacks \"bias\" (float32 []); everything else matches. Load with "
          "{.from = \"run\", .allow_missing = {\"bias\"}} to keep its initial value, or add it to "
          "a "
          "copy with crochet convert --fill"));
  EXPECT_THROW(load("nowhere", {{"model/b", b}}, &files_), NotFoundError);
}

// What a model was trained to in Python.
TEST_F(RestoringTest, LoadsFilesOfTorch) {
  internal::put_file(files_, "net.pt",
                     internal::torch_file({{"fc.weight", Tensor::from<float>({1, 2, 3})},
                                           {"fc.bias", Tensor::scalar(4.0f)},
                                           {"steps", Tensor::scalar<int64_t>(9)}}));
  std::vector<float> weight(3);
  float bias = 0;
  const RestoreReport report = load("net.pt", {{"fc.weight", weight}, {"fc.bias", bias}}, &files_);
  EXPECT_THAT(weight, ElementsAre(1, 2, 3));
  EXPECT_EQ(bias, 4);
  EXPECT_THAT(report.surplus, ElementsAre("steps"));
  EXPECT_THAT(
      [&] {
        load("net.pt", {{"fc.weights", weight}}, &files_);
      },
      ThrowsMessage<NotFoundError>(HasSubstr("\"fc.weights\"")));
}

TEST_F(RestoringTest, StartsWithAFileOfTorch) {
  internal::put_file(files_, "net.pt",
                     internal::torch_file({{"model/fc.weight", Tensor::from<float>({1, 2, 3})},
                                           {"model/fc.bias", Tensor::scalar(4.0f)}}));
  std::vector<float> w(3);
  float b = 0;
  resume({.from = "net.pt",
          .only = {"model/*"},
          .rename = {{"model/w", "model/fc.weight"}, {"model/b", "model/fc.bias"}}},
         [&](Loop& loop) {
           loop.track("model/w", w);
           loop.track("model/b", b);
         });
  EXPECT_THAT(w, ElementsAre(1, 2, 3));
  EXPECT_EQ(b, 4);
}

TEST_F(RestoringTest, LoadIgnoresTheStateOfHooks) {
  float b = 0;
  {
    LoopOptions with = options(20);
    with.hooks = {StopAtStepHook({.last_step = 20}), stop_if_no_decrease_hook("b", 100)};
    Loop loop(std::move(with));
    loop.track("b", b);
    loop.scalar("b", [&] { return b; });
    loop.run([] {});
  }
  EXPECT_THAT(load("run", {{"b", b}}, &files_).surplus, Contains("hooks/EarlyStoppingHook/best"));
  EXPECT_FALSE(log_.contains("no hook of this run uses the state"));
}

}  // namespace
}  // namespace crochet
