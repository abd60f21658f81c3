// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A network in Eigen: early stopping, and the best checkpoint is used by another process.
//
//   eigen_network train
//   eigen_network use
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <thread>

#include <crochet/crochet.h>
#include <crochet/eigen.h>

struct Network {
  Eigen::MatrixXd hidden = Eigen::MatrixXd::Zero(16, 2);
  Eigen::RowVectorXd output = Eigen::RowVectorXd::Zero(16);

  void track(crochet::Tracker& tracker) { tracker("hidden", hidden)("output", output); }

  void initialise(std::mt19937_64& generator) {
    std::normal_distribution<double> normal;
    hidden = hidden.unaryExpr([&](double) { return normal(generator); }).eval();
  }
  double loss(const Eigen::MatrixXd& x, const Eigen::RowVectorXd& y) const {
    return (output * (hidden * x).array().tanh().matrix() - y).squaredNorm() /
           static_cast<double>(y.size());
  }
  void learn(const Eigen::MatrixXd& x, const Eigen::RowVectorXd& y, double rate) {
    const Eigen::MatrixXd h = (hidden * x).array().tanh();
    const Eigen::RowVectorXd errors = (output * h - y) * (2 * rate / static_cast<double>(y.size()));
    const Eigen::MatrixXd back = (output.transpose() * errors).array() * (1 - h.array().square());
    output -= errors * h.transpose();
    hidden -= back * x.transpose();
  }
};

// Noisy points of a sine; the second row of x is the bias.
struct Points {
  explicit Points(int count, std::mt19937_64& generator) : x(2, count), y(count) {
    std::uniform_real_distribution<double> uniform(-3, 3);
    std::normal_distribution<double> noise(0, 0.3);
    for (int i = 0; i < count; ++i) {
      x.col(i) << uniform(generator), 1;
      y(i) = std::sin(x(0, i)) + noise(generator);
    }
  }
  Eigen::MatrixXd x;
  Eigen::RowVectorXd y;
};

int main(int, char** argv) {
  std::mt19937_64 generator(3);
  const Points training(12, generator);
  const Points validation(100, generator);
  Network network;

  if (std::string(argv[1]) == "use") {
    const crochet::RestoreReport best = crochet::load(
        "runs/network", crochet::CheckpointChoice::best("validation/loss"), {{"network", network}});
    std::printf("%s %.17g\n", best.prefix.c_str(), network.loss(validation.x, validation.y));
    return 0;
  }
  network.initialise(generator);
  auto patience = std::make_shared<crochet::EarlyStoppingHook>(
      crochet::stop_if_no_decrease_hook("validation/loss", 1200, {.run_every_steps = 20}));
  crochet::Loop loop(
      {.checkpoint = {.dir = "runs/network",
                      .every_steps = 20,
                      .saver = {.max_to_keep = 2,
                                .keep_best = crochet::KeepBest{"validation/loss", 1}}},
       .hooks = {patience, crochet::StopAtStepHook({.last_step = 20000})}});
  loop.track("network", network);
  loop.scalar("validation/loss", [&] { return network.loss(validation.x, validation.y); });
  const crochet::RunReport report = loop.run([&] {
    network.learn(training.x, training.y, 0.2);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());
  std::printf("%ld: %s\n", static_cast<long>(report.last_step), report.stop.reason.c_str());
  std::printf("runs/network/model.ckpt-%ld %.17g\n", static_cast<long>(patience->best_step()),
              patience->best());
}
