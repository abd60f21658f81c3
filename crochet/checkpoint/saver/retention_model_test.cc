// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Random sequences of everything that happens to a run's directory, compared with a model that
// has no files. A failure prints the seed of its sequence; CROCHET_SEED=<seed> runs only that one
// and prints its operations. CROCHET_SEQUENCES=10000 runs more of them.
#include "tests/support/retention_model.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/sanitizers.h"

namespace crochet {
namespace {

using internal::RetentionModel;

// With a sanitizer, each takes ten times as long.
constexpr uint64_t kSequences = kHasAddressSanitizer || kHasThreadSanitizer ? 1'000 : 3'000;
constexpr int kOperations = 14;  // Per sequence.
constexpr double kYear = 365.25 * 24 * 3600;

class Sequence {
 public:
  Sequence(uint64_t seed, bool verbose)
      : random_(seed),
        verbose_(verbose),
        rules_(random_rules()),
        // Times of files differ from those of saves: without sidecars, hours are not exact.
        may_lose_sidecars_(rules_.every_secs == 0 && one_in(2)),
        may_fail_(!may_lose_sidecars_ || one_in(2)),
        model_(rules_) {
    disk_.create_directories("d");
    say("newest {}, best {}, every {} steps, every {} s", rules_.newest, rules_.best,
        rules_.every_steps, rules_.every_secs);
    start();
  }

  void run() {
    for (int i = 0; i < kOperations && !testing::Test::HasFailure(); ++i) {
      clock_.advance(std::chrono::seconds(below(5400)));
      do_something();
      if (verbose_)
        say("then there are {}; of these {} are listed", fmt::join(on_disk(), " "),
            fmt::join(saver_->last_checkpoints(), " "));
      check();
    }
  }

 private:
  // Formatting takes longer than all the rest.
  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (verbose_) fmt::print("{}\n", fmt::format(format, std::forward<Args>(args)...));
  }

  uint64_t below(uint64_t n) { return random_() % n; }
  bool one_in(uint64_t n) { return below(n) == 0; }

  RetentionModel::Rules random_rules() {
    return {.newest = static_cast<int>(1 + below(3)),
            .best = static_cast<int>(below(3)),
            .every_steps = one_in(2) ? 10 : 0,
            .every_secs = one_in(2) ? 7200.0 : 0};
  }

  void do_something() {
    const uint64_t what = below(100);
    if (what < 45) return save();
    if (what < 55) return may_fail_ ? save_with_failure() : save();
    if (what < 67) return may_fail_ ? crash() : restart();
    if (what < 73) return restart();
    if (what < 79) return clock_.set_wall_time(1.7e9 + kYear * (double(below(40)) - 20));
    if (what < 85) return pin();
    if (what < 90) return record_late_metric();
    if (what < 94) return may_lose_sidecars_ ? lose_sidecar() : save();
    if (what < 95) return may_lose_sidecars_ && !may_fail_ ? lose_state() : save();
    if (what < 98) return add_foreign_file();
    damage_newest();
  }

  // A new process, which only knows what it reads from the directory.
  void start() {
    say("a new process");
    saver_.emplace(SaverOptions{
        .max_to_keep = rules_.newest,
        .keep_checkpoint_every_n_hours = rules_.every_secs / 3600,
        .keep_checkpoint_every_n_steps = rules_.every_steps,
        .keep_best = rules_.best > 0 ? std::optional(KeepBest{"loss", rules_.best}) : std::nullopt,
        .files = &files_.emplace(disk_),
        .clock = &clock_});
    start_time_ = std::max(0.0, clock_.wall_time());
    start_ = clock_.now();
    auto& listed = model_.listed();
    for (auto& checkpoint : listed) checkpoint.verified = false;
    if (model_.steps().empty()) {
      model_.set_mark_time(start_time_);
    } else {
      // No save has reached the state file.
      if (!disk_.exists("d/checkpoint") && !listed.empty())
        model_.set_mark_time(listed.front().time);
      for (const auto& checkpoint : listed) start_time_ = std::max(start_time_, checkpoint.time);
      start_time_ = std::max(start_time_, model_.mark_time());
    }
  }

  void restart() {
    remove_leftovers(disk_, "d", "m");
    check_files();
    start();
    restore();
  }

