// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/track.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>
#include <torch/version.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/group/group.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/loop/loop.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/tracking/sharded.h"
#include "tests/libtorch/test_training.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class TrackTest : public testing::Test {
 protected:
  using Track = std::function<void(Loop& loop)>;

  LoopOptions options() {
    return {.checkpoint = {.dir = directory_},
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .files = &files_};
  }
  // Saves what is tracked after one step.
  void save(
      const Track& track, const std::function<void()>& body = [] {}) {
    LoopOptions one_step = options();
    one_step.hooks = {StopAtStepHook({.last_step = 1})};
    Loop loop(one_step);
    track(loop);
    loop.run(body);
  }
  void restore(const Track& track) {
    Loop loop(options());
    track(loop);
    ASSERT_EQ(loop.restore(), 1);
  }
  std::vector<std::string> stored_names() {
    const CheckpointReader reader("run/model.ckpt-1", files_);
    std::vector<std::string> names;
    for (const auto& [name, info] : reader.tensors())
      if (name != "global_step" && name.find("/modes/") == std::string::npos) names.push_back(name);
    return names;
  }

  std::string directory_ = "run";
  LogCapture log_;
  MemoryFileSystem files_;
};

TEST_F(TrackTest, TheJournalNamesTheLibrary) {
  torch::nn::Linear layer(2, 1);
  save([&](Loop& loop) { loop.track("layer", *layer); });
  EXPECT_THAT(read_file(files_, directory_ + "/events.jsonl"),
              HasSubstr(std::string("\"libraries\":[\"torch ") + TORCH_VERSION + "\"]"));
}

TEST_F(TrackTest, SavesParametersAndBuffersUnderTheirNames) {
  TestNet net;
  save([&](Loop& loop) { loop.track("net", net); });
  EXPECT_THAT(stored_names(), ElementsAre("net/first.bias", "net/first.weight", "net/norm.bias",
                                          "net/norm.num_batches_tracked", "net/norm.running_mean",
                                          "net/norm.running_var", "net/norm.weight",
                                          "net/second.bias", "net/second.weight"));
}

TEST_F(TrackTest, RestoresIntoTheMemoryThatTheModuleHas) {
  TestNet saved;
  save([&](Loop& loop) { loop.track("net", saved); });
  TestNet net;
  std::vector<std::pair<void*, void*>> before;
  for (const auto& parameter : net->parameters())
    before.emplace_back(parameter.unsafeGetTensorImpl(), parameter.data_ptr());
  restore([&](Loop& loop) { loop.track("net", net); });
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(net->parameters()[i].unsafeGetTensorImpl(), before[i].first);
    EXPECT_EQ(net->parameters()[i].data_ptr(), before[i].second);
    EXPECT_TRUE(net->parameters()[i].equal(saved->parameters()[i]));
    EXPECT_TRUE(net->parameters()[i].requires_grad());
  }
}

TEST_F(TrackTest, TakesModulesByHolderPointerAndReferenceAndInContainers) {
  TestNet holder;
  auto pointer = std::make_shared<TestNetImpl>();
  TestNetImpl plain;
  std::vector<torch::nn::Linear> layers = {torch::nn::Linear(2, 3), torch::nn::Linear(3, 2)};
  save([&](Loop& loop) {
    loop.track("holder", holder);
    loop.track("pointer", pointer);
    loop.track("plain", plain);
    loop.track("layers", layers);
  });
  const std::vector<std::string> names = stored_names();
  EXPECT_THAT(names,
              testing::IsSupersetOf({"holder/first.weight", "pointer/first.weight",
                                     "plain/first.weight", "layers/0/weight", "layers/1/bias"}));
  std::vector<torch::nn::Linear> others = {torch::nn::Linear(2, 3), torch::nn::Linear(3, 2)};
  restore([&](Loop& loop) {
    loop.track("holder", holder);
    loop.track("pointer", pointer);
    loop.track("plain", plain);
    loop.track("layers", others);
  });
  EXPECT_TRUE(others[1]->weight.equal(layers[1]->weight));
}

