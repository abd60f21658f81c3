// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of tensors on devices have the values between two steps, whatever the order in which a
// device executes what is queued to its streams.
#include "crochet/libtorch/internal/device_copies.h"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/copies/internal/guard.h"
#include "crochet/engines/local/internal/graph_state.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "crochet/session/session.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/libtorch/fake_device.h"
#include "tests/libtorch/test_training.h"
#include "tests/support/sanitizers.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using libtorch::internal::DeviceCopies;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;
using Order = FakeDevice::Order;
using Writes = DeviceCopies::Writes;

constexpr int64_t kSteps = 5;

// Parameters of different sizes, on both devices; buffers, one of them of a few bytes.
struct DeviceNetImpl : torch::nn::Module {
  DeviceNetImpl() {
    torch::manual_seed(3);
    add("large", torch::randn({64, 64}), 0);
    add("other", torch::randn({600, 600}), 1);
    add("small", torch::randn({2}), 0);
    add("transposed", torch::randn({8, 4}).t(), 0);
    running = register_buffer("running", FakeDevice::to_device(torch::zeros({16})));
    count = register_buffer("count", FakeDevice::to_device(torch::zeros({}, torch::kInt64)));
  }
  void add_(float value) {
    const at::NoGradGuard no_grad;
    for (torch::Tensor& parameter : parameters()) parameter.add_(value);
    running.add_(value);
  }
  void set_gradients(float value) {
    for (torch::Tensor& parameter : parameters())
      parameter.mutable_grad() =
          FakeDevice::to_device(torch::full(parameter.sizes(), value), parameter.device().index());
  }
  torch::Tensor running, count;

 private:
  void add(const char* name, const torch::Tensor& value, int device) {
    register_parameter(name, FakeDevice::to_device(value, device));
  }
};
TORCH_MODULE(DeviceNet);

using SavedBytes = std::vector<std::byte>;
SavedBytes saved_bytes(const Tensor& tensor) {
  return {tensor.bytes().begin(), tensor.bytes().end()};
}

// Chooses the order in which the device works while a step runs that follows a save.
class OrderListener final : public CheckpointSaverListener {
 public:
  explicit OrderListener(Order order) : order_(order) {}
  void before_save(Session&, int64_t step) override {
    num_waits = FakeDevice::num_waits();
    FakeDevice::set_order(step < kSteps ? order_ : Order::kAtOnce);
  }
  int64_t num_waits = 0;  // When the latest save began.

 private:
  const Order order_;
};

// The graph of a loop.
struct GraphOfLoop {
  void track(Tracker& tracker) { graph = &tracker.graph(); }
  local::Graph* graph = nullptr;
};

// Finishes what is late, also after an error, so that a save can end.
struct FinishedDevice {
  ~FinishedDevice() { FakeDevice::finish(); }
};

class DeviceTraining {
 public:
  DeviceTraining(const std::string& optimizer, Order order)
      : order(order),
        optimizer(make_optimizer(optimizer, net->parameters())),
        listener(std::make_shared<OrderListener>(order)) {}

  // Saves after each step. Returns how many tensors have, in a checkpoint, other values than they
  // had when the step that follows began.
  int count_torn(const std::function<void()>& update, bool checks = false) {
    Loop loop({.checkpoint = {.dir = "run", .every_steps = 1, .listeners = {listener}},
               .summaries = {.every_steps = 0, .count_every_steps = 0},
               .hooks = {StopAtStepHook({.last_step = kSteps})},
               .debug = {.check_torn_snapshots = checks},
               .files = &files});
    GraphOfLoop of_loop;
    loop.track("graph", of_loop);
    loop.track("net", net);
    loop.track("optimizer", *optimizer);
    std::map<std::string, SavedBytes> expected;  // By "<step>/<name>".
    loop.run([&](Step& step) {
      const std::string former = std::to_string(step.number() - 1);
      waits_in_saves += FakeDevice::num_waits() - listener->num_waits;
      if (order == Order::kPoolFirst) FakeDevice::finish();
      for (const auto& tensors : {net->named_parameters(), net->named_buffers()})
        for (const auto& item : tensors)
          expected[former + "/net/" + item.key()] = saved_bytes(libtorch::to_tensor(item.value()));
      {
        const FinishedDevice finished;
        net->set_gradients(static_cast<float>(step.number()));
        update();
      }
      local::internal::GraphState::of(*of_loop.graph)
          .barriers.drain();  // Copies of the next step may be late, but not these.
      if (order == Order::kPoolFirst) {
        // The next save begins before this is executed.
        FakeDevice::set_order(order);
        net->add_(1);
      }
      listener->num_waits = FakeDevice::num_waits();
    });
    int num_torn = 0;
    for (const auto& [key, bytes] : expected) {
      const size_t slash = key.find('/');
      if (key.starts_with("0/")) continue;
      const CheckpointReader reader("run/model.ckpt-" + key.substr(0, slash), files);
      if (saved_bytes(reader.read(key.substr(slash + 1))) != bytes) ++num_torn;
    }
    return num_torn;
  }

