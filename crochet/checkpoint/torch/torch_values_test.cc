// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/testing/checkpoint_contents.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/raw_bundle.h"
#include "crochet/testing/raw_torch.h"

namespace crochet {
namespace {

using internal::pickled;
using internal::RawTorchTensor;
using internal::torch_archive;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Files of torch whose pickles and storages are built here.
class TorchValuesTest : public testing::Test {
 protected:
  CheckpointReader open(const std::string& operations,
                        const std::vector<std::string>& storages = {}) {
    internal::put_file(files_, "a.pt", torch_archive(operations, storages).bytes());
    return CheckpointReader("a.pt", files_);
  }
  CheckpointReader open(const RawTorchTensor& tensor, const std::vector<std::string>& storages) {
    return open("}" + pickled("w") + tensor.pickled() + 's', storages);
  }
  template <typename Content>
  std::string error_of(const Content& content, const std::vector<std::string>& storages = {}) {
    try {
      open(content, storages);
    } catch (const DataLossError& error) {
      return error.what();
    }
    return "";
  }
  template <typename Content>
  std::string refusal_of(const Content& content) {
    try {
      open(content, {});
    } catch (const UnimplementedError& error) {
      return error.what();
    }
    return "";
  }

  MemoryFileSystem files_;
  const std::string two_floats_ = std::string(4, '\0') + std::string("\x00\x00\x80\x3f", 4);
};

TEST_F(TorchValuesTest, ReadsATensorOfAPartOfAStorage) {
  const CheckpointReader reader =
      open({.count = 2, .offset = 1, .sizes = {3}, .strides = {0}}, {two_floats_});
  reader.verify();
  EXPECT_EQ(read_all(reader), (TensorMap{{"w", Tensor::from<float>({1, 1, 1})}}));
}

// The part itself is intact.
TEST_F(TorchValuesTest, VerifiesAllOfAStorageForAPartOfIt) {
  auto archive = torch_archive(
      "}" + pickled("w") +
          RawTorchTensor{.count = 2, .offset = 1, .sizes = {1}, .strides = {1}}.pickled() + 's',
      {two_floats_});
  archive.entries.back().data[0] = 1;
  internal::put_file(files_, "a.pt", archive.bytes());
  const CheckpointReader reader("a.pt", files_);
  const auto message = testing::HasSubstr("a.pt: crc32 of the zip entry \"a/data/0\" at");
  EXPECT_THAT([&] { reader.read("w"); }, testing::ThrowsMessage<DataLossError>(message));
  EXPECT_THAT([&] { reader.verify(); }, testing::ThrowsMessage<DataLossError>(message));
}

TEST_F(TorchValuesTest, RejectsTensorsThatDoNotFitTheirStorage) {
  const auto error = [&](RawTorchTensor tensor) {
    tensor.count = 2;
    return error_of(tensor, {two_floats_});
  };
  EXPECT_THAT(error({.offset = 1, .sizes = {2}, .strides = {1}}),
              AllOf(StartsWith("a.pt: a/data.pkl: byte "),
                    HasSubstr("\"w\" is [2] from element 1 on, but its storage has 2 elements")));
  EXPECT_NE(error({.offset = 2, .sizes = {}, .strides = {}}), "");
  EXPECT_NE(error({.sizes = {2, 2}, .strides = {1, 1}}), "");
  EXPECT_NE(error({.sizes = {0x7fffffff, 0x7fffffff, 3}, .strides = {0x7fffffff, 1, 1}}), "");
  EXPECT_THAT(error({.sizes = {2}, .strides = {}}), HasSubstr("has 1 sizes and 0 strides"));
  EXPECT_THAT(error({.sizes = {-2}, .strides = {1}}), HasSubstr("has a size or stride that is"));
  EXPECT_THAT(error({.sizes = {2}, .strides = {-1}}), HasSubstr("has a size or stride that is"));
  EXPECT_THAT(error({.sizes = std::vector<int64_t>(255, 1), .strides = {}}),
              HasSubstr("has 255 dimensions, expected at most 254"));
  EXPECT_THAT(error({.sizes = {0x7fffffff}, .strides = {0}}),
              HasSubstr("is float32 [2147483647], more than the file has"));
  EXPECT_THAT(error({.key = "7", .sizes = {2}, .strides = {1}}),
              HasSubstr("has its elements in \"a/data/7\", which is missing"));
  EXPECT_THAT(error({.storage = "DoubleStorage", .sizes = {2}, .strides = {1}}),
              HasSubstr("has a storage of 2 elements of 8 bytes, but \"a/data/0\" has 8 bytes"));
}

TEST_F(TorchValuesTest, RejectsTensorsThatAreMadeOfSomethingElse) {
  const std::string call = "ctorch._utils\n_rebuild_tensor_v2\n";
  EXPECT_THAT(error_of("}" + pickled("w") + call + "(NtRs"),
              HasSubstr("\"w\" is torch._utils._rebuild_tensor_v2 of 1 values, expected 6"));
  EXPECT_THAT(error_of("}" + pickled("w") + call + "(NNNNNNtRs"),
              HasSubstr("\"w\" has None for its storage"));
  EXPECT_THAT(error_of("}" + pickled("w") + call + "(NQNNNNNtRs"),
              HasSubstr("\"w\" has an offset that is not an int"));
  EXPECT_THAT(error_of("}" + pickled("w") + call + "(NQ" + pickled(0u) + "))NNtRs"),
              HasSubstr("\"w\" has a storage that is not (\"storage\", class, key"));
}

TEST_F(TorchValuesTest, RejectsNamesThatOccurTwiceOrAreEmpty) {
  EXPECT_THAT(error_of("}(" + pickled("w") + "K\x01" + pickled("w") + "K\x02u"),
              HasSubstr("\"w\" occurs twice"));
  EXPECT_THAT(
      error_of("}(" + pickled("a/b") + "K\x01" + pickled("a") + "}" + pickled("b") + "K\x02su"),
      HasSubstr("\"a/b\" occurs twice"));
  EXPECT_THAT(error_of("}" + pickled("") + "K\x01s"), HasSubstr("has an empty key"));
  EXPECT_THAT(error_of("}" + pickled(std::string(1, '\0')) + "K\x01s"),
              HasSubstr("begins with a zero byte"));
  EXPECT_THAT(refusal_of("}NK\x01s"), HasSubstr("has None as a key, expected strings and ints"));
}

TEST_F(TorchValuesTest, ListsOfOneKindAreOneTensor) {
  const CheckpointReader reader =
      open("}(" + pickled("a") + "](K\x01K\x02" + "e" + pickled("b") + "](K\x01N" + "eu");
  std::vector<std::string> names;
  for (const auto& [name, info] : reader.tensors()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("a", "b/0"));
  EXPECT_EQ(reader.read("a"), Tensor::from<int64_t>({1, 2}));
}

// Lists with two references to the list before, which remains on the stack and so in the tuple.
TEST_F(TorchValuesTest, BoundsSharedAndNestedValues) {
  std::string shared = "]K\x01" + std::string("a");
  for (int i = 0; i < 60; ++i) {
    const char memo = static_cast<char>(i);
    shared += std::string("q") + memo + "](" + 'h' + memo + 'h' + memo + 'e';
  }
  EXPECT_THAT(error_of("(" + shared + "t"), HasSubstr("are repeated too often"));
  EXPECT_THAT(error_of(std::string("]q\x00h\x00", 5) + 'a'),
              HasSubstr("is nested deeper than 100"));
  std::string deep = "K\x01";
  for (int i = 0; i < 200'000; ++i) deep += "\x85";
  EXPECT_THAT(error_of(deep), HasSubstr("is nested deeper than 100"));
}

TEST_F(TorchValuesTest, RefusesBigEndianFiles) {
  auto archive = torch_archive("}");
  archive.entries.pop_back();
  archive.add("a/byteorder", "big");
  internal::put_file(files_, "a.pt", archive.bytes());
  EXPECT_THAT([&] { CheckpointReader("a.pt", files_); },
              testing::ThrowsMessage<UnimplementedError>(
                  HasSubstr("a.pt: a/byteorder is \"big\", expected \"little\"")));
}

TEST_F(TorchValuesTest, RejectsOtherZipArchives) {
  internal::RawZip zip;
  zip.add("a/code", "x");
  internal::put_file(files_, "a.pt", zip.bytes());
  EXPECT_THAT([&] { CheckpointReader("a.pt", files_); },
              testing::ThrowsMessage<DataLossError>(
                  HasSubstr("a.pt: found a zip archive without <name>/data.pkl")));
  zip.add("a/data.pkl", "");
  zip.add("b/data.pkl", "");
  internal::put_file(files_, "a.pt", zip.bytes());
  EXPECT_THAT([&] { CheckpointReader("a.pt", files_); },
              testing::ThrowsMessage<DataLossError>(
                  HasSubstr("a.pt: the zip archive has both a/data.pkl and b/data.pkl")));
  internal::put_file(files_, "a.pt", "text");
  EXPECT_THROW(CheckpointReader("a.pt", files_), DataLossError);
}

}  // namespace
}  // namespace crochet
