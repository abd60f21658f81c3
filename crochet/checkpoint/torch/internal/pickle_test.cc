// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/pickle.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using internal::Pickle;
using internal::PickleValue;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Kind = PickleValue::Kind;

Pickle parse(std::string_view bytes) { return internal::parse_pickle(bytes, "a.pt: a/data.pkl"); }

// A pickle of these operations.
std::string pickle_of(const std::string& operations) { return "\x80\x02" + operations + "."; }

// For the bytes of a literal, zeros too.
template <size_t kSize>
std::string bytes(const char (&literal)[kSize]) {
  return {literal, kSize - 1};
}

// The kept bytes are referred to by strings of the result.
struct Parsed {
  explicit Parsed(const std::string& operations) : text(pickle_of(operations)) {}
  const std::string text;
  const Pickle pickle = parse(text);
  const PickleValue& root = pickle.values[pickle.root];
  const PickleValue& item(size_t i) const { return pickle.item(root, i); }
  const PickleValue* part(internal::PickleParts which) const { return pickle.part(root, which); }
};

TEST(PickleTest, ReadsEachKindOfNumber) {
  EXPECT_EQ(Parsed("N").root.kind, Kind::kNone);
  EXPECT_EQ(Parsed("\x88").root.integer, 1);
  EXPECT_EQ(Parsed("\x89").root.integer, 0);
  EXPECT_EQ(Parsed("K\xff").root.integer, 255);
  EXPECT_EQ(Parsed("M\xff\xfe").root.integer, 0xfeff);
  EXPECT_EQ(Parsed("J\xfe\xff\xff\xff").root.integer, -2);
  EXPECT_EQ(Parsed(bytes("\x8a\x00")).root.integer, 0);
  EXPECT_EQ(Parsed(bytes("\x8a\x01\xff")).root.integer, -1);
  EXPECT_EQ(Parsed(bytes("\x8a\x02\xff\x00")).root.integer, 255);
  EXPECT_EQ(Parsed(bytes("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80")).root.integer, INT64_MIN);
  EXPECT_EQ(Parsed(bytes("G\x3f\xf8\x00\x00\x00\x00\x00\x00")).root.real, 1.5);
}

TEST(PickleTest, ReadsIntegersOfAnySize) {
  const Parsed natural(bytes("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"));
  EXPECT_EQ(natural.root.kind, Kind::kUint);
  EXPECT_EQ(natural.root.natural, UINT64_MAX);
  const Parsed padded(bytes("\x8b\x0a\0\0\0\x05\0\0\0\0\0\0\0\0\0"));
  EXPECT_EQ(padded.root.kind, Kind::kInt);
  EXPECT_EQ(padded.root.integer, 5);
  const Parsed negative(bytes("\x8a\x09\xfe\xff\xff\xff\xff\xff\xff\xff\xff"));
  EXPECT_EQ(negative.root.kind, Kind::kInt);
  EXPECT_EQ(negative.root.integer, -2);
  const Parsed below(bytes("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff"));
  EXPECT_EQ(below.root.kind, Kind::kHugeInt);
  EXPECT_EQ(below.root.text.size(), 9);
  EXPECT_EQ(Parsed(bytes("\x8a\x09\0\0\0\0\0\0\0\0\x01")).root.kind, Kind::kHugeInt);
  EXPECT_EQ(Parsed(bytes("\x8a\x01\x80")).root.integer, -128);
}

