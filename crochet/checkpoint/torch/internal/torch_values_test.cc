// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/checkpoint_contents.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/raw_torch.h"

namespace crochet {
namespace {

using internal::pickled;
using internal::RawTorchTensor;
using internal::torch_archive;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class CountedTorchFile final : public ReadableFile {
 public:
  CountedTorchFile(std::unique_ptr<ReadableFile> file, uint64_t& num_bytes)
      : file_(std::move(file)), num_bytes_(num_bytes) {}
  uint64_t size() const override { return file_->size(); }
  void read_at(uint64_t offset, std::span<std::byte> destination) const override {
    num_bytes_ += destination.size();
    file_->read_at(offset, destination);
  }

 private:
  std::unique_ptr<ReadableFile> file_;
  uint64_t& num_bytes_;
};

// Counts the bytes that are read.
class CountedTorchFiles final : public MemoryFileSystem {
 public:
  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    return std::make_unique<CountedTorchFile>(MemoryFileSystem::open(path), num_bytes_read);
  }
  uint64_t num_bytes_read = 0;
};

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
  // Why the value "w" cannot be read. The file can be opened, and reading it throws the same.
  std::string why(const CheckpointReader& reader, Code code, const std::string& name = "w") {
    const auto found = reader.unreadable().find(name);
    if (found == reader.unreadable().end()) return "";
    EXPECT_EQ(found->second.code, code) << name;
    try {
      reader.read(name);
      ADD_FAILURE() << name << " was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      const DataLossError expected(fmt::format("a.pt: \"{}\" {}", name, found->second.why));
      EXPECT_STREQ(error.what(), expected.what());
    }
    return found->second.why;
  }
  std::string error_of(const RawTorchTensor& tensor, const std::vector<std::string>& storages) {
    return why(open(tensor, storages), Code::kDataLoss);
  }
  std::string error_of(const std::string& operations) {
    return why(open(operations), Code::kDataLoss);
  }
  std::string refusal_of(const std::string& operations, const std::string& name = "w") {
    return why(open(operations), Code::kUnimplemented, name);
  }
  static std::vector<std::string> names_in(const CheckpointReader& reader) {
    std::vector<std::string> names;
    for (const auto& [name, info] : reader.tensors()) names.push_back(name);
    return names;
  }

  CountedTorchFiles files_;
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
              AllOf(StartsWith("is [2] from element 1 on, but its storage has 2 elements (byte "),
                    EndsWith(" of a/data.pkl)")));
  EXPECT_NE(error({.offset = 2, .sizes = {}, .strides = {}}), "");
  EXPECT_NE(error({.sizes = {2, 2}, .strides = {1, 1}}), "");
  EXPECT_NE(error({.sizes = {0x7fffffff, 0x7fffffff, 3}, .strides = {0x7fffffff, 1, 1}}), "");
  EXPECT_THAT(error({.sizes = {2}, .strides = {}}), HasSubstr("has 1 sizes and 0 strides"));
  EXPECT_THAT(error({.sizes = {-2}, .strides = {1}}), HasSubstr("has a size or stride that is"));
  EXPECT_THAT(error({.sizes = {2}, .strides = {-1}}), HasSubstr("has a size or stride that is"));
  EXPECT_THAT(error({.sizes = std::vector<int64_t>(255, 1), .strides = {}}),
              HasSubstr("has 255 dimensions, expected at most 254"));
  EXPECT_THAT(error({.key = "7", .sizes = {2}, .strides = {1}}),
              HasSubstr("has its elements in the storage \"7\", which is missing"));
  EXPECT_THAT(error({.storage = "DoubleStorage", .sizes = {2}, .strides = {1}}),
              HasSubstr("has a storage of 2 elements of 8 bytes, but \"a/data/0\" has 8 bytes"));
}