TEST_F(TrackTest, RefusesAHolderWithoutAModule) {
  torch::nn::Linear linear = nullptr;
  std::shared_ptr<TestNetImpl> pointer;
  Loop loop(options());
  EXPECT_THAT(
      [&] { loop.track("net", linear); },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("\"net\" is tracked, but holds no module")));
  EXPECT_THAT([&] { loop.track("other", pointer); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"other\" is tracked")));
}

TEST_F(TrackTest, SavesTiedWeightsOnce) {
  struct Tied : torch::nn::Module {
    Tied() {
      in = register_module("in", torch::nn::Linear(4, 4));
      again = register_module("again", in.ptr());
    }
    torch::nn::Linear in{nullptr};
    std::shared_ptr<torch::nn::LinearImpl> again;
  } tied;
  ASSERT_EQ(tied.named_parameters().size(), 4U);
  save([&](Loop& loop) { loop.track("net", tied); });
  EXPECT_THAT(stored_names(), ElementsAre("net/in.bias", "net/in.weight"));
}

TEST_F(TrackTest, ReportsAllDifferencesOfAnotherArchitecture) {
  TestNet net;
  save([&](Loop& loop) { loop.track("net", net); });
  struct Other : torch::nn::Module {
    Other() {
      register_module("first", torch::nn::Linear(6, 9));
      register_module("third", torch::nn::Linear(2, 2));
    }
  } other;
  EXPECT_THAT(
      [&] { restore([&](Loop& loop) { loop.track("net", other); }); },
      ThrowsMessage<Error>(AllOf(HasSubstr("net/first.weight"), HasSubstr("net/third.weight"),
                                 HasSubstr("net/second.weight"))));
}

TEST_F(TrackTest, FollowsAModuleToAnotherType) {
  TestNet net;
  save([&](Loop& loop) { loop.track("net", net); }, [&] { net->to(torch::kDouble); });
  const Tensor stored = CheckpointReader("run/model.ckpt-1", files_).read("net/first.weight");
  EXPECT_EQ(stored.dtype(), DType::kDouble);
  EXPECT_TRUE(libtorch::to_torch(stored).equal(net->first->weight));
}

TEST_F(TrackTest, FollowsParametersToOtherMemory) {
  TestNet net;
  save([&](Loop& loop) { loop.track("net", net); },
       [&] {
         net->first->weight.set_data(torch::full({8, 6}, 7.0));
       });
  const Tensor stored = CheckpointReader("run/model.ckpt-1", files_).read("net/first.weight");
  EXPECT_EQ(stored.flat<float>()[0], 7);
}

// A class whose members a program may assign to, as it does not know LibTorch's register.
struct Splats : torch::nn::Module {
  explicit Splats(int64_t size) {
    positions = register_parameter("positions", torch::ones({size, 3}));
    average = register_buffer("average", torch::zeros({3}));
  }
  void replace(torch::Tensor tensor) {
    positions = tensor;
    parameters_["positions"] = tensor;
  }
  torch::Tensor positions, average;
};

TEST_F(TrackTest, RestoresAParameterThatGrewInTheSizeOfTheCheckpoint) {
  Splats splats(2);
  torch::optim::Adam adam(splats.parameters(), 0.1);
  const auto step = [](Splats& own, torch::optim::Adam& optimizer) {
    optimizer.zero_grad();
    own.positions.square().sum().backward();
    optimizer.step();
  };
  const auto track = [](Loop& loop, Splats& own, torch::optim::Adam& optimizer) {
    loop.track("splats", own);
    loop.track("adam", optimizer);
  };
  save([&](Loop& loop) { track(loop, splats, adam); },
       [&] {
         splats.positions.mutable_grad() = torch::Tensor();
         splats.positions.set_data(torch::rand({5, 3}));
         step(splats, adam);
       });
  Splats resumed(2);
  torch::optim::Adam other(resumed.parameters(), 0.1);
  restore([&](Loop& loop) { track(loop, resumed, other); });
  EXPECT_TRUE(resumed.positions.equal(splats.positions));
  EXPECT_TRUE(log_.contains("sizes of \"splats/positions\" (shape [5,3], was [2,3])"));
  step(splats, adam);
  step(resumed, other);
  EXPECT_TRUE(resumed.positions.equal(splats.positions));
}