// The operations that protocols 3 to 5 add.
TEST(PickleTest, ReadsLaterProtocols) {
  for (const char protocol : {'\3', '\4', '\5'}) {
    const std::string none = std::string("\x80") + protocol + "N.";
    EXPECT_EQ(parse(none).values.front().kind, Kind::kNone);
  }
  EXPECT_EQ(Parsed("C\x02xy").root.kind, Kind::kBytes);
  EXPECT_EQ(Parsed(bytes("B\x01\0\0\0x")).root.text, "x");
  EXPECT_EQ(Parsed(bytes("\x8e\x01\0\0\0\0\0\0\0x")).root.kind, Kind::kBytes);
  EXPECT_EQ(Parsed(bytes("\x96\x01\0\0\0\0\0\0\0x")).root.kind, Kind::kBytes);
  EXPECT_EQ(Parsed("\x8c\x02xy").root.text, "xy");
  EXPECT_EQ(Parsed(bytes("\x8d\x01\0\0\0\0\0\0\0x")).root.text, "x");
  EXPECT_EQ(Parsed("\x8f(K\x01K\x02\x90").root.items.size(), 2);
  EXPECT_EQ(Parsed("(K\x01\x91").root.kind, Kind::kSet);
  EXPECT_EQ(Parsed(bytes("\x95\x01\0\0\0\0\0\0\0N")).root.kind, Kind::kNone);
  const Parsed memo(bytes("]\x94h\x00") + '0');
  EXPECT_EQ(memo.root.kind, Kind::kList);
  const Parsed global("\x8c\x01m\x8c\x01n\x93");
  EXPECT_EQ(global.pickle.global_name(global.root), (internal::GlobalName{"m", "n"}));
  const Parsed object("ca\nb\n)}\x92");
  EXPECT_EQ(object.root.kind, Kind::kObject);
}

TEST(PickleTest, AnObjectHasStateAndItems) {
  const Parsed object("ca\nb\n(K\x01t\x81K\x02K\x03sK\x04" + std::string("aNb"));
  ASSERT_EQ(object.root.kind, Kind::kObject);
  EXPECT_EQ(object.part(internal::kArguments)->items.size(), 1);
  EXPECT_EQ(object.part(internal::kDictItems)->items.size(), 2);
  EXPECT_EQ(object.part(internal::kListItems)->items.size(), 1);
  EXPECT_EQ(object.part(internal::kState)->kind, Kind::kNone);
  EXPECT_EQ(Parsed("ca\nb\n)R").part(internal::kState), nullptr);
}

TEST(PickleTest, SeveralPicklesFollowEachOther) {
  const std::string two = pickle_of("K\x01") + pickle_of("N");
  const Pickle first = internal::parse_first_pickle(two, "a");
  EXPECT_EQ(first.values[first.root].integer, 1);
  EXPECT_EQ(first.num_bytes, 5);
  EXPECT_THROW(internal::parse_first_pickle("\x80\x02K", "a"), internal::PickleCutShort);
}

TEST(PickleTest, ReadsContainersAndSharedValues) {
  const Parsed dict(
      bytes("}q\x00(X\x01\x00\x00\x00"
            "aq\x01K\x07X\x01\x00\x00\x00"
            "b]q\x02(h\x01h\x01"
            "eu"));
  ASSERT_EQ(dict.root.kind, Kind::kDict);
  ASSERT_EQ(dict.root.items.size(), 4);
  EXPECT_EQ(dict.item(0).text, "a");
  EXPECT_EQ(dict.item(1).integer, 7);
  EXPECT_EQ(dict.item(3).kind, Kind::kList);
  EXPECT_EQ(dict.item(3).items, (std::vector<uint32_t>{dict.root.items[0], dict.root.items[0]}));
  EXPECT_EQ(Parsed("K\x01K\x02K\x03\x87").root.items.size(), 3);
  EXPECT_EQ(Parsed("(K\x01K\x02t").root.items.size(), 2);
}

TEST(PickleTest, AListMayContainItself) {
  const Parsed list(
      bytes("]q\x00h\x00"
            "a"));
  EXPECT_EQ(list.root.items, (std::vector<uint32_t>{list.pickle.root}));
}

TEST(PickleTest, AnOrderedDictIsADictAndItsAttributesAreIgnored) {
  const Parsed dict(bytes("ccollections\nOrderedDict\n)RK\x01K\x02s}b"));
  EXPECT_EQ(dict.root.kind, Kind::kDict);
  EXPECT_EQ(dict.root.items.size(), 2);
}

