// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/eigen.h"
#include "crochet/engines/local/graph.h"
#include "crochet/session/session.h"

namespace crochet::local::internal {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class TypedOperationTest : public testing::Test {
 protected:
  FetchValues run(const Fetches& fetches, const Feeds& feeds = {}) {
    return graph_.new_session("")->run(fetches, feeds);
  }
  Output value(const std::string& name, Tensor tensor) {
    return graph_.value(name, [tensor] { return tensor; });
  }

  Graph graph_;
};

TEST_F(TypedOperationTest, TakesAndReturnsNumbers) {
  const Output a = value("a", Tensor::scalar(3.0f));
  const Output b = value("b", Tensor::scalar(int64_t{4}));
  const auto product =
      graph_.op("product", {a, b}, [](float x, const int64_t& y) { return x * y; });
  EXPECT_EQ(run(product[0]).tensor(), Tensor::scalar(12.0f));
  const auto complex = graph_.op("complex", [] { return std::complex<double>(1, 2); });
  EXPECT_EQ(run(complex[0]).scalar<std::complex<double>>().imag(), 2);
  const auto is_odd = graph_.op("is_odd", {b}, [](int64_t x) { return x % 2 == 1; });
  EXPECT_EQ(run(is_odd[0]).tensor(), Tensor::scalar(false));
}

TEST_F(TypedOperationTest, AcceptsATensorOfOneElementAsANumber) {
  const Output one = value("one", Tensor::from<float>({7}, {1, 1}));
  EXPECT_EQ(run(graph_.op("same", {one}, [](float x) { return x; })[0]).scalar<float>(), 7);
}

TEST_F(TypedOperationTest, TakesSpansAndTensors) {
  const Output a = value("a", Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  const auto sum = graph_.op(
      "sum", {a, a, a, a},
      [](std::span<const float> x, const std::span<const float, 4>& y, const Tensor& z, Tensor t) {
        return std::vector<float>{x[3], y[2], z.flat<float>()[1], t.flat<float>()[0]};
      });
  EXPECT_EQ(run(sum[0]).tensor(), Tensor::from<float>({4, 3, 2, 1}));
}

TEST_F(TypedOperationTest, TakesAndReturnsEigensMatricesAndVectors) {
  const Output m = value("m", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Output v = value("v", Tensor::from<float>({1, 10, 100}));
  const Output i = value("i", Tensor::from<int32_t>({7, 8}));
  const auto product =
      graph_.op("product", {m, v}, [](ConstMatrix a, ConstVector<float> x) { return a * x; });
  EXPECT_EQ(run(product[0]).tensor(), Tensor::from<float>({321, 654}));
  const auto transposed =
      graph_.op("transposed", {m}, [](const ConstMatrix& a) { return a.transpose(); });
  EXPECT_EQ(run(transposed[0]).tensor(), Tensor::from<float>({1, 4, 2, 5, 3, 6}, {3, 2}));
  const auto last = graph_.op("last", {i}, [](ConstVector<int32_t> x) { return x[1]; });
  EXPECT_EQ(run(last[0]).scalar<int32_t>(), 8);
  using Fixed = Eigen::Map<const Eigen::Matrix<float, 2, 3, Eigen::RowMajor>>;
  EXPECT_EQ(run(graph_.op("fixed", {m}, [](Fixed a) { return a(1, 0); })[0]).scalar<float>(), 4);
}

TEST_F(TypedOperationTest, GivesAnOutputForEachPartOfATuple) {
  const auto three = graph_.op("three", [] {
    return std::tuple{1.0f, std::vector<int>{2, 3}, std::optional<double>()};
  });
  const FetchValues values = run({three[0], three[1], three[2]});
  EXPECT_EQ(values[0].scalar<float>(), 1);
  EXPECT_EQ(values[1].tensor(), Tensor::from<int>({2, 3}));
  EXPECT_FALSE(values[2].tensor().is_set());
  EXPECT_THROW(three[3], InvalidArgumentError);
  const auto two = graph_.op("two", {}, [] { return std::pair{1, 2}; });
  EXPECT_EQ(run(two[1]).scalar<int>(), 2);
  const auto none = graph_.op("none", [] {});
  EXPECT_THROW(none[0], InvalidArgumentError);
  EXPECT_FALSE(run(none).tensor().is_set());
}

TEST_F(TypedOperationTest, CallsMoveOnlyAndMutableCallables) {
  const auto moved = graph_.op("moved", [number = std::make_unique<int>(5)] { return *number; });
  EXPECT_EQ(run(moved[0]).scalar<int>(), 5);
  const auto counter = graph_.op("counter", [n = 0]() mutable noexcept { return ++n; });
  run(counter[0]);
  EXPECT_EQ(run(counter[0]).scalar<int>(), 2);
  const auto function = graph_.op("function", std::function<int()>([] { return 6; }));
  EXPECT_EQ(run(function[0]).scalar<int>(), 6);
  float (*const pointer)(float) = [](float x) { return -x; };
  const auto negated = graph_.op("negated", {value("x", Tensor::scalar(1.0f))}, pointer);
  EXPECT_EQ(run(negated[0]).scalar<float>(), -1);
}

TEST_F(TypedOperationTest, TakesTheOnlyOutputOfAnOperation) {
  const auto one = graph_.op("one", [] { return 1; });
  const auto next = graph_.op("next", {one}, [](int x) { return x + 1; });
  EXPECT_EQ(run(next[0]).scalar<int>(), 2);
  const auto pair = graph_.op("pair", [] { return std::pair{1, 2}; });
  EXPECT_THAT(
      [&] { graph_.op("bad", {pair}, [](int) {}); },
      ThrowsMessage<InvalidArgumentError>(AllOf(HasSubstr("\"pair\""), HasSubstr("2 out"))));
}

TEST_F(TypedOperationTest, TakesANumberOfInputsKnownAtRunTime) {
  std::vector<OpInput> inputs = {value("a", Tensor::scalar(1)), value("b", Tensor::scalar(2))};
  const auto sum = graph_.op("sum", inputs, [](int a, int b) { return a + b; });
  EXPECT_EQ(run(sum[0]).scalar<int>(), 3);
  inputs.pop_back();
  EXPECT_THAT([&] { graph_.op("bad", inputs, [](int, int) {}); },
              ThrowsMessage<InvalidArgumentError>(
                  "operation \"bad\": its 1 inputs need 1 parameters (replace() needs two), the "
                  "callable has 2"));
}

// A number of inputs that can never be right does not compile.
template <typename Callable>
constexpr bool takes(size_t num_inputs, const Callable&) {
  return internal::KernelOf<Callable>::takes(num_inputs);
}
static_assert(takes(0, [] {}));
static_assert(!takes(1, [] {}));
static_assert(takes(2, [](float, const Tensor&) {}));
static_assert(!takes(1, [](float, const Tensor&) {}));
static_assert(!takes(3, [](float, const Tensor&) {}));
static_assert(takes(1, [](std::span<const float>, Matrix) {}));
static_assert(takes(2, [](std::span<const float>, Matrix) {}));
static_assert(!takes(1, [](float, std::span<const float>, Vector<float>) {}));

TEST_F(TypedOperationTest, ReadsVariables) {
  const OwnedVariable w = graph_.variable("w", Tensor::from<float>({1, 2}));
  const auto sum = graph_.op("sum", {w}, [](ConstVector<float> x) { return x.sum(); });
  EXPECT_EQ(run(sum[0]).scalar<float>(), 3);
}

TEST_F(TypedOperationTest, OrdersAndPullsInControlInputs) {
  std::string calls;
  const auto a = graph_.op("a", [&] { calls += 'a'; });
  const auto b = graph_.op("b", [&] { calls += 'b'; }, {.control_inputs = {a}});
  const auto c = graph_.op("c", [&] { calls += 'c'; }, {.after = {b}});
  run(graph_.group("all", {c, b}));
  EXPECT_EQ(calls, "abc");
  run(c);
  EXPECT_EQ(calls, "abcc");
}

TEST_F(TypedOperationTest, RethrowsExceptionsOfTheCallable) {
  struct Mine : std::domain_error {
    using std::domain_error::domain_error;
  };
  const auto bad = graph_.op("bad", []() -> float { throw Mine("mine"); });
  EXPECT_THROW(run(bad[0]), Mine);
}

// A mismatch that is known when the graph is built is an error then.

TEST_F(TypedOperationTest, RejectsInputsThatCanNeverMatch) {
  const Output x = graph_.placeholder<float>("x", {-1, 64});
  const auto matrix = graph_.op("matrix", [] { return Eigen::MatrixXf(2, 2); });
  const OwnedVariable w = graph_.variable("w", Tensor::zeros<float>({64, 10}));
  EXPECT_THAT([&] { graph_.op("bad", {x}, [](std::span<const double>) {}); },
              ThrowsMessage<InvalidArgumentError>(
                  "operation \"bad\": input 0, x:0, is float32 [?,64], expected float64 of any "
                  "shape"));
  EXPECT_THAT([&] { graph_.op("bad", {matrix[0]}, [](ConstVector<float>) {}); },
              ThrowsMessage<InvalidArgumentError>(
                  "operation \"bad\": input 0, matrix:0, is float32 [?,?], expected float32 [?]"));
  EXPECT_THAT(
      [&] {
        graph_.op("bad", {x, w}, [](ConstMatrix, float) {});
      },
      ThrowsMessage<InvalidArgumentError>(
          "operation \"bad\": parameter 1, variable \"w\", is float32 [64,10], the callable "
          "takes one float32"));
  EXPECT_THROW(graph_.op("bad", {update(w)}, [](Vector<float>) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {w}, [](std::span<const float, 641>) {}), InvalidArgumentError);
  EXPECT_EQ(graph_.find_operation("bad"), nullptr);
  graph_.op("good", {w}, [](std::span<const float, 640>) {});
}

TEST_F(TypedOperationTest, RejectsWritingReadInputsAndViceVersa) {
  const OwnedVariable w = graph_.variable("w", Tensor::zeros<float>({3}));
  const Output x = graph_.placeholder<float>("x", {3});
  EXPECT_THAT([&] { graph_.op("bad", {w}, [](std::span<float>) {}); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("\"bad\": parameter 0, variable \"w\""), HasSubstr("update()"))));
  EXPECT_THROW(graph_.op("bad", {x}, [](std::span<float>) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {update(w)}, [](std::span<const float>) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {update(w)}, [](const Tensor&) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {replace(w)}, [](std::span<float>, std::span<float>) {}),
               InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", std::vector<OpInput>{replace(w)},
                         [](std::span<const float>, std::span<const float>) {}),
               InvalidArgumentError);
}

TEST_F(TypedOperationTest, RejectsAChangedVariableGivenTwice) {
  const OwnedVariable w = graph_.variable("w", Tensor::zeros<float>({3}));
  using In = std::span<const float>;
  using Out = std::span<float>;
  EXPECT_THAT(
      [&] {
        graph_.op("bad", {w, update(w)}, [](In, Out) {});
      },
      ThrowsMessage<InvalidArgumentError>(
          "operation \"bad\": variable \"w\" is changed, so it can be an input only once"));
  EXPECT_THROW(graph_.op("bad", {update(w), update(w)}, [](Out, Out) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {update(w), replace(w)}, [](Out, In, Out) {}),
               InvalidArgumentError);
  graph_.op("good", {w, w}, [](In, In) {});
}

TEST_F(TypedOperationTest, RejectsInputsOfAnotherGraphAndUnsetOnes) {
  Graph other;
  const Output x = other.placeholder<float>("x", {});
  const OwnedVariable w = other.variable("w", Tensor::scalar(1.0f));
  EXPECT_THROW(graph_.op("bad", {x}, [](float) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {w}, [](float) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {update(w)}, [](float&) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {replace(w)}, [](float, float&) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {Output()}, [](float) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {Operation()}, [](float) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {OwnedVariable()}, [](float) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.op("bad", {update(OwnedVariable())}, [](float&) {}), InvalidArgumentError);
  EXPECT_THROW(graph_.name("bad", x), InvalidArgumentError);
  EXPECT_THROW(graph_.name("bad", w), InvalidArgumentError);
  EXPECT_THROW(graph_.name("bad", Output()), InvalidArgumentError);
  EXPECT_THROW(graph_.group("bad", {x}), InvalidArgumentError);
  EXPECT_THAT(graph_.operation_names(), testing::IsEmpty());
}

// A mismatch that is known only in the run is an error then, before the callable is called.

TEST_F(TypedOperationTest, NamesOperationInputAndShapesOnAMismatch) {
  bool called = false;
  const Output x = value("x", Tensor::zeros<float>({3, 4}));
  const auto bad = graph_.op("bad", {x}, [&](ConstVector<float>) { called = true; });
  EXPECT_THAT([&] { run(bad); },
              ThrowsMessage<InvalidArgumentError>(
                  "operation \"bad\": input 0, x:0, is float32 [3,4], expected float32 [?]"));
  const auto scalar = graph_.op("scalar", {x}, [&](float) { called = true; });
  EXPECT_THAT([&] { run(scalar); },
              ThrowsMessage<InvalidArgumentError>(
                  "operation \"scalar\": input 0, x:0, is float32 [3,4], expected one float32"));
  const auto extent = graph_.op("extent", {x}, [&](std::span<const float, 11>) { called = true; });
  EXPECT_THROW(run(extent), InvalidArgumentError);
  const auto type = graph_.op("type", {x}, [&](std::span<const int>) { called = true; });
  EXPECT_THROW(run(type), InvalidArgumentError);
  EXPECT_FALSE(called);
}

TEST_F(TypedOperationTest, TakesAnUnsetValueOnlyAsATensor) {
  const auto none = graph_.op("none", [] { return std::optional<float>(); });
  const auto number = graph_.op("number", {none}, [](float) {});
  const auto tensor = graph_.op("tensor", {none}, [](const Tensor& t) { return t.is_set(); });
  EXPECT_THAT([&] { run(number); },
              ThrowsMessage<InvalidArgumentError>(
                  "operation \"number\": input 0, none:0, is unset, expected one float32"));
  EXPECT_FALSE(run(tensor[0]).scalar<bool>());
}

TEST_F(TypedOperationTest, ChecksFeedsOfDeclaredOutputs) {
  const auto loss = graph_.op("loss", [] { return 1.0f; });
  EXPECT_EQ(run(loss[0], {{loss[0], Tensor::scalar(2.0f)}}).scalar<float>(), 2);
  EXPECT_THAT(
      [&] {
        run(loss[0], {{loss[0], Tensor::scalar(2.0)}});
      },
      ThrowsMessage<InvalidArgumentError>(
          "output \"loss:0\" was fed float64 [] = 2, expected float32 []"));
  EXPECT_THROW(run(loss[0], {{loss[0], Tensor::zeros<float>({1})}}), InvalidArgumentError);
  EXPECT_THROW(run(loss[0], {{loss[0], Tensor()}}), InvalidArgumentError);
}

TEST_F(TypedOperationTest, GivesAValueAnotherName) {
  const auto pair = graph_.op("pair", [] { return std::pair{1.0f, 2.0f}; });
  const Output loss = graph_.name("loss", pair[1]);
  EXPECT_EQ(graph_.output("loss"), loss);
  EXPECT_EQ(run("loss").scalar<float>(), 2);
  EXPECT_THROW(run("loss", {{graph_.output("loss"), Tensor::scalar(1)}}), InvalidArgumentError);
  graph_.name("weights", graph_.variable("w", Tensor::from<int>({1, 2})));
  EXPECT_EQ(run("weights").tensor(), Tensor::from<int>({1, 2}));
  EXPECT_THROW(graph_.name("loss", pair[0]), AlreadyExistsError);
  EXPECT_THROW(graph_.name("", pair[0]), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet::local::internal
