// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// No snapshot is torn by an optimizer's writes.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/CPUFunctions.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "crochet/session/session.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/libtorch/test_training.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

// Its gate stops the threads that copy in the background.
class LateBarrier : public libtorch::OperatorBarrier {
 public:
  explicit LateBarrier(bool announces) : announces_(announces) {}

  void close() { open_ = false; }
  void open() {
    open_ = true;
    open_.notify_all();
  }
  bool is_raised() const { return is_raised_; }

 private:
  void raise() override {
    is_raised_ = true;
    if (announces_) OperatorBarrier::raise();
  }
  void lower() noexcept override {
    if (announces_) OperatorBarrier::lower();
    is_raised_ = false;
  }
  void copy(const ArrayView& array, std::byte* to, size_t begin, size_t end) override {
    if (std::this_thread::get_id() != training_) open_.wait(false);
    OperatorBarrier::copy(array, to, begin, end);
  }

  const bool announces_;
  const std::thread::id training_ = std::this_thread::get_id();
  std::atomic<bool> open_ = false;
  bool is_raised_ = false;
};

// Has a graph use a barrier, if it is tracked first.
struct BarrierForGraph {
  void track(Tracker& tracker) { tracker.graph().attach(barrier); }
  std::shared_ptr<libtorch::OperatorBarrier> barrier;
};

constexpr int64_t kLastStep = 5;

// Closes the gate before a snapshot is taken, if a step follows.
class ClosingListener final : public CheckpointSaverListener {
 public:
  explicit ClosingListener(std::shared_ptr<LateBarrier> barrier) : barrier_(std::move(barrier)) {}
  void before_save(Session&, int64_t step) override {
    if (step < kLastStep) barrier_->close();
  }

 private:
  const std::shared_ptr<LateBarrier> barrier_;
};

// Parameters of 16 KiB: smaller ones are copied at once.
torch::nn::Sequential make_net() {
  return torch::nn::Sequential(torch::nn::Linear(64, 64), torch::nn::BatchNorm1d(64),
                               torch::nn::ReLU(), torch::nn::Linear(64, 64));
}

using Bytes = std::vector<std::byte>;
Bytes bytes_of(const Tensor& tensor) { return {tensor.bytes().begin(), tensor.bytes().end()}; }

class OperatorBarrierTest : public testing::TestWithParam<std::string> {
 protected:
  // Saves after each step. Returns how many parameters have, in a checkpoint,
  // other values than they had when the step that follows began.
  int count_torn(bool announces) {
    torch::manual_seed(3);
    torch::nn::Sequential net = make_net();
    const auto optimizer = make_optimizer(GetParam(), net->parameters());
    barrier_ = std::make_shared<LateBarrier>(announces);
    BarrierForGraph first{barrier_};
    Loop loop({.checkpoint = {.dir = "run",
                              .every_steps = 1,
                              .listeners = {std::make_shared<ClosingListener>(barrier_)}},
               .summaries = {.every_steps = 0, .count_every_steps = 0},
               .hooks = {StopAtStepHook({.last_step = kLastStep})},
               .files = &files_});
    loop.track("barrier", first);
    loop.track("net", net);
    loop.track("optimizer", *optimizer);
    std::map<std::string, Bytes> expected;  // By "<step>/<name>".
    loop.run([&](Step& step) {
      for (const auto& item : net->named_parameters())
        expected[std::to_string(step.number() - 1) + "/net/" + item.key()] =
            bytes_of(libtorch::to_tensor(item.value()));
      const auto closure = [&] {
        optimizer->zero_grad();
        torch::Tensor loss = net->forward(torch::randn({16, 64})).square().mean();
        loss.backward();
        return loss;
      };
      closure();
      // A thread that has begun a copy must end it before the step may write.
      if (announces) barrier_->open();
      optimizer->step(closure);
      barrier_->open();
    });
    int num_torn = 0;
    for (const auto& [key, bytes] : expected) {
      const size_t slash = key.find('/');
      if (key.starts_with("0/")) continue;
      const CheckpointReader reader("run/model.ckpt-" + key.substr(0, slash), files_);
      if (bytes_of(reader.read(key.substr(slash + 1))) != bytes) ++num_torn;
    }
    return num_torn;
  }

  std::shared_ptr<LateBarrier> barrier_;
  MemoryFileSystem files_;
};