  const Order order;
  DeviceNet net;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::shared_ptr<OrderListener> listener;
  MemoryFileSystem files;
  int64_t waits_in_saves = 0;
};

class DeviceOptimizersTest : public testing::TestWithParam<std::string> {
 protected:
  ~DeviceOptimizersTest() override { FakeDevice::finish(); }
};

// LBFGS has all parameters in one tensor, so they have to be on one device.
std::vector<std::string> optimizers_of_several_devices() {
  std::vector<std::string> kinds = all_optimizers();
  std::erase(kinds, "LBFGS");
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(, DeviceOptimizersTest, testing::ValuesIn(optimizers_of_several_devices()),
                         [](const auto& info) {
                           std::string name;
                           for (const char c : info.param)
                             if (isalnum(c)) name += c;
                           return name;
                         });

TEST_P(DeviceOptimizersTest, KeepSnapshotsWholeThoughTheCopiesAreLate) {
  FakeDevice::reset(Order::kAtOnce);
  DeviceTraining training(GetParam(), Order::kPoolLate);
  EXPECT_EQ(training.count_torn([&] { training.optimizer->step(); }), 0);
  EXPECT_GT(FakeDevice::num_blocks(), 0);
}

// The control: nothing makes the device wait.
TEST_P(DeviceOptimizersTest, NeedTheBarrierForThat) {
  FakeDevice::reset(Order::kAtOnce);
  DeviceTraining training(GetParam(), Order::kPoolLate);
  EXPECT_GT(training.count_torn([&] {
    const at::DisableRecordFunctionGuard not_observed;
    training.optimizer->step();
  }),
            0);
}

TEST_P(DeviceOptimizersTest, AreCopiedAfterTheirStep) {
  FakeDevice::reset(Order::kAtOnce);
  DeviceTraining training(GetParam(), Order::kPoolFirst);
  EXPECT_EQ(training.count_torn([&] { training.optimizer->step(); }), 0);
}

class DeviceCopiesTest : public testing::Test {
 protected:
  DeviceCopiesTest() { FakeDevice::reset(Order::kAtOnce); }
  ~DeviceCopiesTest() override { FakeDevice::finish(); }
};

TEST_F(DeviceCopiesTest, DoNotMakeTheProgramWait) {
  DeviceTraining training("Adam", Order::kPoolLate);
  training.count_torn([&] { training.optimizer->step(); });
  EXPECT_EQ(training.waits_in_saves, 0);
}

// Batch norm writes to its buffers, and no schema says so.
TEST_F(DeviceCopiesTest, OfBuffersAreMadeBeforeAnythingThatFollows) {
  DeviceTraining training("SGD", Order::kPoolLate);
  float value = 0;
  EXPECT_EQ(training.count_torn([&] {
    FakeDevice::write(training.net->running, ++value);
    FakeDevice::write(training.net->count, value);
  }),
            0);
}

TEST_F(DeviceCopiesTest, AreMadeBeforeWritesInOtherStreams) {
  DeviceTraining training("SGD", Order::kPoolLate);
  const c10::Stream first = FakeDevice::new_stream(0);
  const c10::Stream second = FakeDevice::new_stream(0);
  EXPECT_EQ(training.count_torn([&] {
    const at::NoGradGuard no_grad;
    torch::Tensor large = training.net->parameters()[0];
    for (const c10::Stream& stream : {first, second}) {
      const c10::StreamGuard in_stream(stream);
      large.add_(1);
    }
  }),
            0);
}

TEST_F(DeviceCopiesTest, AreMadeBeforeAnnouncedWritesByOtherMeans) {
  for (const bool announces : {true, false}) {
    DeviceTraining training("SGD", Order::kPoolLate);
    float value = 0;
    const int num_torn = training.count_torn([&] {
      const torch::Tensor large = training.net->parameters()[0];
      if (announces) libtorch::before_raw_write(large);
      FakeDevice::write(large, ++value);
    });
    EXPECT_EQ(num_torn > 0, !announces);
  }
}

TEST_F(DeviceCopiesTest, WorkWithCheckedSnapshots) {
  DeviceTraining training("Adam", Order::kPoolLate);
  EXPECT_EQ(training.count_torn([&] { training.optimizer->step(); }, /*checks=*/true), 0);
}

TEST_F(DeviceCopiesTest, AreRestored) {
  MemoryFileSystem files;
  const auto run = [&](DeviceNet& net, int64_t last_step) {
    torch::optim::Adam adam(net->parameters(), 0.01);
    Loop loop({.checkpoint = {.dir = "run"},
               .summaries = {.every_steps = 0, .count_every_steps = 0},
               .hooks = {StopAtStepHook({.last_step = last_step})},
               .files = &files});
    loop.track("net", net);
    loop.track("adam", adam);
    loop.run([&](Step& step) {
      net->set_gradients(static_cast<float>(step.number() % 3));
      adam.step();
    });
  };
  DeviceNet whole, first, second;
  run(whole, 6);
  files = MemoryFileSystem();
  run(first, 3);
  run(second, 6);
  for (const auto& item : whole->named_parameters())
    EXPECT_EQ(libtorch::to_tensor(item.value()),
              libtorch::to_tensor(second->named_parameters()[item.key()]))
        << item.key();
}

// One copy, without a loop.
class OneDeviceCopyTest : public DeviceCopiesTest {
 protected:
  CapturedState begin(Writes writes = Writes::kAnnounced) {
    return copies->begin(tensor, "net/weight", writes);
  }
  static void wait(CapturedState& state) {
    for (const auto& pending : state.copies) pending->wait();
  }
  static std::vector<float> values(const CapturedState& state) {
    const auto all = state.tensors.at("").flat<float>();
    return {all.begin(), all.end()};
  }

  local::Graph graph;
  std::shared_ptr<DeviceCopies> copies = DeviceCopies::of(graph);
  torch::Tensor tensor = FakeDevice::to_device(torch::full({3}, 7.0F));
};

TEST_F(OneDeviceCopyTest, HasItsValuesOnceItIsMade) {
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState state = begin();
  FakeDevice::finish();
  wait(state);
  EXPECT_EQ(values(state), std::vector<float>(3, 7));
}

TEST_F(OneDeviceCopyTest, IsMadeAfterWhatWasQueuedBefore) {
  for (const Writes writes : {Writes::kAnnounced, Writes::kUnknown}) {
    FakeDevice::set_order(Order::kPoolFirst);
    tensor.add_(1);
    CapturedState state = begin(writes);
    FakeDevice::finish();
    wait(state);
    EXPECT_EQ(values(state)[0], writes == Writes::kAnnounced ? 8 : 9);
  }
}

// No operator announces this write.
TEST_F(OneDeviceCopyTest, IsMadeBeforeWhatIsQueuedLaterIfWritesAreUnknown) {
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState state = begin(Writes::kUnknown);
  FakeDevice::write(tensor, 9);
  FakeDevice::finish();
  wait(state);
  EXPECT_EQ(values(state), std::vector<float>(3, 7));
}

TEST_F(OneDeviceCopyTest, MayHaveNoElements) {
  tensor = FakeDevice::to_device(torch::empty({0, 2}));
  CapturedState state = begin();
  EXPECT_TRUE(state.copies.empty());
  EXPECT_EQ(state.tensors.at("").shape(), (Shape{0, 2}));
}

TEST_F(OneDeviceCopyTest, KeepsTheMemoryOfATensorThatIsGone) {
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState state = begin();
  tensor = torch::Tensor();
  FakeDevice::finish();
  wait(state);
  EXPECT_EQ(values(state), std::vector<float>(3, 7));
}

TEST_F(OneDeviceCopyTest, KeepsTheMemoryThatAStorageLoses) {
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState state = begin();
  tensor.storage().unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr(nullptr, tensor.device()));
  FakeDevice::finish();
  wait(state);
  EXPECT_EQ(values(state), std::vector<float>(3, 7));
}