// As a table of cosines, which a module makes for the longest sequence so far.
struct Lazy : torch::nn::Module {
  void grow(int64_t size) {
    if (table.defined())
      table.set_data(torch::ones({size}));
    else
      table = register_buffer("table", torch::ones({size}));
  }
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(2, 2));
  torch::Tensor table;
};

TEST_F(TrackTest, NamesABufferThatIsMadeOnlyInTheFirstStep) {
  Lazy net, resumed;
  save([&](Loop& loop) { loop.track("net", net); }, [&] { net.grow(3); });
  EXPECT_THAT([&] { restore([&](Loop& loop) { loop.track("net", resumed); }); },
              ThrowsMessage<Error>(AllOf(HasSubstr("has \"net/table\""),
                                         HasSubstr(".allow_surplus = {\"net/table\"}"))));
  // As the error advises.
  LoopOptions allowed = options();
  allowed.restore.allow_surplus = {"net/table"};
  allowed.checkpoint.every_steps = 1;
  allowed.hooks = {StopAtStepHook({.last_step = 3})};
  {
    Loop loop(allowed);
    loop.track("net", resumed);
    loop.run([&](Step& step) { resumed.grow(2 + step.number()); });
    EXPECT_TRUE(resumed.linear->weight.equal(net.linear->weight));
  }
  // Also after its size changed.
  Lazy third;
  Loop loop(allowed);
  loop.track("net", third);
  EXPECT_EQ(loop.restore(), 3);
}

TEST_F(TrackTest, RefusesAnotherSizeThatNoTrainingMade) {
  Splats splats(5), small(2);
  save([&](Loop& loop) { loop.track("splats", splats); });
  EXPECT_THAT([&] { restore([&](Loop& loop) { loop.track("splats", small); }); },
              ThrowsMessage<Error>(AllOf(HasSubstr("splats/positions"), HasSubstr("[5,3]"))));
}

TEST_F(TrackTest, SavesTheTensorThatReplacedAParameter) {
  Splats splats(2);
  torch::optim::Adam adam(splats.parameters(), 0.1);
  save(
      [&](Loop& loop) {
        loop.track("splats", splats);
        loop.track("adam", adam);
      },
      [&] {
        splats.replace(torch::full({4, 3}, 2.0, torch::requires_grad()));
        adam.param_groups()[0].params()[0] = splats.positions;
        splats.positions.sum().backward();
        adam.step();
      });
  const CheckpointReader reader("run/model.ckpt-1", files_);
  EXPECT_TRUE(libtorch::to_torch(reader.read("splats/positions")).equal(splats.positions));
  EXPECT_EQ(reader.tensors().at("adam/exp_avg/splats/positions").shape, (Shape{4, 3}));
}

TEST_F(TrackTest, RefusesAnOptimizerThatHoldsTheFormerTensor) {
  Splats splats(2);
  torch::optim::Adam adam(splats.parameters(), 0.1);
  EXPECT_THAT(
      [&] {
        save(
            [&](Loop& loop) {
              loop.track("splats", splats);
              loop.track("adam", adam);
            },
            [&] {
              splats.replace(torch::ones({2, 3}));
            });
      },
      ThrowsMessage<FailedPreconditionError>(
          AllOf(HasSubstr("\"adam\" changes the former tensor of parameter \"splats/positions\""),
                HasSubstr("param_groups()[0].params()"))));
}

