// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A hook of one's own, whose state is in the checkpoint, and hooks made from functions.
//
//   own_hook RECORDS
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <thread>

#include <crochet/crochet.h>

// Counts how often the loss had a new minimum, and stops after the given number of them.
class Records : public crochet::SessionRunHook {
 public:
  explicit Records(int64_t max_records) : max_records_(max_records) {}

  void begin(crochet::Graph& graph) override { loss_ = graph.output("loss"); }
  std::optional<crochet::SessionRunArgs> before_run(crochet::SessionRunContext&) override {
    return crochet::SessionRunArgs{.fetches = loss_};
  }
  void after_run(crochet::SessionRunContext& context,
                 const crochet::SessionRunValues& values) override {
    const auto loss = values.results.scalar<double>();
    if (loss >= least_) return;
    least_ = loss;
    if (++count_ == max_records_) context.request_stop("there are enough records");
    if (count_ % 10 == 0) context.request_save("ten records more");
  }
  crochet::SaveableMap saveables() override {
    return {{"least", crochet::saveable_value(least_)}, {"count", crochet::saveable_value(count_)}};
  }

  double least() const { return least_; }
  int64_t count() const { return count_; }

 private:
  const int64_t max_records_;
  crochet::Output loss_;
  double least_ = std::numeric_limits<double>::infinity();
  int64_t count_ = 0;
};

int main(int, char** argv) {
  double envelope = 10;
  double x = 0;
  auto records = std::make_shared<Records>(std::atoll(argv[1]));
  crochet::Loop loop(
      {.checkpoint = {.dir = "runs/records", .every_steps = 130},
       .hooks = {
           records,
           crochet::every({.steps = 250}, {"loss", "position"},
                          [](int64_t step, double loss, const std::vector<double>& position) {
                            std::printf("%ld: %.17g %.17g\n", static_cast<long>(step), loss,
                                        position[0]);
                          }),
           crochet::at({.steps = 700}, "loss",
                       [](int64_t step, double loss) {
                         std::printf("at %ld: %.17g\n", static_cast<long>(step), loss);
                       }),
           crochet::at_end("loss", [](double loss) { std::printf("at last %.17g\n", loss); })}});
  loop.track("envelope", envelope);
  loop.scalar("loss", [&] { return x * x; });
  loop.value("position", [&] { return std::vector<double>{x, x + 1}; });
  const crochet::RunReport report = loop.run([&](crochet::Step& step) {
    envelope *= 0.9975;
    x = envelope * (1.2 + std::cos(static_cast<double>(step.number())));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());
  std::printf("%.17g %ld %s\n", records->least(), static_cast<long>(records->count()),
              report.stop.reason.c_str());
}