TEST_F(TorchValuesTest, RejectsTensorsThatAreMadeOfSomethingElse) {
  const std::string call = "ctorch._utils\n_rebuild_tensor_v2\n";
  EXPECT_THAT(error_of("}" + pickled("w") + call + "(NtRs"),
              HasSubstr("is made of 1 values, expected 6"));
  EXPECT_THAT(error_of("}" + pickled("w") + call + "(NNNNNNtRs"),
              HasSubstr("has None for its storage"));
  EXPECT_THAT(error_of("}" + pickled("w") + call + "(NQNNNNNtRs"),
              HasSubstr("has a storage that is not (\"storage\", class, key"));
  EXPECT_THAT(error_of("}" + pickled("w") + call + "(NQ" + pickled(0u) + "))NNtRs"),
              HasSubstr("has a storage that is not (\"storage\", class, key"));
}

// A small file with a tensor of many elements costs no memory, and does not hide the others.
TEST_F(TorchValuesTest, ATensorOfMoreElementsThanTheFileIsListed) {
  const RawTorchTensor expanded{.count = 2, .sizes = {0x7fffffff}, .strides = {0}};
  const CheckpointReader reader =
      open("}(" + pickled("w") + expanded.pickled() + pickled("n") + "K\x01u", {two_floats_});
  EXPECT_THAT(why(reader, Code::kUnimplemented),
              HasSubstr("repeats few elements in [2147483647], more than the file has: save a "
                        "copy, tensor.clone("));
  EXPECT_EQ(reader.tensors().at("w").shape, (Shape{0x7fffffff}));
  EXPECT_EQ(reader.read("n"), Tensor::scalar<int64_t>(1));
  reader.verify();
}

TEST_F(TorchValuesTest, OfTwoValuesWithOneNameNoneCanBeRead) {
  EXPECT_EQ(refusal_of("}(" + pickled("w") + "K\x01" + pickled("w") + "K\x02u"),
            "is the name of two values");
  const CheckpointReader reader = open("}(" + pickled("a/b") + "K\x01" + pickled("a") + "}" +
                                       pickled("b") + "K\x02s" + pickled("c") + "K\x03u");
  EXPECT_EQ(why(reader, Code::kUnimplemented, "a/b"), "is the name of two values");
  EXPECT_EQ(reader.read("c"), Tensor::scalar<int64_t>(3));
  EXPECT_THAT(names_in(reader), ElementsAre("c"));
}

TEST_F(TorchValuesTest, NamesAreKeysOfAnyKind) {
  const CheckpointReader reader =
      open("}(" + pickled("") + "K\x01" + "K\x07" + "K\x01" + "\x88" + "K\x01" + "N" + "K\x01" +
           std::string("G\x3f\xf8\0\0\0\0\0\0", 9) + "K\x01" + pickled("a") + "K\x02\x86" +
           "K\x01" + "K\x02\x85" + "K\x01" + "u");
  EXPECT_THAT(names_in(reader), ElementsAre("", "('a', 2)", "(2,)", "1.5", "7", "None", "True"));
  EXPECT_EQ(reader.read(""), Tensor::scalar<int64_t>(1));
  EXPECT_TRUE(reader.contains(""));
}

TEST_F(TorchValuesTest, ListsValuesThatHaveNoName) {
  const std::string zero(1, '\0');
  EXPECT_EQ(refusal_of("}" + pickled(zero) + "K\x01s", zero).substr(0, 41),
            "has a name that begins with a zero byte (");
  EXPECT_THAT(refusal_of("}]K\x01s", "<key 0>"), StartsWith("has a list as its key"));
}

// Each of these once kept the weights beside it from being read.
TEST_F(TorchValuesTest, AForeignObjectDoesNotHideTheOthers) {
  const auto with = [&](const std::string& value) {
    return "}(" + pickled("w") + value + pickled("n") + "K\x01u";
  };
  const std::pair<std::string, std::string> values[] = {
      {"cnumpy\nscalar\nC\x01x\x85R", "is made by numpy.scalar, which crochet does not call"},
      {"cm\nC\n)\x81", "is an object of m.C without attributes"},
      {"cm\nC\n)\x81K\x01" + std::string("b"), "is an object of m.C without attributes"},
      {"cm\nf\n", "is the class or function m.f"},
      {"cm\nf\n)R)R", "is made by a call, which crochet does not call"},
      {"\x8f(K\x01\x90", "is a set"},
      {"C\x01x", "is bytes"},
      {"K\x01Q", "is a storage"},
      {std::string("\x8a\x09\0\0\0\0\0\0\0\0\1", 11), "is an integer of 9 bytes"},
  };
  for (const auto& [value, expected] : values) {
    const CheckpointReader reader = open(with(value));
    EXPECT_THAT(why(reader, Code::kUnimplemented), StartsWith(expected));
    EXPECT_THAT(names_in(reader), ElementsAre("n"));
    reader.verify();
  }
}