  // Restores the newest checkpoint on disk, completely.
  void restore() {
    ScriptedGraph graph;
    const auto session = graph.new_session("");
    const internal::DirectoryLock lock(disk_,
                                       "d");  // Like a run: a damaged checkpoint is set aside.
    const std::set<int64_t> steps = model_.steps();
    const auto restored = saver_->restore_newest(*session, "d", "m");
    if (steps.empty()) {
      EXPECT_FALSE(restored);
      return;
    }
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->prefix, prefix(*steps.rbegin()));
    EXPECT_EQ(read_global_step(*session), *steps.rbegin());
    if (auto* const newest = model_.find(*steps.rbegin())) newest->verified = true;
  }

  static std::string prefix(int64_t step) { return fmt::format("d/m-{}", step); }

  double retention_time() const { return start_time_ + to_seconds(clock_.now() - start_); }

  // Different values, so that the best one is unambiguous.
  std::optional<double> random_loss() {
    if (one_in(3)) return std::nullopt;
    if (one_in(8)) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(random_()) / 7;
  }

  // The result of a save of the next step, if it succeeds.
  RetentionModel::Checkpoint next_checkpoint() {
    step_ += static_cast<int64_t>(1 + below(6));
    const auto loss = random_loss();
    say("a save of {}, loss {}", step_, loss.value_or(-1));
    return {.step = step_, .time = retention_time(), .loss = loss};
  }

  void write(const RetentionModel::Checkpoint& checkpoint) {
    if (checkpoint.loss)
      saver_->record_metrics_later(prefix(checkpoint.step), {{"loss", *checkpoint.loss}});
    internal::SavePromise promise(prefix(checkpoint.step), checkpoint.step, clock_);
    internal::SaverAccess::write(
        *saver_, Snapshot({{"global_step", Tensor::scalar<int64_t>(checkpoint.step)}}), promise);
  }

  void save() {
    const auto checkpoint = next_checkpoint();
    write(checkpoint);
    model_.save(checkpoint);
  }

  // Of about 40 file operations, the n-th fails, or all from the n-th on.
  bool write_failing(const RetentionModel::Checkpoint& checkpoint, Failing failing) {
    const auto n = static_cast<int64_t>(below(45));
    say("operation {} fails, {}", n, failing == Failing::kOnce ? "once" : "and all others");
    files_->fail_operation(files_->num_operations() + n, Code::kUnknown, failing);
    bool reported = false;
    try {
      write(checkpoint);
    } catch (const UnknownError&) {
      reported = true;
    }
    files_->stop_failing();
    return reported;
  }

  void save_with_failure() {
    const auto checkpoint = next_checkpoint();
    const bool reported = write_failing(checkpoint, Failing::kOnce);
    EXPECT_TRUE(reported || on_disk().contains(checkpoint.step));
    disk_.sync_directory("d");  // The system does it eventually.
    EXPECT_TRUE(model_.save_in_part(checkpoint, on_disk())) << "after a failure";
  }

  void crash() {
    const auto checkpoint = next_checkpoint();
    const bool reported = write_failing(checkpoint, Failing::kFromThenOn);
    if (one_in(2))
      disk_.power_cut({one_in(2) ? UnsyncedNames::kLost : UnsyncedNames::kKept,
                       static_cast<UnsyncedBytes>(below(4))});
    EXPECT_TRUE(reported || on_disk().contains(checkpoint.step)) << "durable, and lost";
    EXPECT_TRUE(model_.save_in_part(checkpoint, on_disk())) << "after a crash";
    restart();
  }

  std::optional<int64_t> random_step() {
    const std::set<int64_t> steps = model_.steps();
    if (steps.empty()) return std::nullopt;
    return *std::next(steps.begin(), static_cast<ptrdiff_t>(below(steps.size())));
  }

  void pin() {
    const auto step = random_step();
    if (!step) return;
    const bool pinned = !one_in(3);
    say("{} is {}", *step, pinned ? "pinned" : "unpinned");
    if (one_in(2)) {
      set_pinned(disk_, prefix(*step), pinned);  // Like another process.
    } else if (pinned) {
      saver_->pin(prefix(*step));
    } else {
      saver_->unpin(prefix(*step));
    }
    if (auto* const checkpoint = model_.find(*step)) checkpoint->pinned = pinned;
  }

  void record_late_metric() {
    const auto step = random_step();
    const auto loss = random_loss();
    if (!step || !loss) return;
    say("{} has the loss {}", *step, *loss);
    if (one_in(2))
      record_metrics(disk_, prefix(*step), {{"loss", *loss}});
    else {
      saver_->record_metrics_later(prefix(*step), {{"loss", *loss}});
      saver_->write_noted_metrics();
    }
    if (auto* const checkpoint = model_.find(*step)) checkpoint->loss = loss;
  }

