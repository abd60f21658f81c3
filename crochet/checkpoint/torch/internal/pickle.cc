// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/pickle.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/escape.h"

namespace crochet::inline v0::internal {
namespace {

using Kind = PickleValue::Kind;

// The operations of binary pickles, with the names of Python's pickletools. Those that are missing
// need more than the bytes: a registry of extensions, or buffers from outside.
enum Operation : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
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
  kLong4 = 0x8b,
  // Of protocol 3.
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  // Of protocol 4.
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  // Of protocol 5.
  kByteArray8 = 0x96,
};

constexpr int kMinProtocol = 2;
constexpr int kMaxProtocol = 5;

constexpr size_t kMaxShownBytes = 200;

// True for what Python can call.
bool is_callable(Kind kind) {
  return kind == Kind::kGlobal || kind == Kind::kCall || kind == Kind::kObject ||
         kind == Kind::kPersistent;
}

class PickleParser {
 public:
  PickleParser(std::string_view bytes, std::string_view document)
      : bytes_(bytes), document_(document) {}

  Pickle parse() {
    if (take_byte() != kProto) fail("no protocol", "a pickle");
    if (const int protocol = take_byte(); protocol < kMinProtocol || protocol > kMaxProtocol)
      refuse(fmt::format("pickle protocol {}", protocol),
             fmt::format("{} to {}", kMinProtocol, kMaxProtocol));
    while (true) {
      position_ = at_;
      const auto operation = static_cast<Operation>(take_byte());
      if (operation == kStop) break;
      if (!push_number(operation) && !push_text(operation) && !move(operation) &&
          !build_container(operation) && !make(operation))
        refuse(fmt::format("the operation {:#04x}", static_cast<unsigned>(operation)),
               "one of a pickle that needs nothing else");
    }
    if (stack_.size() != 1 || !marks_.empty()) fail("the end", "one value");
    return {std::move(values_), stack_.front(), at_};
  }

 private:
  [[noreturn]] void fail(std::string_view found, std::string_view expected) const {
    throw DataLossError(message(found, expected));
  }
  [[noreturn]] void refuse(std::string_view found, std::string_view expected) const {
    throw UnimplementedError(message(found, expected));
  }
  std::string message(std::string_view found, std::string_view expected) const {
    return fmt::format("{}: byte {}: found {}, expected {}", document_, position_, found, expected);
  }

  std::string_view take(uint64_t size) {
    const size_t left = bytes_.size() - at_;
    if (size > left)
      throw PickleCutShort(message(fmt::format("{} bytes", left), fmt::format("{}", size)));
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
  // Bytes after their number, which takes `size` bytes.
  std::string_view take_counted(size_t size) { return take(take_number(size)); }
  std::string_view take_line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) throw PickleCutShort(message("no end of the name", "one"));
    const std::string_view line = take(end - at_);
    ++at_;
    return line;
  }

  uint32_t add(Kind kind) {
    const auto index = static_cast<uint32_t>(values_.size());
    PickleValue& value = values_.emplace_back();
    value.kind = kind;
    value.position = static_cast<uint32_t>(position_);
    return index;
  }
  uint32_t add_string(std::string_view text) {
    const uint32_t index = add(Kind::kString);
    values_[index].text = text;
    return index;
  }
  bool push(Kind kind, std::vector<uint32_t> items = {}) {
    stack_.push_back(add(kind));
    values_.back().items = std::move(items);
    return true;
  }
  bool push_integer(Kind kind, int64_t integer) {
    push(kind);
    values_.back().integer = integer;
    return true;
  }
  bool push_bytes(Kind kind, std::string_view text) {
    push(kind);
    values_.back().text = text;
    return true;
  }

  // The first item on the stack that the last mark leaves to operations.
  size_t bottom() const { return marks_.empty() ? 0 : marks_.back(); }

