// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/stored_slices.h"

#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/slice_key.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using internal::RawBundle;
using internal::StoredTensor;
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
  // Writes slices of "t", which contain numbers of cells, and reads.
  CheckpointReader written(const Shape& shape, const std::vector<std::string>& slices) {
    internal::BundleWriter writer(files_, "m-1");
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
  EXPECT_EQ(reader.read_slice("t", parse_slice("-:1,9")), cells("0,5:1,9")) << "as stored";
  EXPECT_EQ(reader.read_slice("t", parse_slice("-:0,2")), cells("0,5:0,2")) << "cuts both";
  EXPECT_EQ(reader.read_slice("t", parse_slice("1,3:2,4")), cells("1,3:2,4")) << "within one";
}

// TB-5
TEST_F(BundleSlicesTest, WholeDimensionsMayBeExplicitOrNot) {
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

TEST_F(BundleSlicesTest, StringsAreReadInPieces) {
  internal::BundleWriter writer(files_, "m-1");
  writer.add_slice("s", {4}, parse_slice("0,1"), Tensor::from({"a"}));
  writer.add_slice("s", {4}, parse_slice("1,3"), Tensor::from({"bb", "", "d"}));
  writer.finish();
  const CheckpointReader reader("m-1", files_);
  EXPECT_EQ(reader.read("s"), Tensor::from({"a", "bb", "", "d"}));
  EXPECT_EQ(reader.read_slice("s", parse_slice("0,2")), Tensor::from({"a", "bb"}));
}

TEST_F(BundleSlicesTest, RejectsSlicesThatAreNotStored) {
  const CheckpointReader reader = written({5, 10}, {"-:0,4", "-:6,4"});
  EXPECT_THAT([&] { reader.read("t"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "\"t\" does not have sufficient slices for 0,5:0,10: 40 of its 50 elements")));
  EXPECT_EQ(reader.read_slice("t", parse_slice("-:1,3")), cells("0,5:1,3"));
}

TEST_F(BundleSlicesTest, TheWorkedExampleIsWrittenByteForByte) {
  internal::BundleWriter writer(files_, "m-1");
  writer.add_slice("p", {4, 2}, parse_slice("0,2:0,2"), Tensor::from<float>({0, 1, 2, 3}, {2, 2}));
  writer.add_slice("p", {4, 2}, parse_slice("2,2:0,2"), Tensor::from<float>({4, 5, 6, 7}, {2, 2}));
  writer.finish();
  const auto value = [](const char* hex) { return internal::from_hex(hex); };
  EXPECT_EQ(read_file(files_, internal::index_filename("m-1")),
            internal::encode_table(
                {{"", internal::encode(internal::BundleHeader{})},
                 {value("00 70 00 01 01 02 80 82 80 82"),
                  value("08 01 12 08 12 02 08 02 12 02 08 02 28 10 35 93 8d eb 32")},
                 {value("00 70 00 01 01 02 82 82 80 82"),
                  value("08 01 12 08 12 02 08 02 12 02 08 02 20 10 28 10 35 f8 e7 bb aa")},
                 {"p", value("08 01 12 08 12 02 08 04 12 02 08 02 3a 08 0a 02 10 02 0a 02 10 02 "
                             "3a 0a 0a 04 08 02 10 02 0a 02 10 02")}}));
}

TEST_F(BundleSlicesTest, RejectsSlicesThatAreNotOfOneTensor) {
  const auto refused = [&](const char* name, const Shape& shape, const char* slice,
                           const Tensor& tensor) {
    internal::BundleWriter writer(files_, "m-1");
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
  internal::BundleWriter writer(files_, "m-1");
  writer.add_slice("t", {5, 10}, parse_slice("-:2,4"), cells("0,5:2,4"));
  EXPECT_THROW(writer.add("t", cells("0,5:0,10")), InvalidArgumentError);
}

// An index that contradicts itself.
TEST_F(BundleSlicesTest, SlicesThatContradictTheEntryAreDataLoss) {
  const std::string two = internal::from_hex("00 00 80 3f 00 00 00 40");
  const auto read = [&](const std::vector<TensorSlice>& slices, const StoredTensor& stored) {
    RawBundle bundle;
    bundle.entries["p"] = {.dtype = DType::kFloat, .shape = {4}, .slices = slices};
    bundle.add(internal::slice_key("p", {{0, 2}}), stored, two);
    bundle.add(internal::slice_key("p", {{1, 2}}), {.dtype = DType::kFloat, .shape = {2}}, two);
    bundle.put(files_, "m-1");
    return [this] { CheckpointReader("m-1", files_).read("p"); };
  };
  const StoredTensor good{.dtype = DType::kFloat, .shape = {2}};
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

// Slices of "t", all of which the index has.
internal::StoredTensors index_of(const Shape& shape, const std::vector<TensorSlice>& slices) {
  internal::StoredTensors::Map tensors;
  for (const TensorSlice& slice : slices)
    tensors[internal::slice_key("t", slice)] = {.dtype = DType::kFloat,
                                                .shape = internal::shape_of(slice)};
  tensors["t"] = {.dtype = DType::kFloat, .shape = shape, .slices = slices};
  return internal::StoredTensors(std::move(tensors));
}
std::vector<internal::StoredSlice> all_slices_of(const internal::StoredTensors& tensors) {
  return internal::all_slices(tensors, "t", tensors.find("t")->second);
}

// Otherwise small data and a small index could claim any number of elements.
TEST_F(BundleSlicesTest, SlicesThatShareBytesAreDataLoss) {
  RawBundle bundle;
  const std::string bytes(4096, '\0');
  std::vector<TensorSlice> slices;
  for (int64_t i = 0; i < 1000; ++i) {
    slices.push_back({{i * 1024, 1024}});
    bundle.add(internal::slice_key("t", slices.back()), {.dtype = DType::kFloat, .shape = {1024}},
               i == 0 ? bytes : "");
    bundle.entries[internal::slice_key("t", slices.back())] = {
        .dtype = DType::kFloat,
        .shape = {1024},
        .size = 4096,
        .masked_crc32c = internal::mask_crc32c(internal::crc32c(bytes))};
  }
  bundle.entries["t"] = {.dtype = DType::kFloat, .shape = {1024 * 1000}, .slices = slices};
  bundle.put(files_, "m-1");
  const AllocationCounter allocations;
  EXPECT_THAT([&] { CheckpointReader("m-1", files_).read("t"); },
              ThrowsMessage<DataLossError>(HasSubstr("overlap in data file 0 at offset 0")));
  EXPECT_LT(allocations.largest(), size_t{1} << 20);
}

// Comparing each pair would allocate two million times.
TEST_F(BundleSlicesTest, ManySlicesAreComparedInLittleTime) {
  constexpr int64_t kCount = 2000;
  std::vector<TensorSlice> slices;
  for (int64_t i = kCount; i-- > 0;) slices.push_back({{0, 2}, {i, 1}});
  const internal::StoredTensors tensors = index_of({2, kCount}, slices);
  const AllocationCounter allocations;
  const auto all = all_slices_of(tensors);
  EXPECT_LT(allocations.count(), 50 * kCount);
  ASSERT_EQ(all.size(), size_t{kCount});
  EXPECT_EQ(all[7].where, (TensorSlice{{0, 2}, {7, 1}})) << "in order";
  EXPECT_THAT(internal::slices_within(all, "t", {{0, 2}, {7, 1}}), testing::SizeIs(1));
  EXPECT_THAT(internal::slices_within(all, "t", {{1, 1}, {7, 3}}), testing::SizeIs(3));
}

// Gives the same answer as comparing each pair.
TEST_F(BundleSlicesTest, FindsEveryOverlap) {
  std::minstd_rand random(1);
  int num_sound = 0;
  for (int i = 0; i < 3000; ++i) {
    const size_t rank = random() % 3 + 1;
    std::vector<TensorSlice> slices;
    bool overlap = false;
    for (size_t k = random() % 5 + 1; k > 0; --k) {
      TensorSlice slice;
      for (size_t d = 0; d < rank; ++d) {
        const auto start = static_cast<int64_t>(random() % 5);
        slice.push_back({start, 1 + static_cast<int64_t>(random() % (5 - start))});
      }
      for (const TensorSlice& other : slices)
        overlap = overlap || internal::intersection(slice, other);
      slices.push_back(slice);
    }
    const internal::StoredTensors tensors = index_of(Shape(std::vector<int64_t>(rank, 5)), slices);
    if (overlap) {
      EXPECT_THROW(all_slices_of(tensors), DataLossError) << i;
    } else {
      EXPECT_NO_THROW(all_slices_of(tensors)) << i;
      ++num_sound;
    }
  }
  EXPECT_GT(num_sound, 500);
}

// Four arms around a centre, which no cut divides. One arm consists of many slices.
std::vector<TensorSlice> pinwheel(int64_t size) {
  std::vector<TensorSlice> slices = {{{0, 1}, {0, 2}},
                                     {{1, 2}, {0, 1}},
                                     {{2, 1}, {1, size}},
                                     {{0, 2}, {size, 1}},
                                     {{1, 1}, {1, size - 1}}};
  for (int64_t i = 2; i < size; ++i) slices.push_back({{0, 1}, {i, 1}});
  return slices;
}

TEST_F(BundleSlicesTest, EntangledSlicesTakeBoundedTime) {
  EXPECT_THAT(all_slices_of(index_of({3, 101}, pinwheel(100))), testing::SizeIs(103));
  EXPECT_THAT(
      [] {
        all_slices_of(index_of({3, 20'001}, pinwheel(20'000)));
      },
      ThrowsMessage<DataLossError>(HasSubstr("too entangled to compare")));
}

TEST_F(BundleSlicesTest, ComparingSlicesEndsWithASignal) {
  set_pending_signal(15);
  EXPECT_THROW(all_slices_of(index_of({3, 101}, pinwheel(100))), CancelledError);
  set_pending_signal(0);
}

}  // namespace
}  // namespace crochet
