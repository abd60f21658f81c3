// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/pickle.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/escape.h"

namespace crochet::inline v0::internal {
namespace {

using Kind = PickleValue::Kind;

// The operations that torch writes, with the names of Python's pickletools.
enum Operation : unsigned char {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyDict = '}',
  kSetItems = 'u',
  kBinFloat = 'G',
  kEmptyTuple = ')',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
};

constexpr int kProtocol = 2;

class PickleParser {
 public:
  PickleParser(std::string_view bytes, std::string_view document,
               bool (*is_known)(std::string_view))
      : bytes_(bytes), document_(document), is_known_(is_known) {}

  Pickle parse() {
    if (take_byte() != kProto) fail("no protocol", "a pickle");
    if (const int protocol = take_byte(); protocol != kProtocol)
      refuse(fmt::format("pickle protocol {}", protocol), "2, which torch.save uses by default");
    while (true) {
      position_ = at_;
      const auto operation = static_cast<Operation>(take_byte());
      if (operation == kStop) break;
      run(operation);
    }
    if (stack_.size() != 1 || !marks_.empty()) fail("the end", "one value");
    if (at_ != bytes_.size()) fail(fmt::format("{} bytes after the end", left()), "none");
    return {std::move(values_), stack_.front()};
  }

 private:
  [[noreturn]] void fail(std::string_view found, std::string_view expected) const {
    throw DataLossError(
        fmt::format("{}: byte {}: found {}, expected {}", document_, position_, found, expected));
  }
  [[noreturn]] void refuse(std::string_view found, std::string_view expected) const {
    throw UnimplementedError(
        fmt::format("{}: byte {}: found {}, expected {}", document_, position_, found, expected));
  }

  size_t left() const { return bytes_.size() - at_; }

  std::string_view take(size_t size) {
    if (size > left()) fail(fmt::format("{} bytes", left()), fmt::format("{}", size));
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }
  unsigned char take_byte() { return static_cast<unsigned char>(take(1).front()); }
  uint64_t take_number(size_t size) {
    uint64_t number = 0;
    const std::string_view bytes = take(size);
    for (size_t i = size; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
    return number;
  }
  std::string_view take_line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("no end of the name", "one");
    const std::string_view line = take(end - at_);
    ++at_;
    return line;
  }

  PickleValue& push(Kind kind) {
    stack_.push_back(static_cast<uint32_t>(values_.size()));
    PickleValue& value = values_.emplace_back();
    value.kind = kind;
    value.position = static_cast<uint32_t>(position_);
    return value;
  }
  void push_integer(Kind kind, int64_t integer) { push(kind).integer = integer; }

  // The first item on the stack that the last mark leaves to operations.
  size_t bottom() const { return marks_.empty() ? 0 : marks_.back(); }

  uint32_t pop() {
    if (stack_.size() <= bottom()) fail("no value", "one");
    const uint32_t index = stack_.back();
    stack_.pop_back();
    return index;
  }
  std::vector<uint32_t> pop_items(size_t count) {
    if (stack_.size() - bottom() < count)
      fail(fmt::format("{} values", stack_.size() - bottom()), fmt::format("{}", count));
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<uint32_t> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    return items;
  }
  std::vector<uint32_t> pop_marked() {
    if (marks_.empty()) fail("no mark", "one");
    std::vector<uint32_t> items = pop_items(stack_.size() - bottom());
    marks_.pop_back();
    return items;
  }
  PickleValue& top(std::initializer_list<Kind> kinds) {
    if (stack_.size() <= bottom()) fail("no value", "one");
    PickleValue& value = values_[stack_.back()];
    if (std::ranges::find(kinds, value.kind) == kinds.end())
      fail(kind_name(value.kind), kind_name(*kinds.begin()));
    return value;
  }

  void push_tuple(std::vector<uint32_t> items) { push(Kind::kTuple).items = std::move(items); }

