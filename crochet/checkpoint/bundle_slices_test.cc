// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle_slices.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle_writer.h"
#include "crochet/checkpoint/checkpoint_reader.h"
#include "crochet/checkpoint/raw_bundle.h"
#include "crochet/io/memory_file_system.h"

namespace crochet {
namespace {

using internal::BundleEntry;
using internal::RawBundle;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::ThrowsMessage;

// 10 * row + column.
Tensor cells(const TensorSlice& where) {
  std::vector<int32_t> values;
  for (int64_t row = 0; row < where[0].length; ++row)
    for (int64_t column = 0; column < where[1].length; ++column)
      values.push_back(static_cast<int32_t>(10 * (where[0].start + row) + where[1].start + column));
  return Tensor::from(values, internal::shape_of(where));
}
Tensor cells(std::string_view text) { return cells(parse_slice(text)); }

class BundleSlicesTest : public testing::Test {
 protected:
  // Writes slices of "t", numbers of cells, and reads.
  CheckpointReader written(const Shape& shape, const std::vector<std::string>& slices) {
    BundleWriter writer(files_, "m-1");
    for (const std::string& slice : slices)
      writer.add_slice("t", shape, parse_slice(slice),
                       cells(internal::resolved(parse_slice(slice), shape)));
    writer.finish();
    CheckpointReader reader("m-1", files_);
    reader.verify();
    return reader;
  }

