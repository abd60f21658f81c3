// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How much training time does a checkpoint cost a program with LibTorch, and how soon is it
// durable?
//
// Trains a net with Adam by Loop::run(body), saves parameters and optimizer state in the background
// several times, restores them, and prints the costs as JSON. The state is copied while the next
// step runs its forward and backward passes; Adam waits for what is not copied by then.
// save_timeline.h defines the time that a save loses.
//
// With --device cuda the net is on a GPU, whose copies run beside its next step. Then each step
// waits for its loss, so that its duration is the GPU's; "lost_of_10_steps" is the time that a save
// loses as a part of 10 steps. The program needs no CUDA toolkit, but a LibTorch with CUDA.
//
// With --frozen only the last of the layers is trained: a net of 298 layers and Adam's averages for
// one of them are 300 variables, of which 3 change.
//
// With --bare it saves nothing: as many bytes of other memory are written to a file without
// crochet, and read once for a checksum, which shows the cost of the machine itself.
//
// bench/peers/libtorch_checkpoint.py is the same training in Python, saved by its libraries;
// bench/libtorch_report.py runs both in turns.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "bare_writes_hook.h"
#include "crochet/crochet.h"
#include "crochet/libtorch/track.h"
#include "random_arrays.h"
#include "save_timeline.h"
#include "saving_hook.h"
#include "timing.h"

using namespace crochet;

namespace {

struct Options : SavesToMeasure {
  // Enough for passes that last longer than a copy of the state.
  int64_t batch = 64;
  int threads = 1;
  std::string device = "cpu";
  bool bare = false;
  bool frozen = false;

  // The state has this many tensors for each layer that is trained: its weight, and Adam's two
  // averages for it.
  static constexpr int64_t kTensorsOfALayer = 3;
  int64_t num_layers() const {
    const auto number = static_cast<int64_t>(variables);
    return std::max<int64_t>(1, frozen ? number - 2 : number / kTensorsOfALayer);
  }
  int64_t num_trained() const { return frozen ? 1 : num_layers(); }
  // Of the state.
  int64_t num_tensors() const { return num_layers() + 2 * num_trained(); }
};

// LibTorch's part for GPUs is a library that nothing here refers to.
void load_device(const torch::Device& device) {
  if (!device.is_cuda()) return;
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    throw std::runtime_error(fmt::format("this LibTorch has no CUDA: {}", dlerror()));
}

// Layers of the same size, of which the last ones are trained.
struct NetImpl : torch::nn::Module {
  NetImpl(int64_t depth, int64_t width, int64_t num_trained) {
    for (int64_t i = 0; i < depth; ++i) {
      torch::nn::Linear layer(torch::nn::LinearOptions(width, width).bias(false));
      torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanIn, torch::kReLU);
      layer->weight.set_requires_grad(i >= depth - num_trained);
      layers_.emplace_back(register_module("layer" + std::to_string(i), layer));
    }
  }
  torch::Tensor forward(torch::Tensor x) {
    for (torch::nn::Linear& layer : layers_) x = torch::relu(layer(x));
    return x;
  }

 private:
  std::vector<torch::nn::Linear> layers_;
};
TORCH_MODULE(Net);

// The multiple of 8 with which the state has at most as many bytes as requested.
int64_t width_for(size_t bytes, int64_t num_tensors) {
  const size_t floats = bytes / sizeof(float) / static_cast<size_t>(num_tensors);
  return std::max<int64_t>(8, static_cast<int64_t>(std::sqrt(floats)) / 8 * 8);
}

// The mean of what saves lost, as a part of `steps` steps.
double lost_part(const nlohmann::json& saves, double step_s, int steps) {
  double lost_s = 0;
  for (const nlohmann::json& save : saves) lost_s += save["lost_s"].get<double>();
  return lost_s / static_cast<double>(saves.size()) / (steps * step_s);
}

nlohmann::json measure(const Options& options) {
  const torch::Device device(options.device);
  load_device(device);
  torch::manual_seed(1);
  torch::set_num_threads(options.threads);
  const int64_t width = width_for(options.bytes, options.num_tensors());
  const auto variables = static_cast<size_t>(options.num_tensors());
  const size_t bytes = variables * static_cast<size_t>(width * width) * sizeof(float);
  const double copy_s = copy_time(random_arrays(bytes, variables));

  Net net(options.num_layers(), width, options.num_trained());
  net->to(device);
  std::vector<torch::Tensor> trained = net->parameters();
  std::erase_if(trained, [](const torch::Tensor& each) { return !each.requires_grad(); });
  torch::optim::Adam adam(trained, torch::optim::AdamOptions(1e-4));
  Timeline timeline(options);
  std::shared_ptr<SavingHook> saving;
  std::shared_ptr<SessionRunHook> hook;
  if (options.bare)
    hook = std::make_shared<BareWritesHook>(options, timeline, bytes);
  else
    hook = saving = std::make_shared<SavingHook>(options, timeline);
  std::vector<double> passes_s;
  std::vector<float> losses;  // Of the first steps.

  Loop loop({.hooks = {hook}});
  // As the peers: each step begins with zero_grad().
  libtorch::track_all(loop, {.model = libtorch::without_gradients(*net), .optimizer = adam});
  loop.run([&] {
    const double start = now();
    const torch::Tensor x = torch::randn({options.batch, width}, device);
    const torch::Tensor y = torch::randn({options.batch, width}, device);
    net->zero_grad(/*set_to_none=*/false);  // Steps that allocate gradients vary more.
    const torch::Tensor loss = torch::mse_loss(net(x), y);
    loss.backward();
    passes_s.push_back(now() - start);
    adam.step();
    if (losses.size() < 3 || !device.is_cpu()) losses.push_back(loss.item<float>());
  });
  losses.resize(std::min<size_t>(losses.size(), 3));
  const nlohmann::json saves = timeline.report();
  nlohmann::json result = {{"name", "crochet"},
                           {"version", TORCH_VERSION},
                           {"bytes", bytes},
                           {"variables", variables},
                           {"threads", options.threads},
                           {"device", device.str()},
                           {"copy_s", copy_s},
                           {"passes_s", median(passes_s)},
                           {"step_s", timeline.step_s()},
                           {"steps_s", timeline.durations()},
                           {"saves", saves},
                           {"lost_of_10_steps", lost_part(saves, timeline.step_s(), 10)},
                           {"losses", losses}};
  if (saving)
    result.update({{"restore_s", saving->restore_s()}, {"extra_memory", saving->extra_memory()}});
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.dir = "libtorch_checkpoint";
  CLI::App app("Measures the cost of saving a training with LibTorch.", "libtorch_checkpoint");
  add_options_of_saves(app, options);
  app.add_option("--batch", options.batch, "Examples in a step: more make its passes longer")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "Threads of LibTorch")->check(CLI::PositiveNumber);
  app.add_option("--device", options.device, "Where the net is: cpu, cuda or cuda:1");
  app.add_flag("--frozen", options.frozen, "Trains the last layer alone");
  app.add_flag("--bare", options.bare, "Writes as many bytes without crochet instead of saving");
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.bare && !can_write_bare(options.dir)) return kCannotBeMeasured;
    std::filesystem::create_directories(options.dir);
    fmt::print("{}\n", measure(options).dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "libtorch_checkpoint: {}\n", error.what());
    return 1;
  }
}
