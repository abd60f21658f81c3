// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet {
namespace {

// Bundles written by TensorFlow; the README next to them describes how.

std::string golden_bundle(std::string_view name) {
  return fmt::format("{}/tests/golden/bundle/{}", CROCHET_SOURCE_DIR, name);
}

// first, first + 1, ... as elements of type T.
template <Element T>
Tensor counted(int first, const Shape& shape = {2, 3}) {
  Tensor tensor = Tensor::zeros<T>(shape);
  for (T& value : tensor.mutable_flat<T>()) value = static_cast<T>(first++);
  return tensor;
}

template <typename T>
Tensor complex_numbers() {
  Tensor tensor = Tensor::zeros<std::complex<T>>({2, 3});
  T i = 0;
  for (auto& value : tensor.mutable_flat<std::complex<T>>()) value = {i, i + 1}, ++i;
  return tensor;
}

// The same bytes under another type of the same size.
Tensor as_type(DType dtype, const Tensor& tensor) {
  Tensor result(dtype, tensor.shape());
  std::ranges::copy(tensor.bytes(), result.mutable_bytes().begin());
  return result;
}

Tensor bit_patterns(DType dtype, const std::vector<uint16_t>& patterns) {
  return as_type(dtype, Tensor::from(patterns, {2, 3}));
}

TensorMap bundle_types() {
  return {
      {"empty", Tensor::zeros<float>({0, 5})},
      {"global_step", Tensor::scalar<int64_t>(7)},
      {"tags", Tensor::from({"ab", "", std::string(200, 'x')})},
      {"high_rank", counted<int32_t>(-2, {1, 2, 1, 3, 1, 1})},
      {"types/bfloat16",
       bit_patterns(DType::kBfloat16, {0xc000, 0xbf80, 0x0000, 0x3f80, 0x4000, 0x4040})},
      {"types/bool", as_type(DType::kBool, Tensor::from<uint8_t>({0, 1, 0, 1, 0, 1}, {2, 3}))},
      {"types/complex128", complex_numbers<double>()},
      {"types/complex64", complex_numbers<float>()},
      {"types/float16",
       bit_patterns(DType::kHalf, {0xc000, 0xbc00, 0x0000, 0x3c00, 0x4000, 0x4200})},
      {"types/float32", counted<float>(-2)},
      {"types/float64", counted<double>(-2)},
      {"types/int16", counted<int16_t>(-2)},
      {"types/int32", counted<int32_t>(-2)},
      {"types/int64", counted<int64_t>(-2)},
      {"types/int8", counted<int8_t>(-2)},
      {"types/qint16", as_type(DType::kQint16, counted<int16_t>(-2))},
      {"types/qint32", as_type(DType::kQint32, counted<int32_t>(-2))},
      {"types/qint8", as_type(DType::kQint8, counted<int8_t>(-2))},
      {"types/quint16", as_type(DType::kQuint16, counted<uint16_t>(0))},
      {"types/quint8", as_type(DType::kQuint8, counted<uint8_t>(0))},
      {"types/uint16", counted<uint16_t>(0)},
      {"types/uint32", counted<uint32_t>(0)},
      {"types/uint64", counted<uint64_t>(0)},
      {"types/uint8", counted<uint8_t>(0)},
  };
}

TEST(GoldenBundleTest, AllTypesAreReadAsTensorFlowWroteThem) {
  const CheckpointReader reader(golden_bundle("types"));
  reader.verify();
  for (const auto& [name, expected] : bundle_types())
    EXPECT_EQ(reader.read(name), expected) << name;
  EXPECT_EQ(reader.tensors().size(), bundle_types().size());
}

TEST(GoldenBundleTest, ShardsOfATensorFlowSaverAreRead) {
  const CheckpointReader reader(golden_bundle("sharded"));
  reader.verify();
  EXPECT_THAT(reader.tensors(),
              testing::ElementsAre(testing::Key("parts"), testing::Key("shard0/w"),
                                   testing::Key("shard1/w")));
  EXPECT_EQ(reader.read("shard0/w"), counted<float>(-2));
  EXPECT_EQ(reader.read("shard1/w"), counted<float>(8));
  EXPECT_EQ(reader.tensors().at("parts").num_slices, 2u);
  EXPECT_EQ(reader.tensors().at("parts").shape, (Shape{4, 2}));
  EXPECT_THAT(reader.slices("parts"),
              testing::ElementsAre(parse_slice("0,2:0,2"), parse_slice("2,2:0,2")));
  EXPECT_EQ(reader.read("parts"), Tensor::from(std::vector<float>(8, 1), {4, 2}));
  EXPECT_EQ(reader.read_slice("parts", parse_slice("1,2:-")),
            Tensor::from(std::vector<float>(4, 1), {2, 2}));
}

TEST(GoldenBundleTest, SlicesThatTensorFlowWroteAreRead) {
  const CheckpointReader reader(golden_bundle("slices"));
  reader.verify();
  EXPECT_THAT(reader.tensors(), testing::ElementsAre(testing::Key("columns"), testing::Key("grid"),
                                                     testing::Key("words")));
  EXPECT_EQ(reader.tensors().at("grid").num_slices, 4u);
  EXPECT_EQ(reader.read("grid"), counted<int32_t>(-2, {4, 4}));
  EXPECT_EQ(reader.read_slice("grid", parse_slice("1,2:2,2")),
            Tensor::from<int32_t>({4, 5, 8, 9}, {2, 2}));
  EXPECT_EQ(reader.read("words"), Tensor::from({"in", "slices", "too"}));
  EXPECT_EQ(reader.read_slice("words", parse_slice("0,2")), Tensor::from({"in", "slices"}));
  const Tensor columns = reader.read("columns");
  EXPECT_EQ(columns.shape(), (Shape{4, 3}));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(static_cast<float>(columns.flat<Half>()[i]), i - 2) << i;
}

std::string golden_state(const std::string& name) {
  return read_file(FileSystem::posix(),
                   fmt::format("{}/tests/golden/state/{}", CROCHET_SOURCE_DIR, name));
}

TEST(GoldenStateTest, StatesOfTensorFlowAreReadAndWrittenAlike) {
  const CheckpointState saver{.model_checkpoint_path = "model.ckpt-200",
                              .all_model_checkpoint_paths = {"/elsewhere/model.ckpt-50",
                                                             "model.ckpt-100", "model.ckpt-200"}};
  EXPECT_EQ(parse_checkpoint_state(golden_state("saver")), saver);
  EXPECT_EQ(to_text(saver), golden_state("saver"));
  const CheckpointState manager{.model_checkpoint_path = "ckpt-3",
                                .all_model_checkpoint_paths = {"ckpt-2", "ckpt-3"},
                                .all_model_checkpoint_timestamps = {1700000000.25, 1700003600},
                                .last_preserved_timestamp = 1699999999};
  EXPECT_EQ(parse_checkpoint_state(golden_state("manager")), manager);
  EXPECT_EQ(to_text(manager), golden_state("manager"));
  // A letter of two bytes may be escaped, as by us, or not.
  EXPECT_EQ(parse_checkpoint_state(golden_state("quoted")).model_checkpoint_path,
            "a \"b\"\\c\té\n-7");
}

}  // namespace
}  // namespace crochet