TEST(PickleTest, CallsAreValuesAndNothingIsCalled) {
  const Parsed call("ctorch\nSize\nK\x01\x85\x85R");
  EXPECT_EQ(call.root.kind, Kind::kCall);
  EXPECT_EQ(call.pickle.global_name(call.item(0)), (internal::GlobalName{"torch", "Size"}));
  EXPECT_EQ(call.item(1).kind, Kind::kTuple);
}

TEST(PickleTest, AnyFunctionIsAValue) {
  const Parsed call("cos\nsystem\nN\x85R");
  EXPECT_EQ(call.root.kind, Kind::kCall);
  EXPECT_EQ(internal::python_name(call.pickle.global_name(call.item(0))), "os.system");
}

TEST(PickleTest, RefusesWhatTorchDoesNotWrite) {
  const auto refusal = [](const std::string& bytes) {
    try {
      parse(bytes);
    } catch (const UnimplementedError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("\x80\x06N."), HasSubstr("found pickle protocol 6, expected 2 to 5"));
  EXPECT_THAT(refusal("\x80\x01N."), HasSubstr("found pickle protocol 1"));
  EXPECT_THAT(refusal(pickle_of("i")), HasSubstr("byte 2: found the operation 0x69"));
  EXPECT_THAT(refusal(pickle_of("\x97")), HasSubstr("byte 2: found the operation 0x97"));
}

TEST(PickleTest, ReportsInvalidOperations) {
  const auto error_of = [](const std::string& operations) {
    try {
      parse(pickle_of(operations));
    } catch (const DataLossError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(error_of(""), HasSubstr("found the end, expected one value"));
  EXPECT_THAT(error_of("NN"), HasSubstr("found the end, expected one value"));
  EXPECT_THAT(error_of("(N"), HasSubstr("found the end, expected one value"));
  EXPECT_THAT(error_of("N."), HasSubstr("found 1 bytes after the end"));
  EXPECT_THAT(error_of("t"), HasSubstr("byte 2: found no mark"));
  EXPECT_THAT(error_of("N(\x85"), HasSubstr("byte 4: found 0 values, expected 1"));
  EXPECT_THAT(error_of("Na"), HasSubstr("found no value"));
  EXPECT_THAT(error_of("}Na"), HasSubstr("found a dict, expected a list"));
  EXPECT_THAT(error_of("}(Nu"), HasSubstr("found a key without a value"));
  EXPECT_THAT(error_of("]NNs"), HasSubstr("found a list, expected a dict"));
  EXPECT_THAT(error_of("h\x05"), HasSubstr("found the unknown memo 5"));
  EXPECT_THAT(error_of("q\x05"), HasSubstr("found no value"));
  EXPECT_THAT(error_of("N)R"), HasSubstr("found None, expected a function to call"));
  EXPECT_THAT(error_of("ca\nb\nNR"), HasSubstr("found None, expected a tuple of arguments"));
  EXPECT_THAT(error_of("N)\x81"), HasSubstr("expected a class and a tuple of arguments"));
  EXPECT_THAT(error_of("NN\x93"), HasSubstr("found None, expected the name of a function"));
  EXPECT_THAT(error_of("N(N\x90"), HasSubstr("found None, expected a set"));
  EXPECT_THAT(error_of("NNb"), HasSubstr("found None, expected an object"));
  EXPECT_THAT(error_of("ca\nb\n)\x81}b}b"), HasSubstr("found a second state"));
  EXPECT_THAT(error_of(bytes("X\xff\xff\xff\xff")), HasSubstr("expected 4294967295"));
  EXPECT_THAT(error_of("cno line"), HasSubstr("found no end of the name"));
}

TEST(PickleTest, ReportsEveryTruncation) {
  const std::string good =
      pickle_of(bytes("}q\x00(X\x01\x00\x00\x00"
                      "aK\x07X\x01\x00\x00\x00"
                      "b\x8a\x01\x05u"));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(parse(good.substr(0, size)), DataLossError) << size;
  EXPECT_THROW(parse(good + "N"), DataLossError);
}

}  // namespace
}  // namespace crochet