TEST_F(TrackTest, RefusesAnOptimizerWhoseParameterNoModuleHas) {
  Splats splats(2);
  const torch::Tensor kept = splats.positions;
  torch::optim::Adam adam(splats.parameters(), 0.1);
  EXPECT_THAT(
      [&] {
        save(
            [&](Loop& loop) {
              loop.track("splats", splats);
              loop.track("adam", adam);
            },
            [&] {
              splats.positions = torch::ones({4, 3}, torch::requires_grad());
              adam.param_groups()[0].params()[0] = splats.positions;
            });
      },
      ThrowsMessage<FailedPreconditionError>(
          HasSubstr("changes another tensor than parameter \"splats/positions\"")));
}

TEST_F(TrackTest, RefusesAModuleWhoseMembersAreNotItsRegisteredTensors) {
  Splats splats(2);
  torch::optim::Adam adam(splats.parameters(), 0.1);
  const auto track = [&](Loop& loop) {
    loop.track("splats", splats);
    loop.track("adam", adam);
  };
  EXPECT_THAT([&] { save(track, [&] { splats.average = splats.average * 0.9; }); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("buffer \"splats/average\""), HasSubstr("copy_()"))));
  Splats others(2);
  directory_ = "others";
  EXPECT_THAT(
      [&] {
        save([&](Loop& loop) { loop.track("splats", others); },
             [&] {
               others.positions = torch::ones({2, 3});
             });
      },
      ThrowsMessage<FailedPreconditionError>(
          AllOf(HasSubstr("parameter \"splats/positions\""), HasSubstr("set_data()"))));
}

// What the error recommends.
TEST_F(TrackTest, SavesWhatIsAssignedByCopyAndSetData) {
  Splats splats(2);
  save([&](Loop& loop) { loop.track("splats", splats); },
       [&] {
         const torch::NoGradGuard no_grad;
         splats.average.copy_(splats.average * 0.9 + 1);
         splats.positions.copy_(torch::full({2, 3}, 3.0));
       });
  const CheckpointReader reader("run/model.ckpt-1", files_);
  EXPECT_TRUE(libtorch::to_torch(reader.read("splats/average")).equal(torch::ones({3})));
  EXPECT_TRUE(libtorch::to_torch(reader.read("splats/positions")).equal(torch::full({2, 3}, 3.0)));
}

TEST_F(TrackTest, TakesParametersThatOnlyTheRegisterHolds) {
  torch::nn::ParameterList list;
  list->append(torch::ones({2}));
  {
    const auto copies = list->parameters();
    save([&](Loop& loop) { loop.track("list", list); });
  }
  EXPECT_THAT(stored_names(), ElementsAre("list/0"));
}

TEST_F(TrackTest, RefusesToSaveAModuleOfWhichAMemberWasAssigned) {
  TestNet net;
  EXPECT_THAT(
      [&] {
        save([&](Loop& loop) { loop.track("net", net); },
             [&] {
               net->second->weight = torch::zeros({3, 8});
             });
      },
      ThrowsMessage<FailedPreconditionError>(
          AllOf(HasSubstr("net/second"), HasSubstr("weight"), HasSubstr("copy_()"))));
}

struct TiedByAssignment : torch::nn::Module {
  void tie() { out->weight = in->weight; }
  torch::nn::Embedding in = register_module("in", torch::nn::Embedding(4, 3));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(3, 4));
};

TEST_F(TrackTest, RestoresWeightsThatAreTiedByAssignment) {
  TiedByAssignment net, resumed;
  net.tie();
  save([&](Loop& loop) { loop.track("net", net); });
  resumed.tie();
  restore([&](Loop& loop) { loop.track("net", resumed); });
  EXPECT_TRUE(resumed.out->weight.is_same(resumed.in->weight));
  EXPECT_TRUE(resumed.out->weight.equal(net.in->weight));
  TiedByAssignment later;
  directory_ = "later";
  save([&](Loop& loop) { loop.track("net", later); }, [&] { later.tie(); });
}