  MemoryFileSystem files_;
};

// TB-4
TEST_F(BundleSlicesTest, ReadsAPartitionedVariableWholeAndInPieces) {
  const CheckpointReader reader = written({5, 10}, {"-:0,1", "-:1,9"});
  EXPECT_THAT(reader.tensors(), ElementsAre(Key("t")));
  EXPECT_EQ(reader.read("t"), cells("0,5:0,10"));
  EXPECT_THAT(reader.slices("t"), ElementsAre(parse_slice("-:0,1"), parse_slice("-:1,9")));
  EXPECT_EQ(reader.read_slice("t", parse_slice("-:1,9")), cells("0,5:1,9")) << "as it is stored";
  EXPECT_EQ(reader.read_slice("t", parse_slice("-:0,2")), cells("0,5:0,2")) << "cuts both";
  EXPECT_EQ(reader.read_slice("t", parse_slice("1,3:2,4")), cells("1,3:2,4")) << "within one";
}

// TB-5
TEST_F(BundleSlicesTest, WholeDimensionsMayBeWrittenOutOrNot) {
  for (const char* const stored : {"-:-", "0,5:0,10", "-:0,10", "0,5:-"}) {
    const CheckpointReader reader = written({5, 10}, {stored});
    EXPECT_EQ(reader.tensors().at("t").num_slices, 0u) << "it is the tensor";
    for (const char* const read : {"-:-", "0,5:0,10", "-:0,10", "0,5:-"})
      EXPECT_EQ(reader.read_slice("t", parse_slice(read)), cells("0,5:0,10")) << stored << read;
  }
  for (const char* const stored : {"-:2,3", "0,5:2,3"})
    for (const char* const read : {"-:2,3", "0,5:2,3"})
      EXPECT_EQ(written({5, 10}, {stored}).read_slice("t", parse_slice(read)), cells("0,5:2,3"));
}

TEST_F(BundleSlicesTest, ATensorThatIsStoredWholeIsReadInSlices) {
  const CheckpointReader reader = written({4, 4}, {"-:-"});
  EXPECT_THAT(reader.slices("t"), testing::IsEmpty());
  EXPECT_EQ(reader.read_slice("t", parse_slice("1,2:3,1")), cells("1,2:3,1"));
  EXPECT_THAT([&] { reader.read_slice("t", parse_slice("1,4:-")); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("a range of 4 from 1 on")));
  EXPECT_THROW(reader.read_slice("t", parse_slice("-")), InvalidArgumentError);
}

TEST_F(BundleSlicesTest, ReadsTilesInAnyOrder) {
  const CheckpointReader reader =
      written({4, 6}, {"2,2:4,2", "0,2:0,3", "2,2:0,4", "0,1:3,3", "1,1:3,3"});
  EXPECT_EQ(reader.read("t"), cells("0,4:0,6"));
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t column = 0; column < 6; ++column)
      for (int64_t rows = 1; rows <= 4 - row; ++rows)
        for (int64_t columns = 1; columns <= 6 - column; ++columns) {
          const TensorSlice slice{{row, rows}, {column, columns}};
          EXPECT_EQ(reader.read_slice("t", slice), cells(slice)) << to_string(slice);
        }
}

TEST_F(BundleSlicesTest, StringsAreReadInPiecesToo) {
  BundleWriter writer(files_, "m-1");
  writer.add_slice("s", {4}, parse_slice("0,1"), Tensor::from({"a"}));
  writer.add_slice("s", {4}, parse_slice("1,3"), Tensor::from({"bb", "", "d"}));
  writer.finish();
  const CheckpointReader reader("m-1", files_);
  EXPECT_EQ(reader.read("s"), Tensor::from({"a", "bb", "", "d"}));
  EXPECT_EQ(reader.read_slice("s", parse_slice("0,2")), Tensor::from({"a", "bb"}));
}

TEST_F(BundleSlicesTest, WhatIsNotStoredCannotBeRead) {
  const CheckpointReader reader = written({5, 10}, {"-:0,4", "-:6,4"});
  EXPECT_THAT([&] { reader.read("t"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "\"t\" does not have sufficient slices for 0,5:0,10: 40 of its 50 elements")));
  EXPECT_EQ(reader.read_slice("t", parse_slice("-:1,3")), cells("0,5:1,3"));
}

TEST_F(BundleSlicesTest, TheWorkedExampleIsWrittenByteForByte) {
  BundleWriter writer(files_, "m-1");
  writer.add_slice("p", {4, 2}, parse_slice("0,2:0,2"), Tensor::from<float>({0, 1, 2, 3}, {2, 2}));
  writer.add_slice("p", {4, 2}, parse_slice("2,2:0,2"), Tensor::from<float>({4, 5, 6, 7}, {2, 2}));
  writer.finish();
  EXPECT_EQ(writer.num_tensors(), 1u);
  const auto value = [](const char* hex) { return internal::from_hex(hex); };
  EXPECT_EQ(read_file(files_, index_filename("m-1")),
            internal::encode_table(
                {{"", internal::encode(internal::BundleHeader{})},
                 {value("00 70 00 01 01 02 80 82 80 82"),
                  value("08 01 12 08 12 02 08 02 12 02 08 02 28 10 35 93 8d eb 32")},
                 {value("00 70 00 01 01 02 82 82 80 82"),
                  value("08 01 12 08 12 02 08 02 12 02 08 02 20 10 28 10 35 f8 e7 bb aa")},
                 {"p", value("08 01 12 08 12 02 08 04 12 02 08 02 3a 08 0a 02 10 02 0a 02 10 02 "
                             "3a 0a 0a 04 08 02 10 02 0a 02 10 02")}}));
}

TEST_F(BundleSlicesTest, RefusesSlicesThatAreNotOfOneTensor) {
  const auto refused = [&](const char* name, const Shape& shape, const char* slice,
                           const Tensor& tensor) {
    BundleWriter writer(files_, "m-1");
    writer.add("whole", Tensor::scalar(1.0f));
    writer.add_slice("t", {5, 10}, parse_slice("-:2,4"), cells("0,5:2,4"));
    EXPECT_THROW(writer.add_slice(name, shape, parse_slice(slice), tensor), InvalidArgumentError)
        << name << to_string(shape) << slice;
  };
  refused("t", {5, 10}, "-:2,4", cells("0,5:2,4"));
  refused("t", {5, 10}, "1,1:5,1", cells("1,1:5,1"));
  refused("t", {5, 10}, "-:-", cells("0,5:0,10"));
  refused("t", {5, 11}, "-:0,2", cells("0,5:0,2"));
  refused("t", {5, 10}, "-:0,2", Tensor::zeros<float>({5, 2}));
  refused("t", {5, 10}, "-:0,2", cells("0,5:0,1"));
  refused("u", {5, 10}, "-:8,3", cells("0,5:8,3"));
  refused("u", {5, 10}, "-", cells("0,5:0,1"));
  refused("u", {5, 10}, "-:0,2", Tensor());
  refused("whole", {5, 10}, "-:0,2", cells("0,5:0,2"));
  refused("", {5, 10}, "-:0,2", cells("0,5:0,2"));
  BundleWriter writer(files_, "m-1");
  writer.add_slice("t", {5, 10}, parse_slice("-:2,4"), cells("0,5:2,4"));
  EXPECT_THROW(writer.add("t", cells("0,5:0,10")), InvalidArgumentError);
}

// An index that contradicts itself.
TEST_F(BundleSlicesTest, SlicesThatAreNotAsTheEntrySaysAreDataLoss) {
  const std::string two = internal::from_hex("00 00 80 3f 00 00 00 40");
  const auto read = [&](const std::vector<TensorSlice>& slices, const BundleEntry& stored) {
    RawBundle bundle;
    bundle.entries["p"] = {.dtype = DType::kFloat, .shape = {4}, .slices = slices};
    bundle.add(internal::slice_key("p", {{0, 2}}), stored, two);
    bundle.add(internal::slice_key("p", {{1, 2}}), {.dtype = DType::kFloat, .shape = {2}}, two);
    bundle.put(files_, "m-1");
    return [this] { CheckpointReader("m-1", files_).read("p"); };
  };
  const BundleEntry good{.dtype = DType::kFloat, .shape = {2}};
  EXPECT_THAT(
      read({{{0, 2}}, {{2, 2}}}, good),
      ThrowsMessage<DataLossError>(HasSubstr("the slice 2,2 of \"p\" is not in the index")));
  EXPECT_THAT(read({{{0, 2}}, {{1, 2}}}, good), ThrowsMessage<DataLossError>(HasSubstr("overlap")));
  EXPECT_THAT(read({{{0, 2}}, {{0, 2}}}, good), ThrowsMessage<DataLossError>(HasSubstr("overlap")));
  EXPECT_THAT(read({{{3, 2}}}, good), ThrowsMessage<DataLossError>(HasSubstr("a range of 2")));
  EXPECT_THAT(read({{{0, 2}}}, {.dtype = DType::kInt32, .shape = {2}}),
              ThrowsMessage<DataLossError>(HasSubstr("is int32 [2], expected float32 [2]")));
  EXPECT_THAT(read({{{0, 2}}}, {.dtype = DType::kFloat, .shape = {2, 1}}),
              ThrowsMessage<DataLossError>(HasSubstr("[2,1]")));
}

}  // namespace
}  // namespace crochet