  void lose_sidecar() {
    const auto step = random_step();
    if (!step) return;
    const std::string path = internal::sidecar_filename(prefix(*step));
    say("{} is lost", path);
    if (one_in(2) && disk_.exists(path))
      disk_.remove(path);
    else
      internal::put_file(disk_, path, "{\"step\": 7, \"pinned\"");
    disk_.sync_directory("d");
    auto* const checkpoint = model_.find(*step);
    if (checkpoint == nullptr) return;
    checkpoint->published = checkpoint->pinned = false;
    checkpoint->loss.reset();
  }

  void lose_state() {
    internal::put_file(disk_, "d/checkpoint", "model_checkpoint_path: \"");
    if (one_in(2)) disk_.remove("d/checkpoint");
    disk_.sync_directory("d");
  }

  void add_foreign_file() {
    if (model_.steps().empty()) return;  // Nothing would show whose directory it is.
    static constexpr const char* kNames[] = {"other-5.index",         "m-x.index", "notes.txt",
                                             "m-7.index.bak",         "m.index",   "n-3.json",
                                             "m-.data-00000-of-00001"};
    const std::string path = join_path("d", kNames[below(std::size(kNames))]);
    internal::put_file(disk_, path, fmt::format("{}", random_()));
    disk_.sync_directory("d");
    foreign_[base_name(path)] = read_file(disk_, path);
  }

  // The damage is found when the next process restores.
  void damage_newest() {
    const std::set<int64_t> steps = model_.steps();
    if (steps.size() < 2) return;
    const std::string damaged = prefix(*steps.rbegin());
    const auto sidecar = read_sidecar(disk_, damaged);
    // Only a saver's checkpoints that are not pinned are set aside.
    if (!sidecar || sidecar->pinned || sidecar->index_crc32c == 0) return;
    say("{} is damaged", damaged);
    internal::put_file(disk_, damaged + ".data-00000-of-00001", "");
    disk_.sync_directory("d");
    start();
    model_.remove(*steps.rbegin());
    restore();
    EXPECT_TRUE(disk_.exists(damaged + ".index.damaged"));
  }

  std::set<int64_t> on_disk() {
    std::set<int64_t> steps;
    for (const std::string& found : list_checkpoints(disk_, "d", "m"))
      steps.insert(*internal::step_of_prefix(found));
    return steps;
  }

  void check() {
    EXPECT_EQ(on_disk(), model_.steps());
    for (const auto& [name, content] : foreign_)
      EXPECT_EQ(read_file(disk_, join_path("d", name)), content) << name;
  }

  // Checks that the directory only has checkpoints, the saver's other files, and foreign files.
  void check_files() {
    const std::set<int64_t> steps = model_.steps();
    for (const std::string& name : disk_.list("d")) {
      const auto file = internal::parse_checkpoint_filename(name);
      const auto step = file ? internal::parse_step(file->base, "m") : std::nullopt;
      const bool is_known = step ? steps.contains(*step)
                                 : foreign_.contains(name) || name == "checkpoint" ||
                                       name == ".lock" || name == ".sidecar_lock" ||
                                       name.find(".damaged") != std::string::npos;
      EXPECT_TRUE(is_known) << name;
    }
  }

  std::mt19937_64 random_;
  const bool verbose_;
  const RetentionModel::Rules rules_;
  const bool may_lose_sidecars_;
  const bool may_fail_;
  FakeClock clock_{1.7e9};
  MemoryFileSystem disk_{clock_};
  std::optional<FailingFileSystem> files_;  // One per process.
  std::optional<Saver> saver_;
  RetentionModel model_;
  double start_time_ = 0;
  Clock::TimePoint start_;
  int64_t step_ = 0;
  std::map<std::string, std::string> foreign_;
};

void run_sequence(uint64_t seed, bool verbose) {
  std::optional<LogCapture> log;
  if (!verbose) log.emplace();
  try {
    Sequence(seed, verbose).run();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST(RetentionModelTest, RandomSequencesMatchTheModel) {
  if (const char* const seed = std::getenv("CROCHET_SEED"))
    return run_sequence(std::strtoull(seed, nullptr, 10), true);
  const char* const sequences = std::getenv("CROCHET_SEQUENCES");
  const uint64_t last = sequences ? std::strtoull(sequences, nullptr, 10) : kSequences;
  for (uint64_t seed = 1; seed <= last; ++seed) {
    run_sequence(seed, false);
    if (HasFailure()) FAIL() << "in the sequence of CROCHET_SEED=" << seed;
  }
}

}  // namespace
}  // namespace crochet