TEST_F(TorchValuesTest, ReadsTheAttributesAndItemsOfObjects) {
  const std::string object = "cm\nC\n)\x81";
  const auto names = [&](const std::string& value) {
    return names_in(open("}" + pickled("w") + value + 's'));
  };
  const std::string attributes = "}" + pickled("lr") + "K\x01s";
  EXPECT_THAT(names(object + attributes + 'b'), ElementsAre("w/lr"));
  EXPECT_THAT(names(object + "N" + attributes + "\x86" + "b"), ElementsAre("w/lr"));
  EXPECT_THAT(names(object + pickled("k") + "K\x01s" + attributes + 'b'), ElementsAre("w/k"));
  EXPECT_THAT(names(object + "K\x01" + "aN" + "a"), ElementsAre("w/0"));
  EXPECT_THAT(names("cm\nC\nK\x01" + pickled("x") + "\x86\x81"), ElementsAre("w/0", "w/1"));
  EXPECT_THAT(names("cm\nC\n" + pickled("x") + "\x85\x81"), ElementsAre("w"));
  EXPECT_THAT(names("ccollections\ndefaultdict\ncm\nint\n\x85R" + pickled("k") + "K\x01s"),
              ElementsAre("w/k"));
  EXPECT_THAT(names("ccollections\nOrderedDict\n](](" + pickled("a") + "K\x01" + "ee\x85R"),
              ElementsAre("w/a"));
}

TEST_F(TorchValuesTest, ListsOfOneKindAreOneTensor) {
  const CheckpointReader reader =
      open("}(" + pickled("a") + "](K\x01K\x02" + "e" + pickled("b") + "](K\x01N" + "eu");
  EXPECT_THAT(names_in(reader), ElementsAre("a", "b/0"));
  EXPECT_EQ(reader.read("a"), Tensor::from<int64_t>({1, 2}));
}

// Lists with two references to the list before, which remains on the stack and so in the tuple.
TEST_F(TorchValuesTest, BoundsSharedAndNestedValues) {
  std::string shared = "]K\x01" + std::string("a");
  for (int i = 0; i < 60; ++i) {
    const char memo = static_cast<char>(i);
    shared += std::string("q") + memo + "](" + 'h' + memo + 'h' + memo + 'e';
  }
  EXPECT_THAT([&] { open("(" + shared + "t"); },
              testing::ThrowsMessage<DataLossError>(HasSubstr("are repeated too often")));
  const std::string itself = "}" + pickled("w") + std::string("]q\x00h\x00", 5) + 'a' + 's';
  EXPECT_THAT(refusal_of(itself, "w/0"), HasSubstr("contains itself"));
  std::string deep = "K\x01";
  for (int i = 0; i < 200'000; ++i) deep += "N\x86";
  std::string name = "0";
  for (int i = 0; i < 100; ++i) name += "/0";
  EXPECT_THAT(refusal_of(deep, name), HasSubstr("is nested deeper than 100"));
}

// Two elements at both ends of a storage: only they are read, and not all between them each time.
TEST_F(TorchValuesTest, ReadsDistantElementsAlone) {
  constexpr size_t kFloats = size_t{1} << 20;
  const std::string storage(4 * kFloats, '\1');
  std::string dict = "}(";
  for (int i = 0; i < 300; ++i)
    dict += pickled(fmt::format("w{}", i)) +
            RawTorchTensor{.count = kFloats, .sizes = {2}, .strides = {kFloats - 1}}.pickled();
  internal::put_file(files_, "a.pt", torch_archive(dict + 'u', {storage}).bytes());
  const CheckpointReader reader("a.pt", files_);
  for (const auto& [name, info] : reader.tensors()) EXPECT_EQ(reader.read(name).num_elements(), 2);
  reader.verify();
  EXPECT_LT(files_.num_bytes_read, 2 * storage.size());
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
              testing::ThrowsMessage<UnimplementedError>(
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