  uint32_t top() const {
    if (stack_.size() <= bottom()) fail("no value", "one");
    return stack_.back();
  }
  uint32_t pop() {
    const uint32_t index = top();
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

  // The container on top of the stack, or the one of the object there, which may be one, too.
  std::vector<uint32_t>& container(Kind kind, PickleParts part) {
    const uint32_t index = top();
    const Kind found = values_[index].kind;
    if (found == kind) return values_[index].items;
    if (found != Kind::kCall && found != Kind::kObject) fail(kind_name(found), kind_name(kind));
    if (values_[index].items[part] == kNoItem) {
      const uint32_t made = add(kind);
      values_[index].items[part] = made;
    }
    return values_[values_[index].items[part]].items;
  }
  static bool append(std::vector<uint32_t>& to, const std::vector<uint32_t>& items) {
    to.insert(to.end(), items.begin(), items.end());
    return true;
  }
  bool append(const std::vector<uint32_t>& items) {
    return append(container(Kind::kList, kListItems), items);
  }
  bool set_items(const std::vector<uint32_t>& items) {
    return append(container(Kind::kDict, kDictItems), pairs(items));
  }
  const std::vector<uint32_t>& pairs(const std::vector<uint32_t>& items) const {
    if (items.size() % 2 != 0) fail("a key without a value", "pairs");
    return items;
  }
  bool add_to_set(const std::vector<uint32_t>& items) {
    PickleValue& set = values_[top()];
    if (set.kind != Kind::kSet) fail(kind_name(set.kind), kind_name(Kind::kSet));
    return append(set.items, items);
  }

  bool put(uint64_t id) {
    memo_[static_cast<uint32_t>(id)] = top();
    return true;
  }
  bool get(uint64_t id) {
    const auto found = memo_.find(static_cast<uint32_t>(id));
    if (found == memo_.end()) fail(fmt::format("the unknown memo {}", id), "one that was put");
    stack_.push_back(found->second);
    return true;
  }

  bool push_line_global() {
    const uint32_t module = add_string(take_line());
    const uint32_t name = add_string(take_line());
    return push(Kind::kGlobal, {module, name});
  }
  bool push_stack_global() {
    std::vector<uint32_t> names = pop_items(2);
    for (const uint32_t name : names)
      if (values_[name].kind != Kind::kString)
        fail(kind_name(values_[name].kind), "the name of a function or class");
    return push(Kind::kGlobal, std::move(names));
  }

  // An int in two's complement, little-endian.
  bool push_long(std::string_view bytes) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const auto sign_of = [&](size_t size) { return size > 0 && byte(size - 1) >= 0x80; };
    // Bytes that only repeat the sign.
    size_t size = bytes.size();
    while (size > 0 && byte(size - 1) == (sign_of(size) ? 0xff : 0) &&
           sign_of(size - 1) == sign_of(size))
      --size;
    const bool is_negative = sign_of(bytes.size());
    const bool is_natural = size == sizeof(uint64_t) + 1 && byte(size - 1) == 0;
    if (size > sizeof(int64_t) && !is_natural) return push_bytes(Kind::kHugeInt, bytes);
    uint64_t number = is_negative ? ~uint64_t{0} : 0;
    for (size_t i = std::min(size, sizeof(uint64_t)); i-- > 0;) number = number << 8 | byte(i);
    return push_integer(is_natural ? Kind::kUint : Kind::kInt, std::bit_cast<int64_t>(number));
  }

  bool push_float() {
    uint64_t bits = 0;  // Big-endian.
    for (const char byte : take(sizeof(double)))
      bits = bits << 8 | static_cast<unsigned char>(byte);
    push(Kind::kFloat);
    values_.back().real = std::bit_cast<double>(bits);
    return true;
  }

  bool reduce() {
    const uint32_t arguments = pop();
    const uint32_t function = pop();
    if (values_[arguments].kind != Kind::kTuple)
      fail(kind_name(values_[arguments].kind), "a tuple of arguments");
    if (!is_callable(values_[function].kind))
      fail(kind_name(values_[function].kind), "a function to call");
    const PickleValue& callee = values_[function];
    const bool is_dict =
        callee.kind == Kind::kGlobal && values_[arguments].items.empty() &&
        GlobalName{values_[callee.items[0]].text, values_[callee.items[1]].text} == kOrderedDict;
    if (is_dict) return push(Kind::kDict);
    return push(Kind::kCall, {function, arguments, kNoItem, kNoItem, kNoItem});
  }

  bool make_object() {
    const uint32_t arguments = pop();
    const uint32_t type = pop();
    if (values_[arguments].kind != Kind::kTuple || !is_callable(values_[type].kind))
      fail("an object of something else", "a class and a tuple of arguments");
    return push(Kind::kObject, {type, arguments, kNoItem, kNoItem, kNoItem});
  }

  // The attributes of a dict, such as the versions of modules in a state_dict, do not count.
  bool build() {
    const uint32_t state = pop();
    PickleValue& value = values_[top()];
    if (value.kind == Kind::kDict) return true;
    if (value.kind != Kind::kObject && value.kind != Kind::kCall)
      fail(kind_name(value.kind), kind_name(Kind::kObject));
    if (value.items[kState] != kNoItem) fail("a second state of an object", "one");
    value.items[kState] = state;
    return true;
  }

  // As Python: a mark, if it is on top.
  bool pop_value() {
    if (!marks_.empty() && stack_.size() == marks_.back())
      marks_.pop_back();
    else
      pop();
    return true;
  }
  bool add_mark() {
    marks_.push_back(stack_.size());
    return true;
  }

