// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// sharded_rank <directory> <last step>: a rank with a part of an array whose elements determine the
// step, and a generator of its own. Saves every third step, and checks what it restores: any
// element of another step ends the job with "mixed". The chief appends each published step to
// <directory>/published, a line each, once it is published.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/mpi/join.h"
#include "crochet/tracking/sharded.h"

using namespace crochet;

namespace {

// Enough for writes to take some time.
constexpr int64_t kElements = 400'000;

int64_t first_of(int rank, int size) { return kElements * rank / size; }

struct State {
  explicit State(const Group& group)
      : first(first_of(group.rank(), group.size())),
        elements(static_cast<size_t>(first_of(group.rank() + 1, group.size()) - first)) {
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = first + static_cast<int64_t>(i);
  }
  void step() {
    for (int64_t& element : elements) element += kElements;
    generator.discard(1);
    ++count;
  }
  // Throws unless everything is that of this step.
  void check(int64_t step, bool same_ranks) const {
    for (size_t i = 0; i < elements.size(); ++i)
      if (elements[i] != first + static_cast<int64_t>(i) + step * kElements)
        throw std::runtime_error("mixed: an element of another step than " + std::to_string(step));
    std::mt19937 expected;
    expected.discard(static_cast<unsigned long long>(step));
    if (count != step || (same_ranks && generator != expected))
      throw std::runtime_error("mixed: a count or generator of another step than " +
                               std::to_string(step));
  }
  void track(Tracker& tracker) {
    tracker("elements", sharded(elements, {.full_shape = {kElements}, .offset = {first}}))(
        "count", count)("generator", per_rank(generator, Regroup::kFresh));
  }

  int64_t first;
  std::vector<int64_t> elements;
  int64_t count = 0;
  std::mt19937 generator;
};

class Published final : public CheckpointSaverListener {
 public:
  explicit Published(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {}
  ~Published() override { ::close(file_); }
  bool after_save(Session&, int64_t step) override {
    const std::string line = std::to_string(step) + "\n";
    if (::write(file_, line.data(), line.size()) < 0) throw std::runtime_error("published: write");
    return false;
  }

 private:
  int file_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string directory = argv[1];
  const std::shared_ptr<Group> group = mpi::join(argc, argv);
  try {
    State state(*group);
    Loop loop({.checkpoint = {.dir = directory,
                              .every_steps = 3,
                              .listeners = {std::make_shared<Published>(directory + "/published")}},
               .summaries = {.every_steps = 0, .count_every_steps = 0},
               .ranks = {.group = group, .timeout_secs = 60},
               .hooks = {StopAtStepHook({.last_step = std::atoll(argv[2])})}});
    loop.track("state", state);
    const int64_t start = loop.restore();
    // The values of other ranks have made no step.
    std::mt19937 fresh;
    state.check(start, state.generator != fresh);
    if (state.generator == fresh) state.generator.discard(static_cast<unsigned long long>(start));
    if (group->is_chief()) std::printf("from %d\n", static_cast<int>(start));
    std::fflush(stdout);
    const RunReport report = loop.run([&] { state.step(); });
    state.check(report.last_step, true);
    if (group->is_chief()) std::printf("ended at %d\n", static_cast<int>(report.last_step));
    return 0;
  } catch (const std::exception& error) {
    std::printf("rank %d: %s\n", group->rank(), error.what());
    std::fflush(stdout);
    group->leave(error.what());
    return 1;
  }
}