TEST_F(TrackTest, SavesAParameterThatWasAddedAfterTheModuleWasTracked) {
  TestNet net;
  save([&](Loop& loop) { loop.track("net", net); },
       [&] { net->register_parameter("late", torch::zeros({2})); });
  EXPECT_THAT(stored_names(), testing::Contains("net/late"));
}

TEST_F(TrackTest, SavesParametersWithOtherStridesRowMajor) {
  struct Strided : torch::nn::Module {
    Strided() {
      last = register_parameter(
          "channels_last",
          torch::arange(48.0).reshape({2, 3, 2, 4}).contiguous(torch::MemoryFormat::ChannelsLast));
      transposed = register_parameter("transposed", torch::arange(6.0).reshape({2, 3}).t());
    }
    torch::Tensor last, transposed;
  } net;
  ASSERT_FALSE(net.last.is_contiguous());
  save([&](Loop& loop) { loop.track("net", net); });
  const CheckpointReader reader("run/model.ckpt-1", files_);
  EXPECT_TRUE(libtorch::to_torch(reader.read("net/channels_last"))
                  .equal(torch::arange(48.0).reshape({2, 3, 2, 4})));
  {
    const torch::NoGradGuard no_grad;
    net.last.zero_();
    net.transposed.zero_();
  }
  restore([&](Loop& loop) { loop.track("net", net); });
  EXPECT_TRUE(net.last.equal(torch::arange(48.0).reshape({2, 3, 2, 4})));
  EXPECT_FALSE(net.last.is_contiguous());
  EXPECT_TRUE(net.transposed.equal(torch::arange(6.0).reshape({2, 3}).t()));
}

TEST_F(TrackTest, RefusesTensorsThatAreMoreThanTheirElements) {
  struct Sparse : torch::nn::Module {
    Sparse() { register_buffer("table", torch::eye(3).to_sparse()); }
  } sparse;
  struct Quantized : torch::nn::Module {
    Quantized() {
      register_buffer("q", torch::quantize_per_tensor(torch::ones({2}), 0.1, 0, torch::kQInt8));
    }
  } quantized;
  struct Meta : torch::nn::Module {
    Meta() { register_buffer("m", torch::empty({2}, torch::kMeta)); }
  } meta;
  Loop loop(options());
  EXPECT_THAT([&] { loop.track("a", sparse); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("\"a/table\""), HasSubstr("a sparse layout"))));
  EXPECT_THAT([&] { loop.track("b", quantized); },
              ThrowsMessage<InvalidArgumentError>(AllOf(HasSubstr("\"b/q\""), HasSubstr("QInt8"))));
  EXPECT_THAT([&] { loop.track("c", meta); },
              ThrowsMessage<InvalidArgumentError>(AllOf(HasSubstr("\"c/m\""), HasSubstr("meta"))));
}

TEST_F(TrackTest, TakesTensorsOfTheProgram) {
  torch::Tensor hidden = torch::arange(4), absent;
  std::vector<torch::Tensor> list = {torch::ones({2}), torch::zeros({3})};
  std::optional<torch::Tensor> maybe = torch::ones({1, 5});
  const auto track = [&](Loop& loop) {
    loop.track("hidden", hidden);
    loop.track("absent", absent);
    loop.track("list", list);
    loop.track("maybe", maybe);
  };
  save(track);
  EXPECT_THAT(stored_names(), testing::IsSupersetOf({"hidden", "list/0", "list/1"}));
  hidden = torch::Tensor();
  list.clear();
  maybe.reset();
  restore(track);
  EXPECT_TRUE(hidden.equal(torch::arange(4)));
  EXPECT_FALSE(absent.defined());
  ASSERT_EQ(list.size(), 2U);
  EXPECT_TRUE(list[1].equal(torch::zeros({3})));
  EXPECT_TRUE(maybe.has_value() && maybe->equal(torch::ones({1, 5})));
}