INSTANTIATE_TEST_SUITE_P(, OperatorBarrierTest, testing::ValuesIn(all_optimizers()),
                         [](const auto& info) {
                           std::string name;
                           for (const char c : info.param)
                             if (isalnum(c)) name += c;
                           return name;
                         });

TEST_P(OperatorBarrierTest, KeepsSnapshotsWholeThoughTheCopiesAreLate) {
  EXPECT_EQ(count_torn(true), 0);
  EXPECT_FALSE(barrier_->is_raised());
}

TEST_P(OperatorBarrierTest, IsNeededForThat) { EXPECT_GT(count_torn(false), 0); }

// Writes each step's number to a parameter by raw pointer, and saves it. Returns how many
// checkpoints have another one.
int count_torn_by_pointer(bool announces) {
  MemoryFileSystem files;
  torch::nn::Linear net(64, 64);
  const auto barrier = std::make_shared<LateBarrier>(true);
  BarrierForGraph first{barrier};
  Loop loop({.checkpoint = {.dir = "run",
                            .every_steps = 1,
                            .listeners = {std::make_shared<ClosingListener>(barrier)}},
             .summaries = {.every_steps = 0, .count_every_steps = 0},
             .hooks = {StopAtStepHook({.last_step = kLastStep})},
             .files = &files});
  loop.track("barrier", first);
  loop.track("net", net);
  loop.run([&](Step& step) {
    if (announces) {
      barrier->open();
      libtorch::before_raw_write(net->weight);
    }
    std::fill_n(net->weight.data_ptr<float>(), net->weight.numel(),
                static_cast<float>(step.number()));
    barrier->open();
  });
  int num_torn = 0;
  for (int64_t step = 1; step <= kLastStep; ++step) {
    const CheckpointReader reader("run/model.ckpt-" + std::to_string(step), files);
    const Tensor expected =
        libtorch::to_tensor(torch::full({64, 64}, static_cast<float>(step), torch::kFloat));
    if (reader.read("net/weight") != expected) ++num_torn;
  }
  return num_torn;
}

TEST(BeforeRawWriteTest, KeepsSnapshotsWhole) { EXPECT_EQ(count_torn_by_pointer(true), 0); }

TEST(BeforeRawWriteTest, IsNeededForThat) { EXPECT_GT(count_torn_by_pointer(false), 0); }

// Of which steps there are checkpoints whose weight is not the step's number everywhere.
std::vector<int64_t> steps_with_another_weight(FileSystem& files) {
  std::vector<int64_t> steps;
  for (const std::string& prefix : list_checkpoints(files, "run", "model.ckpt")) {
    const CheckpointReader reader(prefix, files);
    const auto step = reader.read("global_step").scalar<int64_t>();
    const Tensor weight = reader.read("net/weight");
    if (!std::ranges::all_of(weight.flat<float>(),
                             [&](float x) { return x == static_cast<float>(step); }))
      steps.push_back(step);
  }
  return steps;
}

// A way to give a parameter other memory that no operator announces.
struct Exchange {
  const char* name;
  void (*make)(at::Tensor& parameter);

  friend void PrintTo(const Exchange& exchange, std::ostream* out) { *out << exchange.name; }
};

at::DataPtr new_memory(const at::Tensor& tensor) {
  return c10::GetCPUAllocator()->allocate(tensor.storage().nbytes());
}

const Exchange kExchanges[] = {
    {"SetDataPtr",
     [](at::Tensor& parameter) {
       parameter.storage().unsafeGetStorageImpl()->set_data_ptr(new_memory(parameter));
     }},
    {"SetDataPtrNoswap",
     [](at::Tensor& parameter) {
       parameter.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(new_memory(parameter));
     }},
    {"SwappedDataPtrs",
     [](at::Tensor& parameter) {
       at::Tensor other = torch::empty_like(parameter);
       c10::StorageImpl* const impl = other.storage().unsafeGetStorageImpl();
       impl->set_data_ptr(
           parameter.storage().unsafeGetStorageImpl()->set_data_ptr(new_memory(parameter)));
     }},
    {"SwappedStorages",
     [](at::Tensor& parameter) {
       at::Tensor other = torch::empty_like(parameter);
       std::swap(const_cast<c10::Storage&>(parameter.storage()),
                 const_cast<c10::Storage&>(other.storage()));
     }},
    {"ResizePastTheDispatcher",
     [](at::Tensor& parameter) {
       const auto num_elements = static_cast<int64_t>(parameter.storage().nbytes() / sizeof(float));
       at::cpu::resize_(parameter.detach(), {2 * num_elements});
     }},
    {"SetData", [](at::Tensor& parameter) { parameter.set_data(torch::empty_like(parameter)); }},
};