TEST_F(OneDeviceCopyTest, UsesTheMemoryOfTheFormerAgain) {
  const std::byte* former = nullptr;
  for (int i = 0; i < 3; ++i) {
    CapturedState state = begin();
    wait(state);
    const std::byte* const data = state.tensors.at("").bytes().data();
    EXPECT_TRUE(former == nullptr || data == former);
    former = data;
  }
}

TEST_F(OneDeviceCopyTest, IsMadeBeforeTheGraphIsClosed) {
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState state = begin();
  const std::jthread device([] {
    wait_until("a query", [] { return FakeDevice::num_queries() > 1; });
    FakeDevice::finish();
  });
  local::internal::GraphState::of(graph).barriers.close();
  EXPECT_EQ(values(state), std::vector<float>(3, 7));
}

TEST_F(OneDeviceCopyTest, IsMadeBeforeARestore) {
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState state = begin();
  const std::jthread device([] {
    wait_until("a query", [] { return FakeDevice::num_queries() > 1; });
    FakeDevice::finish();
  });
  copies->drain();
  tensor.fill_(9);
  EXPECT_EQ(values(state), std::vector<float>(3, 7));
}

TEST_F(OneDeviceCopyTest, FailsIfItCannotBeQueued) {
  FakeDevice::fail_copies();
  CapturedState state = begin();
  EXPECT_THAT([&] { wait(state); }, ThrowsMessage<InternalError>(AllOf(HasSubstr("\"net/weight\""),
                                                                       HasSubstr("privateuseone:0"),
                                                                       HasSubstr("cannot copy"))));
}