TEST_F(TrackTest, RefusesToRestoreATensorOfAnotherShapeBeforeAnythingIsChanged) {
  torch::Tensor first = torch::ones({2}), tensor = torch::ones({2, 3});
  const auto track = [&](Loop& loop) {
    loop.track("first", first);
    loop.track("tensor", tensor);
  };
  save(track);
  first = torch::zeros({2});
  tensor = torch::zeros({3, 2});
  EXPECT_THAT([&] { restore(track); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("\"tensor\""), HasSubstr("[2,3]"), HasSubstr("Float [3,2]"))));
  EXPECT_TRUE(first.equal(torch::zeros({2})));
}

TEST_F(TrackTest, ContinuesGenerators) {
  auto own = at::make_generator<at::CPUGeneratorImpl>(5);
  const auto track = [&](Loop& loop) {
    loop.track("own", own);
    loop.track("default", at::globalContext().defaultGenerator(at::kCPU));
  };
  save(track);
  const torch::Tensor expected = torch::rand({3}, own), expected_default = torch::rand({3});
  torch::manual_seed(99);
  own.set_current_seed(98);
  restore(track);
  EXPECT_TRUE(torch::rand({3}, own).equal(expected));
  EXPECT_TRUE(torch::rand({3}).equal(expected_default));
}

// When values are computed depends on the hooks, and not on the training.
TEST_F(TrackTest, PutsBackWhatValuesDraw) {
  const auto train = [&](const char* directory, bool is_logged) {
    torch::manual_seed(7);
    LoopOptions options = this->options();
    options.checkpoint.dir = directory;
    options.hooks = {StopAtStepHook({.last_step = 5})};
    if (is_logged)
      options.hooks.push_back(LoggingTensorHook({.tensors = {"noise"}, .every_n_iter = 1}));
    Loop loop(options);
    loop.track("generator", at::globalContext().defaultGenerator(at::kCPU));
    loop.scalar("noise", [] { return torch::rand({1}).item<double>(); });
    torch::Tensor sum = torch::zeros({3});
    loop.track("sum", sum);
    loop.run([&] { sum += torch::rand({3}); });
    return sum;
  };
  EXPECT_TRUE(train("plain", false).equal(train("logged", true)));
}

TEST_F(TrackTest, ContinuesASamplerInTheMiddleOfAnEpoch) {
  torch::data::samplers::RandomSampler sampler(20);
  sampler.reset();
  sampler.next(7);
  save([&](Loop& loop) { loop.track("sampler", sampler); });
  const auto expected = sampler.next(13).value();
  torch::data::samplers::RandomSampler other(20);
  other.reset();
  restore([&](Loop& loop) { loop.track("sampler", other); });
  EXPECT_EQ(other.next(13).value(), expected);
}

// Its rate depends on more than the number of steps.
struct Warmup : torch::optim::LRScheduler {
  explicit Warmup(torch::optim::Optimizer& optimizer) : LRScheduler(optimizer) {}
  std::vector<double> get_lrs() override { return {0.5 * ++cycle}; }
  int64_t cycle = 0;
};
struct TrackedWarmup : Warmup {
  using Warmup::Warmup;
  void track(Tracker& tracker) {
    libtorch::track_base(tracker, *this);
    tracker("cycle", cycle);
  }
};

TEST_F(TrackTest, RefusesACustomSchedulerWhoseStateIsNotKnown) {
  torch::nn::Linear net(2, 2);
  torch::optim::SGD sgd(net->parameters(), 1.0);
  Warmup schedule(sgd);
  Loop loop(options());
  EXPECT_THAT([&] { loop.track("schedule", schedule); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("scheduler \"schedule\": the state of the class Warmup"),
                        HasSubstr("void track(crochet::Tracker& tracker)"),
                        HasSubstr("crochet::libtorch::track_base(tracker, *this)"))));
  TrackedWarmup known(sgd);
  torch::optim::LRScheduler& base = known;
  EXPECT_THAT([&] { loop.track("schedule", base); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("track it as TrackedWarmup")));
}