class ExchangedMemoryTest : public testing::TestWithParam<Exchange> {};

INSTANTIATE_TEST_SUITE_P(, ExchangedMemoryTest, testing::ValuesIn(kExchanges),
                         [](const auto& info) { return std::string(info.param.name); });

// The snapshot of the step before is read after its memory was exchanged and reused.
TEST_P(ExchangedMemoryTest, TearsNoSnapshot) {
  MemoryFileSystem files;
  torch::nn::Linear net(64, 64);
  const auto barrier = std::make_shared<LateBarrier>(true);
  BarrierForGraph first{barrier};
  Loop loop({.checkpoint = {.dir = "run",
                            .every_steps = 1,
                            .listeners = {std::make_shared<ClosingListener>(barrier)},
                            .saver = {.max_to_keep = 0}},
             .summaries = {.every_steps = 0, .count_every_steps = 0},
             .hooks = {StopAtStepHook({.last_step = kLastStep})},
             .files = &files});
  loop.track("barrier", first);
  loop.track("net", net);
  torch::nn::init::zeros_(net->weight);
  loop.run([&](Step& step) {
    GetParam().make(net->weight);
    const at::Tensor reused = torch::full({64, 64}, -1.0);
    const torch::NoGradGuard no_grad;
    net->weight.fill_(static_cast<double>(step.number()));
    barrier->open();
  });
  EXPECT_THAT(list_checkpoints(files, "run", "model.ckpt"), SizeIs(kLastStep + 1));
  EXPECT_THAT(steps_with_another_weight(files), IsEmpty());
}

// Functions that do not pass the dispatcher write without being seen.
class UnseenWritesTest : public testing::Test {
 protected:
  void run(bool checks) {
    LoopOptions options{.checkpoint = {.dir = "run", .every_steps = 1, .saver = {.max_to_keep = 0}},
                        .summaries = {.every_steps = 0, .count_every_steps = 0},
                        .hooks = {StopAtStepHook({.last_step = kLastStep})},
                        .files = &files_};
    options.debug.check_torn_snapshots = checks;
    torch::nn::Linear net(256, 256);
    torch::nn::init::zeros_(net->weight);
    const auto barrier = std::make_shared<LateBarrier>(true);
    barrier->open();
    BarrierForGraph first{barrier};
    Loop loop(options);
    loop.track("barrier", first);
    loop.track("net", net);
    loop.run([&] {
      wait_until("the save of the step before", [&] { return !barrier->has_pending(); });
      at::Tensor weight = net->weight.detach();
      const int64_t version = weight._version();
      at::cpu::add_(weight, torch::ones({256, 256}));
      EXPECT_EQ(weight._version(), version) << "LibTorch's versions do not count them either";
    });
  }
  std::vector<std::string> saved() { return list_checkpoints(files_, "run", "model.ckpt"); }

  LogCapture log_;
  MemoryFileSystem files_;
};

TEST_F(UnseenWritesTest, AreNotPublishedAndThenNotReliedOn) {
  run(false);
  EXPECT_TRUE(log_.contains("\"net/weight\" was written to, but the write was not announced"));
  EXPECT_THAT(saved(), ElementsAre("run/model.ckpt-0", "run/model.ckpt-2", "run/model.ckpt-3",
                                   "run/model.ckpt-4", "run/model.ckpt-5"));
  EXPECT_THAT(steps_with_another_weight(files_), IsEmpty());
}

TEST_F(UnseenWritesTest, EndARunThatIsChecked) {
  EXPECT_THAT([&] { run(true); },
              ThrowsMessage<UnannouncedWriteError>(HasSubstr("\"net/weight\" was written to")));
  EXPECT_THAT(saved(), AllOf(Contains("run/model.ckpt-0"), Not(Contains("run/model.ckpt-1"))));
  EXPECT_THAT(steps_with_another_weight(files_), IsEmpty());
}

}  // namespace
}  // namespace crochet
