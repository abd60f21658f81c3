// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A script of Python, in C++:
//
//   scaffold = tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=2))
//   hooks = [tf.train.StopAtStepHook(last_step=steps), tf.train.NanTensorHook(loss), LoggerHook()]
//   with tf.train.MonitoredTrainingSession(checkpoint_dir="train", scaffold=scaffold, hooks=hooks,
//                                          save_checkpoint_steps=100) as session:
//     while not session.should_stop():
//       session.run(train_op)
//
//   python_script STEPS
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <crochet/crochet.h>

class LoggerHook : public crochet::SessionRunHook {
 public:
  explicit LoggerHook(crochet::Output loss) : loss_(loss) {}

  std::optional<crochet::SessionRunArgs> before_run(crochet::SessionRunContext&) override {
    return crochet::SessionRunArgs{
        .fetches = crochet::Fetches::Map{{"loss", loss_}, {"step", "global_step"}}};
  }
  void after_run(crochet::SessionRunContext&, const crochet::SessionRunValues& values) override {
    const auto step = values.results["step"].scalar<int64_t>();
    if (step % 100 == 0)
      std::fprintf(stderr, "step %ld, loss = %.2f\n", static_cast<long>(step),
                   values.results["loss"].scalar<double>());
  }

 private:
  const crochet::Output loss_;
};

int main(int, char** argv) {
  const int64_t last_step = std::atoll(argv[1]);
  crochet::local::Graph graph;
  const auto step = graph.create_global_step();
  const auto weights = graph.variable("weights", crochet::Tensor::zeros<double>({3}));
  const auto x = graph.op("x", {step}, [](int64_t number) { return std::sin(double(number)); });
  const auto loss = graph.op("loss", {weights, x}, [](std::span<const double> w, double input) {
    const double error = w[0] + w[1] * input + w[2] * input * input - std::cos(input);
    return error * error;
  });
  const auto apply = graph.op("apply", {update(weights), x}, [](std::span<double> w, double input) {
    const double error = w[0] + w[1] * input + w[2] * input * input - std::cos(input);
    for (double power = 1; double& each : w) {
      each -= 0.1 * error * power;
      power *= input;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  const auto train_op = graph.group("train", {loss, apply, graph.increment_global_step()});

  auto scaffold = std::make_shared<crochet::Scaffold>();
  scaffold->saver = std::make_shared<crochet::Saver>(crochet::SaverOptions{.max_to_keep = 2});
  auto last =
      std::make_shared<crochet::FinalOpsHook>(crochet::Fetches::List{"weights", "global_step"});
  const crochet::RunReport report =
      crochet::train({.graph = graph,
                      .checkpoint_dir = "train",
                      .scaffold = scaffold,
                      .hooks = {crochet::StopAtStepHook({.last_step = last_step}),
                                crochet::NanTensorHook(loss[0]), LoggerHook(loss[0]), last},
                      .save_checkpoint_steps = 100},
                     [&](crochet::MonitoredSession& session) {
                       while (!session.should_stop()) session.run(train_op);
                     });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());
  for (const double each : last->final_ops_values()[0].tensor().flat<double>())
    std::printf("%.17g ", each);
  std::printf("%ld\n", static_cast<long>(last->final_ops_values()[1].scalar<int64_t>()));
}