TEST_F(TrackTest, ContinuesACustomScheduler) {
  torch::nn::Linear net(2, 2);
  torch::optim::SGD sgd(net->parameters(), 1.0), other(net->parameters(), 1.0);
  TrackedWarmup schedule(sgd), other_schedule(other);
  for (int i = 0; i < 3; ++i) schedule.step();
  save([&](Loop& loop) { loop.track("schedule", schedule); });
  restore([&](Loop& loop) { loop.track("schedule", other_schedule); });
  schedule.step();
  other_schedule.step();
  EXPECT_EQ(other_schedule.cycle, 4);
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), sgd.param_groups()[0].options().get_lr());
}

TEST_F(TrackTest, ContinuesASchedule) {
  torch::nn::Linear net(2, 2);
  torch::optim::SGD sgd(net->parameters(), 1.0);
  torch::optim::StepLR schedule(sgd, 2, 0.5);
  for (int i = 0; i < 3; ++i) schedule.step();
  save([&](Loop& loop) {
    loop.track("sgd", sgd);
    loop.track("schedule", schedule);
  });
  torch::optim::SGD other(net->parameters(), 1.0);
  torch::optim::StepLR other_schedule(other, 2, 0.5);
  restore([&](Loop& loop) {
    loop.track("sgd", other);
    loop.track("schedule", other_schedule);
  });
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.5);
  for (int i = 0; i < 2; ++i) other_schedule.step();
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.25);
}

#if __has_include(<torch/optim/schedulers/reduce_on_plateau_scheduler.h>)
TEST_F(TrackTest, ContinuesReduceLROnPlateau) {
  torch::nn::Linear net(2, 2);
  const auto train = [&](torch::optim::ReduceLROnPlateauScheduler& schedule, int begin, int end) {
    const float metrics[] = {5, 4, 4, 4, 4, 4, 3, 3, 3, 3};
    for (int i = begin; i < end; ++i) schedule.step(metrics[i]);
  };
  using Plateau = torch::optim::ReduceLROnPlateauScheduler;
  for (int ended = 0; ended <= 10; ++ended) {
    directory_ = "ended-" + std::to_string(ended);
    torch::optim::SGD whole(net->parameters(), 1.0);
    Plateau whole_schedule(whole, Plateau::min, 0.5, 1, 1e-4, Plateau::rel, 1);
    train(whole_schedule, 0, 10);
    torch::optim::SGD first(net->parameters(), 1.0);
    Plateau first_schedule(first, Plateau::min, 0.5, 1, 1e-4, Plateau::rel, 1);
    train(first_schedule, 0, ended);
    save([&](Loop& loop) {
      loop.track("sgd", first);
      loop.track("schedule", first_schedule);
    });
    torch::optim::SGD second(net->parameters(), 1.0);
    Plateau second_schedule(second, Plateau::min, 0.5, 1, 1e-4, Plateau::rel, 1);
    restore([&](Loop& loop) {
      loop.track("sgd", second);
      loop.track("schedule", second_schedule);
    });
    train(second_schedule, ended, 10);
    EXPECT_EQ(second.param_groups()[0].options().get_lr(),
              whole.param_groups()[0].options().get_lr())
        << "ended after " << ended;
  }
}
#endif

// One of four ranks.
TEST_F(TrackTest, ATensorCanBeAPartOfAnArray) {
  const Shard shard = {.full_shape = {12, 3}, .offset = {4, 0}};
  local::Graph graph;
  Tracker tracker(graph, "");
  torch::Tensor rows = torch::arange(12).reshape({4, 3});
  tracker("rows", sharded(rows, shard));
  const auto* const part = internal::RankLayout::of(graph)->slice_of("rows");
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->place.full_shape, (Shape{12, 3}));
  EXPECT_EQ(to_string(part->place.slice), "4,4:0,3");
  // Its elements do not follow each other.
  torch::Tensor turned = torch::arange(12).reshape({3, 4}).t();
  EXPECT_THAT([&] { tracker("turned", sharded(turned, shard)); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"turned\" is Long [4,3], expected a tensor on the CPU whose")));
  // The program may replace it.
  rows = rows + 1;
  const auto session = graph.new_session("");
  const Tensor saved = session->snapshot(graph.variables()).tensors().at(0).tensor;
  EXPECT_EQ(saved.flat<int64_t>()[11], 12);
}