  void append(const std::vector<uint32_t>& items) {
    PickleValue& list = top({Kind::kList});
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
  void set_items(const std::vector<uint32_t>& items) {
    if (items.size() % 2 != 0) fail("a key without a value", "pairs");
    PickleValue& dict = top({Kind::kDict});
    dict.items.insert(dict.items.end(), items.begin(), items.end());
  }

  void put(uint32_t id) {
    if (stack_.size() <= bottom()) fail("no value", "one");
    memo_[id] = stack_.back();
  }
  void get(uint32_t id) {
    const auto found = memo_.find(id);
    if (found == memo_.end()) fail(fmt::format("the unknown memo {}", id), "one that was put");
    stack_.push_back(found->second);
  }

  void push_global() {
    const size_t start = at_;
    const size_t size = take_line().size() + 1 + take_line().size();
    const std::string_view global = bytes_.substr(start, size);
    if (!is_known_(global))
      refuse(escape_name(python_name(global)),
             "only tensors, numbers, strings and containers of them; nothing is imported");
    push(Kind::kGlobal).text = global;
  }

  void push_long() {
    const size_t size = take_byte();
    if (size > sizeof(int64_t)) refuse(fmt::format("an integer of {} bytes", size), "at most 8");
    uint64_t number = take_number(size);
    const size_t bits = 8 * size;
    if (bits > 0 && bits < 64 && (number >> (bits - 1) & 1) != 0) number |= ~uint64_t{0} << bits;
    push_integer(Kind::kInt, static_cast<int64_t>(number));
  }

  void push_float() {
    uint64_t bits = 0;  // Big-endian.
    for (const char byte : take(sizeof(double)))
      bits = bits << 8 | static_cast<unsigned char>(byte);
    push(Kind::kFloat).real = std::bit_cast<double>(bits);
  }

  void reduce() {
    const uint32_t arguments = pop();
    const uint32_t function = pop();
    if (values_[arguments].kind != Kind::kTuple)
      fail(kind_name(values_[arguments].kind), "a tuple of arguments");
    if (values_[function].kind != Kind::kGlobal)
      fail(kind_name(values_[function].kind), "a function to call");
    if (values_[function].text != kOrderedDict) {
      push(Kind::kCall).items = {function, arguments};
    } else {
      if (!values_[arguments].items.empty()) refuse("an OrderedDict with arguments", "none");
      push(Kind::kDict);
    }
  }

  void make_object() {
    const uint32_t arguments = pop();
    const uint32_t type = pop();
    if (values_[arguments].kind != Kind::kTuple || !values_[arguments].items.empty() ||
        values_[type].kind != Kind::kGlobal)
      fail("an object of something else", "a class and no arguments");
    push(Kind::kObject).items = {type};
  }

  void build() {
    const uint32_t state = pop();
    PickleValue& value = top({Kind::kObject, Kind::kDict});
    // The attributes of a dict, such as the versions of modules in a state_dict, do not count.
    if (value.kind == Kind::kDict) return;
    if (value.items.size() != 1) fail("a second state of an object", "one");
    value.items.push_back(state);
  }

  void run(Operation operation) {
    switch (operation) {
      case kMark:
        return marks_.push_back(stack_.size());
      case kNone:
        push(Kind::kNone);
        return;
      case kNewTrue:
      case kNewFalse:
        return push_integer(Kind::kBool, operation == kNewTrue ? 1 : 0);
      case kBinInt:
        return push_integer(Kind::kInt, static_cast<int32_t>(take_number(4)));
      case kBinInt1:
        return push_integer(Kind::kInt, static_cast<int64_t>(take_number(1)));
      case kBinInt2:
        return push_integer(Kind::kInt, static_cast<int64_t>(take_number(2)));
      case kLong1:
        return push_long();
      case kBinFloat:
        return push_float();
      case kBinUnicode: {
        const uint64_t size = take_number(4);
        push(Kind::kString).text = take(size);
        return;
      }
      case kGlobal:
        return push_global();
      case kEmptyList:
        push(Kind::kList);
        return;
      case kEmptyDict:
        push(Kind::kDict);
        return;
      case kEmptyTuple:
        push(Kind::kTuple);
        return;
      case kTuple:
        return push_tuple(pop_marked());
      case kTuple1:
        return push_tuple(pop_items(1));
      case kTuple2:
        return push_tuple(pop_items(2));
      case kTuple3:
        return push_tuple(pop_items(3));
      case kAppend:
        return append(pop_items(1));
      case kAppends:
        return append(pop_marked());
      case kSetItem:
        return set_items(pop_items(2));
      case kSetItems:
        return set_items(pop_marked());
      case kBinPut:
        return put(take_byte());
      case kLongBinPut:
        return put(static_cast<uint32_t>(take_number(4)));
      case kBinGet:
        return get(take_byte());
      case kLongBinGet:
        return get(static_cast<uint32_t>(take_number(4)));
      case kReduce:
        return reduce();
      case kNewObj:
        return make_object();
      case kBuild:
        return build();
      case kBinPersId: {
        const uint32_t id = pop();
        push(Kind::kPersistent).items = {id};
        return;
      }
      default:
        refuse(fmt::format("the operation {:#04x}", static_cast<unsigned>(operation)),
               "one that torch writes");
    }
  }

  const std::string_view bytes_;
  const std::string_view document_;
  bool (*const is_known_)(std::string_view);

  size_t at_ = 0;
  size_t position_ = 0;  // Of the operation.
  std::vector<PickleValue> values_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  // Sizes of the stack.
  std::unordered_map<uint32_t, uint32_t> memo_;
};

}  // namespace

Pickle parse_pickle(std::string_view bytes, std::string_view document,
                    bool (*is_known)(std::string_view global)) {
  return PickleParser(bytes, document, is_known).parse();
}

std::string python_name(std::string_view global) {
  std::string name(global);
  std::ranges::replace(name, '\n', '.');
  return name;
}

const char* kind_name(PickleValue::Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return "a bool";
    case Kind::kInt:
      return "an int";
    case Kind::kFloat:
      return "a float";
    case Kind::kString:
      return "a string";
    case Kind::kTuple:
      return "a tuple";
    case Kind::kList:
      return "a list";
    case Kind::kDict:
      return "a dict";
    case Kind::kGlobal:
      return "a function or class";
    case Kind::kCall:
      return "a call";
    case Kind::kObject:
      return "an object";
    case Kind::kPersistent:
      return "a storage";
  }
  return "";
}

}  // namespace crochet::inline v0::internal