TEST_F(OneDeviceCopyTest, FailsIfTheDeviceIsLost) {
  FakeDevice::set_order(Order::kPoolLate);
  static_cast<void>(copies->can_copy(tensor));
  FakeDevice::fail_queries();
  CapturedState state = begin();
  EXPECT_THAT([&] { wait(state); }, ThrowsMessage<InternalError>(AllOf(
                                        HasSubstr("\"net/weight\""), HasSubstr("fake device: lost"),
                                        Not(HasSubstr("backtrace")))));
}

TEST_F(OneDeviceCopyTest, FailsIfTheStreamThatWritesCannotWait) {
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState state = begin();
  FakeDevice::fail_blocks();
  tensor.add_(1);  // Not stopped.
  FakeDevice::finish();
  EXPECT_THAT([&] { wait(state); }, ThrowsMessage<InternalError>(HasSubstr("cannot wait")));
  EXPECT_EQ(tensor[0].item<float>(), 8);
}

TEST_F(OneDeviceCopyTest, LeavesNoTraceOfAFailure) {
  FakeDevice::fail_copies();
  begin();
  FakeDevice::reset(Order::kPoolLate);
  CapturedState state = begin();
  tensor.add_(1);
  FakeDevice::finish();
  wait(state);
  EXPECT_EQ(values(state), std::vector<float>(3, 7));
}

TEST_F(OneDeviceCopyTest, IsLeftToItsParentByAForkedProcess) {
  if (kHasThreadSanitizer)
    GTEST_SKIP() << "ThreadSanitizer has no threads in the child of a process with threads";
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState state = begin();
  const pid_t child = fork();
  if (child == 0) {
    int result = 1;
    try {
      wait(state);
    } catch (const FailedPreconditionError&) {
      result = 0;
    }
    state = {};
    _exit(result);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  FakeDevice::finish();
  wait(state);
  EXPECT_EQ(values(state), std::vector<float>(3, 7));
}

TEST_F(OneDeviceCopyTest, IsNotForTensorsThatNeedMoreThanACopy) {
  EXPECT_TRUE(copies->can_copy(tensor));
  EXPECT_FALSE(copies->can_copy(torch::ones({3})));
  EXPECT_FALSE(copies->can_copy(torch::ones({3}, at::kMeta)));
}

// The observer is not installed when nothing is pending.
TEST_F(OneDeviceCopyTest, GuardsNothingOnceItIsMade) {
  CapturedState state = begin();
  wait(state);
  local::internal::GraphState::of(graph).barriers.settle();
  const int64_t num_blocks = FakeDevice::num_blocks();
  tensor.add_(1);
  EXPECT_EQ(FakeDevice::num_blocks(), num_blocks);
}

// Nothing to guard, and nothing to end.
class EndedGuard final : public internal::Guard {
 public:
  void drain() noexcept override {}
  bool may_settle() noexcept override { return true; }
  bool settle(EndedBy) noexcept override { return true; }
};

TEST_F(OneDeviceCopyTest, IsGuardedThoughAnotherGuardOfTheGraphHasEnded) {
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState state = begin();
  local::internal::GraphState::of(graph).barriers.add(
      std::make_shared<internal::PerProcess<internal::Guard>>(
          [] { return std::make_unique<EndedGuard>(); }));
  local::internal::GraphState::of(graph).barriers.settle();
  tensor.add_(1);
  FakeDevice::finish();
  wait(state);
  EXPECT_EQ(values(state), std::vector<float>(3, 7));
}

TEST_F(OneDeviceCopyTest, MayBeOneOfSeveralOfTheSameTensor) {
  FakeDevice::set_order(Order::kPoolLate);
  CapturedState first = begin();
  tensor.add_(1);
  CapturedState second = begin();
  tensor.add_(1);
  FakeDevice::finish();
  wait(first);
  wait(second);
  EXPECT_EQ(values(first), std::vector<float>(3, 7));
  EXPECT_EQ(values(second), std::vector<float>(3, 8));
}

}  // namespace
}  // namespace crochet::internal