// In a group, each rank has its own.
TEST_F(TrackTest, TracksGeneratorsOfEachRank) {
  TestTraining training("Adam");
  const auto track = [&](Loop& loop) {
    libtorch::track_all(loop, {.model = training.net, .optimizer = *training.optimizer});
  };
  save(track);
  EXPECT_THAT(stored_names(), testing::Contains("generators/cpu"));
  directory_ = "of a group";
  LoopOptions of_group = options();
  of_group.ranks.group = std::make_shared<SingleGroup>();
  Loop loop(of_group);
  track(loop);
  EXPECT_EQ(loop.save(), "of a group/model.ckpt-0");
  const CheckpointReader reader("of a group/model.ckpt-0", files_);
  EXPECT_TRUE(reader.contains("generators/rank-0/cpu"));
  EXPECT_FALSE(reader.contains("generators/cpu"));
}

TEST_F(TrackTest, LeavesOutGeneratorsOfDevicesThatThisMachineLacks) {
  TestTraining training("Adam");
  std::vector<uint8_t> device(16);
  save([&](Loop& loop) {
    loop.track("generators/cuda:3", device);
    libtorch::track_all(loop, {.model = training.net, .optimizer = *training.optimizer});
  });
  ASSERT_THAT(stored_names(), testing::Contains("generators/cuda:3"));
  restore([&](Loop& loop) {
    libtorch::track_all(loop, {.model = training.net, .optimizer = *training.optimizer});
  });
  EXPECT_TRUE(log_.contains("\"generators/cuda:3\" is left out: there is no such device"));
}

torch::jit::Module script() {
  torch::jit::Module module("Net");
  module.register_parameter("weight", torch::rand({4, 4}), false);
  module.register_buffer("seen", torch::zeros({1}));
  module.register_attribute("count", c10::IntType::get(), int64_t{0});
  module.define("def forward(self, x):\n  self.seen.add_(1)\n  return x @ self.weight\n");
  return module;
}

TEST_F(TrackTest, ContinuesAScriptModule) {
  torch::jit::Module saved = script(), resumed = script();
  saved.setattr("count", int64_t{6});
  saved.forward({torch::ones({2, 4})});
  torch::Tensor weight = saved.attr("weight").toTensor();
  weight.set_requires_grad(true);
  save([&](Loop& loop) { loop.track("net", saved); });
  EXPECT_THAT(stored_names(), testing::IsSupersetOf({"net/seen", "net/weight"}));
  restore([&](Loop& loop) { loop.track("net", resumed); });
  EXPECT_TRUE(resumed.attr("weight").toTensor().equal(weight));
  EXPECT_TRUE(resumed.attr("weight").toTensor().requires_grad());
  EXPECT_EQ(resumed.attr("seen").toTensor().item<float>(), 1);
  EXPECT_EQ(resumed.attr("count").toInt(), 6);
}

TEST_F(TrackTest, TakesTensorsAsValues) {
  EXPECT_EQ(to_tensor(torch::Tensor()).dtype(), DType::kInvalid);
  EXPECT_EQ(to_tensor(torch::tensor(2.5F, torch::requires_grad()) * 2).scalar<float>(), 5);
}

TEST_F(TrackTest, WarnsIfTheNumberOfThreadsIsAnother) {
  const int before = torch::get_num_threads();
  TestTraining training("Adam");
  const auto track = [&](Loop& loop) {
    libtorch::track_all(loop, {.model = training.net, .optimizer = *training.optimizer});
  };
  save(track);
  torch::set_num_threads(before + 1);
  restore(track);
  torch::set_num_threads(before);
  EXPECT_TRUE(
      log_.contains("threads of LibTorch, and the program has " + std::to_string(before + 1)));
}

}  // namespace
}  // namespace crochet
