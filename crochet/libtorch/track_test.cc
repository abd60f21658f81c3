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
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/group/group.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/libtorch/test_training.h"
#include "crochet/libtorch/track_all.h"
#include "crochet/run/loop.h"
#include "crochet/run/sharded.h"
#include "crochet/session/rank_state.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

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
    return {.checkpoint_dir = directory_,
            .save_summaries_steps = 0,
            .log_step_count_steps = 0,
            .files = &files_};
  }
  // Saves what is tracked after one step.
  void save(
      const Track& track, const std::function<void()>& body = [] {}) {
    Loop loop(options());
    track(loop);
    loop.run([&](Step& step) {
      body();
      step.request_stop("one step");
    });
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
      if (name != "global_step") names.push_back(name);
    return names;
  }

  std::string directory_ = "run";
  LogCapture log_;
  MemoryFileSystem files_;
};

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

TEST_F(TrackTest, RefusesToSaveAModuleThatChangedItsTypeAfterItWasTracked) {
  TestNet net;
  Loop loop(options());
  loop.track("net", net);
  net->to(torch::kDouble);
  EXPECT_THAT([&] { loop.run([](Step& step) { step.request_stop(""); }); },
              ThrowsMessage<Error>(AllOf(HasSubstr("net/first.weight"), HasSubstr("float32"),
                                         HasSubstr("float64"))));
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

TEST_F(TrackTest, RefusesToSaveAModuleThatGotAParameterAfterItWasTracked) {
  TestNet net;
  EXPECT_THAT(
      [&] {
        save([&](Loop& loop) { loop.track("net", net); },
             [&] { net->register_parameter("late", torch::zeros({2})); });
      },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("\"net/late\" of a module was added")));
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
  const auto* const part = internal::RankState::of(graph)->part_of("rows");
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
  of_group.group = std::make_shared<SingleGroup>();
  Loop loop(of_group);
  track(loop);
  EXPECT_EQ(loop.save(), "of a group/model.ckpt-0");
  const CheckpointReader reader("of a group/model.ckpt-0", files_);
  EXPECT_TRUE(reader.contains("generators/rank-0/cpu"));
  EXPECT_FALSE(reader.contains("generators/cpu"));
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