  // Each of these carries out one operation; false for an operation of another group.
  bool push_number(Operation operation) {
    switch (operation) {
      case kNone:
        return push(Kind::kNone);
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
        return push_long(take_counted(1));
      case kLong4:
        return push_long(take_counted(4));
      case kBinFloat:
        return push_float();
      default:
        return false;
    }
  }
  bool push_text(Operation operation) {
    switch (operation) {
      case kShortBinUnicode:
      case kShortBinString:  // Of Python 2, where text was bytes.
        return push_bytes(Kind::kString, take_counted(1));
      case kBinUnicode:
      case kBinString:
        return push_bytes(Kind::kString, take_counted(4));
      case kBinUnicode8:
        return push_bytes(Kind::kString, take_counted(8));
      case kShortBinBytes:
        return push_bytes(Kind::kBytes, take_counted(1));
      case kBinBytes:
        return push_bytes(Kind::kBytes, take_counted(4));
      case kBinBytes8:
      case kByteArray8:
        return push_bytes(Kind::kBytes, take_counted(8));
      default:
        return false;
    }
  }
  // Operations on the stack and the memo.
  bool move(Operation operation) {
    switch (operation) {
      case kMark:
        return add_mark();
      case kPop:
        return pop_value();
      case kPopMark:
        pop_marked();
        return true;
      case kDup:
        stack_.push_back(top());
        return true;
      case kBinPut:
        return put(take_byte());
      case kLongBinPut:
        return put(take_number(4));
      case kMemoize:
        return put(memo_.size());
      case kBinGet:
        return get(take_byte());
      case kLongBinGet:
        return get(take_number(4));
      case kFrame:  // Only says how much to read at once.
        take_number(8);
        return true;
      default:
        return false;
    }
  }
  bool build_container(Operation operation) {
    switch (operation) {
      case kEmptyList:
        return push(Kind::kList);
      case kEmptyDict:
        return push(Kind::kDict);
      case kEmptyTuple:
        return push(Kind::kTuple);
      case kEmptySet:
        return push(Kind::kSet);
      case kList:
        return push(Kind::kList, pop_marked());
      case kDict:
        return push(Kind::kDict, pairs(pop_marked()));
      case kTuple:
        return push(Kind::kTuple, pop_marked());
      case kFrozenSet:
        return push(Kind::kSet, pop_marked());
      case kTuple1:
        return push(Kind::kTuple, pop_items(1));
      case kTuple2:
        return push(Kind::kTuple, pop_items(2));
      case kTuple3:
        return push(Kind::kTuple, pop_items(3));
      case kAppend:
        return append(pop_items(1));
      case kAppends:
        return append(pop_marked());
      case kSetItem:
        return set_items(pop_items(2));
      case kSetItems:
        return set_items(pop_marked());
      case kAddItems:
        return add_to_set(pop_marked());
      default:
        return false;
    }
  }
  bool make(Operation operation) {
    switch (operation) {
      case kGlobal:
        return push_line_global();
      case kStackGlobal:
        return push_stack_global();
      case kReduce:
        return reduce();
      case kNewObjEx:
        pop();  // Arguments with names.
        return make_object();
      case kNewObj:
        return make_object();
      case kBuild:
        return build();
      case kBinPersId: {
        const uint32_t id = pop();
        return push(Kind::kPersistent, {id});
      }
      default:
        return false;
    }
  }

  const std::string_view bytes_;
  const std::string_view document_;

  size_t at_ = 0;
  size_t position_ = 0;  // Of the operation.
  std::vector<PickleValue> values_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  // Sizes of the stack.
  std::unordered_map<uint32_t, uint32_t> memo_;
};

}  // namespace

Pickle parse_first_pickle(std::string_view bytes, std::string_view document) {
  return PickleParser(bytes, document).parse();
}

Pickle parse_pickle(std::string_view bytes, std::string_view document) {
  Pickle pickle = parse_first_pickle(bytes, document);
  if (pickle.num_bytes != bytes.size())
    throw DataLossError(fmt::format("{}: byte {}: found {} bytes after the end, expected none",
                                    document, pickle.num_bytes, bytes.size() - pickle.num_bytes));
  return pickle;
}

std::string python_name(const GlobalName& global) {
  return escape_name(fmt::format("{}.{}", global.module.substr(0, kMaxShownBytes),
                                 global.name.substr(0, kMaxShownBytes)));
}

const char* kind_name(PickleValue::Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return "a bool";
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kHugeInt:
      return "an int";
    case Kind::kFloat:
      return "a float";
    case Kind::kString:
      return "a string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kTuple:
      return "a tuple";
    case Kind::kList:
      return "a list";
    case Kind::kSet:
      return "a set";
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
