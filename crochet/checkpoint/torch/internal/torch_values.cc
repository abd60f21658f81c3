// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/torch_values.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/escape.h"
#include "crochet/checkpoint/torch/internal/pickle_key.h"
#include "crochet/checkpoint/torch/internal/torch_functions.h"
#include "crochet/checkpoint/torch/internal/torch_tensor.h"
#include "crochet/checkpoint/torch/internal/unread_value.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxDepth = 100;
// Values may be shared, so the names of all can be longer than the pickle; those of real files are
// not, by far.
constexpr uint64_t kMaxGrowth = 64;
constexpr uint64_t kMinBudget = uint64_t{1} << 20;
// About what an index needs for a value, apart from its name.
constexpr uint64_t kValueBytes = 200;

// The name of the value where the walk is, and what joins its parts' names to it.
struct Place {
  std::string name = {};
  bool is_root = true;
  char separator = '/';
  size_t depth = 0;

  Place part(std::string_view key) const {
    return {is_root ? std::string(key) : fmt::format("{}{}{}", name, separator, key), false,
            separator, depth + 1};
  }
  // Of a value that another one stands for.
  Place deeper() const { return {name, is_root, separator, depth + 1}; }
};

// The dicts of an object's attributes: its state, or two of them, of which the second has those of
// classes with __slots__. Empty if the state is something else.
std::vector<const PickleValue*> attributes_of(const Pickle& pickle, const PickleValue& object) {
  const PickleValue* const state = pickle.part(object, kState);
  if (state == nullptr) return {};
  if (state->kind == Kind::kDict) return {state};
  if (state->kind != Kind::kTuple || state->items.size() != 2) return {};
  std::vector<const PickleValue*> dicts;
  for (size_t i = 0; i < 2; ++i) {
    const PickleValue& part = pickle.item(*state, i);
    if (part.kind == Kind::kDict) dicts.push_back(&part);
    if (part.kind != Kind::kDict && part.kind != Kind::kNone) return {};
  }
  return dicts;
}

// Null unless the dict has this key, with a dict.
const PickleValue* dict_in(const Pickle& pickle, const PickleValue& dict, std::string_view key) {
  for (size_t i = 0; i < dict.items.size(); i += 2)
    if (const PickleValue& found = pickle.item(dict, i);
        found.kind == Kind::kString && found.text == key)
      return pickle.item(dict, i + 1).kind == Kind::kDict ? &pickle.item(dict, i + 1) : nullptr;
  return nullptr;
}

// What Python's torch.nn.Module has in its attributes.
struct ModuleParts {
  const PickleValue* parameters;
  const PickleValue* buffers;
  const PickleValue* modules;
};
std::optional<ModuleParts> module_parts(const Pickle& pickle, const PickleValue& attributes) {
  const ModuleParts parts{dict_in(pickle, attributes, "_parameters"),
                          dict_in(pickle, attributes, "_buffers"),
                          dict_in(pickle, attributes, "_modules")};
  const bool is_module = parts.parameters && parts.buffers && parts.modules;
  return is_module ? std::optional(parts) : std::nullopt;
}

class ValueWalk {
 public:
  ValueWalk(const Pickle& pickle, const std::string& document, uint64_t file_bytes,
            TorchIndex& index)
      : pickle_(pickle),
        document_(document),
        tensors_(pickle, file_bytes, index),
        budget_(kMinBudget + kMaxGrowth * pickle.num_bytes),
        is_open_(pickle.values.size(), false),
        index_(index) {}

  void run() {
    const PickleValue& root = pickle_.values[pickle_.root];
    const bool is_script = root.kind == Kind::kObject &&
                           is_script_class(pickle_.global_name(*pickle_.part(root, kCallee)));
    // TorchScript's names are those of a state_dict.
    add(pickle_.root, Place{.separator = is_script ? '.' : '/'});
  }

 private:
  // Bounds the time and memory for values that are shared by many others.
  void spend(uint64_t amount) {
    if (amount > budget_)
      throw DataLossError(
          fmt::format("{}: {}: values are repeated too often in others", index_.path, document_));
    budget_ -= amount;
  }

  // True if no other value has this name: of several, none can be read.
  bool claim(const std::string& name) {
    spend(kValueBytes + name.size());
    if (!index_.tensors.contains(name) && !index_.unreadable.contains(name)) return true;
    index_.tensors.erase(name);
    index_.layouts.erase(name);
    index_.unreadable.insert_or_assign(name, UnreadableValue{.why = "is the name of two values"});
    return false;
  }

  // A file of a single value has no name for it; LibTorch calls the first value "0".
  static std::string name_of(const Place& place) { return place.is_root ? "0" : place.name; }

  void add_unreadable(const Place& place, const PickleValue& value, const UnreadValue& unread) {
    const std::string name = name_of(place);
    spend(unread.why.size());
    if (!claim(name)) return;
    index_.unreadable.emplace(
        name, UnreadableValue{unread.code, fmt::format("{} (byte {} of {})", unread.why,
                                                       value.position, document_)});
  }

  void put(const Place& place, TorchTensor tensor) {
    const std::string name = name_of(place);
    if (name.starts_with('\0')) refuse_value("has a name that begins with a zero byte");
    if (!claim(name)) return;
    if (!tensor.problem.empty())
      index_.unreadable.emplace(name, UnreadableValue{.why = std::move(tensor.problem)});
    index_.tensors.emplace(name, std::move(tensor.entry));
    index_.layouts.emplace(name, std::move(tensor.layout));
  }

  // Adds a value, or the reason why it cannot be read; the others are added in any case.
  void add(uint32_t index, const Place& place) {
    const PickleValue& value = pickle_.values[index];
    spend(1 + place.name.size() + value.items.size());
    const bool was_open = is_open_[index];
    try {
      if (was_open) refuse_value("contains itself");
      if (place.depth > kMaxDepth) refuse_value(fmt::format("is nested deeper than {}", kMaxDepth));
      is_open_[index] = true;
      add_by_kind(value, place);
    } catch (const UnreadValue& unread) {
      add_unreadable(place, value, unread);
    }
    is_open_[index] = was_open;
  }
  void add_item(const PickleValue& of, size_t i, const Place& place) { add(of.items[i], place); }

  void add_by_kind(const PickleValue& value, const Place& place) {
    switch (value.kind) {
      case Kind::kNone:
        return;
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kUint:
      case Kind::kFloat:
      case Kind::kString:
        return put(place, scalars(std::span(&value, 1), {}));
      case Kind::kHugeInt:
        refuse_value(
            fmt::format("is an integer of {} bytes, expected at most 8", value.text.size()));
      case Kind::kTuple:
      case Kind::kList:
        return add_sequence(value, place);
      case Kind::kDict:
        return add_dict(value, place);
      case Kind::kGlobal:
        if (const GlobalName name = pickle_.global_name(value); !is_known_to_torch(name))
          refuse_value(fmt::format("is the class or function {}", python_name(name)));
        return;
      case Kind::kObject:
      case Kind::kCall:
        return add_made(value, place);
      case Kind::kBytes:
      case Kind::kSet:
      case Kind::kPersistent:
        refuse_value(fmt::format("is {}", kind_name(value.kind)));
    }
  }

  // A tensor of numbers or strings of one kind.
  template <typename Values>
  TorchTensor scalars(const Values& values, const Shape& shape) {
    TorchTensor tensor;
    const auto append = [&](DType dtype, const auto& number) {
      tensor.entry.dtype = dtype;
      const auto bytes = std::as_bytes(std::span(&number, 1));
      tensor.layout.numbers.insert(tensor.layout.numbers.end(), bytes.begin(), bytes.end());
    };
    for (const PickleValue& value : values) {
      if (value.kind == Kind::kBool) {
        append(DType::kBool, static_cast<uint8_t>(value.integer));
      } else if (value.kind == Kind::kInt) {
        append(DType::kInt64, value.integer);
      } else if (value.kind == Kind::kUint) {
        append(DType::kUint64, value.natural);
      } else if (value.kind == Kind::kFloat) {
        append(DType::kDouble, value.real);
      } else {
        spend(value.text.size());
        tensor.entry.dtype = DType::kString;
        tensor.layout.strings.emplace_back(value.text);
      }
    }
    tensor.entry.shape = shape;
    return tensor;
  }

  // True for values that become one tensor.
  bool is_uniform(const PickleValue& list) const {
    const Kind kind = pickle_.item(list, 0).kind;
    const bool is_scalar = kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kUint ||
                           kind == Kind::kFloat || kind == Kind::kString;
    return is_scalar && std::ranges::all_of(list.items, [&](uint32_t index) {
             return pickle_.values[index].kind == kind;
           });
  }

  void add_sequence(const PickleValue& list, const Place& place) {
    if (list.items.empty()) return;
    if (is_uniform(list)) {
      std::vector<PickleValue> values;
      values.reserve(list.items.size());
      for (size_t i = 0; i < list.items.size(); ++i) values.push_back(pickle_.item(list, i));
      return put(place, scalars(values, {static_cast<int64_t>(values.size())}));
    }
    for (size_t i = 0; i < list.items.size(); ++i)
      add_item(list, i, place.part(fmt::format("{}", i)));
  }

  void add_dict(const PickleValue& dict, const Place& place) {
    for (size_t i = 0; i < dict.items.size(); i += 2) {
      if (const auto text = key_text(pickle_, pickle_.item(dict, i)))
        add_item(dict, i + 1, place.part(*text));
      else
        add_unnamed(pickle_.item(dict, i), place.part(fmt::format("<key {}>", i / 2)));
    }
  }
  void add_unnamed(const PickleValue& key, const Place& place) {
    add_unreadable(place, key,
                   {Code::kUnimplemented,
                    fmt::format("has {} as its key, expected a string, a number, or a short tuple",
                                kind_name(key.kind))});
  }

  // A value that a function or class makes.
  void add_made(const PickleValue& value, const Place& place) {
    const GlobalName callee = pickle_.global_name(*pickle_.part(value, kCallee));
    const PickleValue& arguments = *pickle_.part(value, kArguments);
    const auto function = function_of(callee);
    if (value.kind == Kind::kCall && function)
      return add_result(value, *function, arguments, place);
    if (is_script_class(callee)) return add_script_object(value, place);
    add_parts(value, place);
  }

  void add_script_object(const PickleValue& object, const Place& place) {
    const PickleValue* const state = pickle_.part(object, kState);
    if (state == nullptr) return;
    if (state->kind != Kind::kDict) return add_item(object, kState, place.deeper());
    for (size_t i = 0; i < state->items.size(); i += 2) {
      const PickleValue& key = pickle_.item(*state, i);
      // Every module has it, and no state_dict.
      const bool is_mode =
          key.text == "training" && pickle_.item(*state, i + 1).kind == Kind::kBool;
      if (is_mode) continue;
      const auto text = key_text(pickle_, key);
      if (text) add_item(*state, i + 1, place.part(*text));
    }
  }

  // An object of any class: the items of one that is a container, too, or else its attributes.
  void add_parts(const PickleValue& object, const Place& place) {
    if (object.items[kDictItems] != kNoItem)
      return add_dict(*pickle_.part(object, kDictItems), place);
    if (object.items[kListItems] != kNoItem)
      return add_sequence(*pickle_.part(object, kListItems), place);
    const std::vector<const PickleValue*> attributes = attributes_of(pickle_, object);
    for (const PickleValue* const each : attributes) {
      spend(each->items.size());
      if (const auto module = module_parts(pickle_, *each))
        add_module(*module, place);
      else
        add_dict(*each, place);
    }
    if (!attributes.empty()) return;
    if (object.kind == Kind::kObject && object.items[kState] == kNoItem)
      add_subclass_of_value(object, place);
    else
      refuse_object(object);
  }
  // An object of a class that is derived from a tuple, a string or a number: what it is made of.
  void add_subclass_of_value(const PickleValue& object, const Place& place) {
    const PickleValue& arguments = *pickle_.part(object, kArguments);
    if (arguments.items.empty()) refuse_object(object);
    if (arguments.items.size() == 1) return add_item(arguments, 0, place.deeper());
    add_sequence(arguments, place);
  }
  [[noreturn]] void refuse_object(const PickleValue& object) const {
    const PickleValue& callee = *pickle_.part(object, kCallee);
    const std::string name = callee.kind == Kind::kGlobal ? python_name(pickle_.global_name(callee))
                                                          : kind_name(callee.kind);
    refuse_value(object.kind == Kind::kCall
                     ? fmt::format("is made by {}, which crochet does not call", name)
                     : fmt::format("is an object of {} without attributes", name));
  }

  // As in a state_dict.
  void add_module(const ModuleParts& module, const Place& place) {
    for (const PickleValue* const dict : {module.parameters, module.buffers, module.modules}) {
      for (size_t i = 0; i < dict->items.size(); i += 2) {
        Place part = place.part(key_text(pickle_, pickle_.item(*dict, i)).value_or("?"));
        part.separator = '.';
        add_item(*dict, i + 1, part);
      }
    }
  }

  void add_result(const PickleValue& call, TorchFunction function, const PickleValue& arguments,
                  const Place& place) {
    const auto check_count = [&](size_t count) {
      if (arguments.items.size() < count)
        fail_value(fmt::format("is made of {} values, expected {}", arguments.items.size(), count));
    };
    switch (function) {
      case TorchFunction::kNoData:
        return;
      case TorchFunction::kFirstArgument:
        check_count(1);
        return add_item(arguments, 0, place.deeper());
      case TorchFunction::kPairs:
        return add_pairs(call, arguments, place);
      case TorchFunction::kSubclass:
        check_count(3);
        return add_subclass(call, arguments, place);
      case TorchFunction::kOldTensor:
        check_count(4);
        return put(place, tensors_.read(arguments, TensorForm::kOld));
      case TorchFunction::kTensor:
        check_count(6);
        return put(place, tensors_.read(arguments, TensorForm::kUntyped));
      case TorchFunction::kTypedTensor:
        check_count(7);
        return put(place, tensors_.read(arguments, TensorForm::kTyped));
    }
  }

  // A dict of a list of pairs, as Python 2 wrote it, or of items that were set.
  void add_pairs(const PickleValue& call, const PickleValue& arguments, const Place& place) {
    if (!arguments.items.empty()) {
      const PickleValue& pairs = pickle_.item(arguments, 0);
      spend(pairs.items.size());
      for (size_t i = 0; i < pairs.items.size(); ++i) {
        const PickleValue& pair = pickle_.item(pairs, i);
        if (pair.items.size() != 2 || (pair.kind != Kind::kList && pair.kind != Kind::kTuple))
          refuse_value("is a dict of something else than pairs");
        if (const auto text = key_text(pickle_, pickle_.item(pair, 0)))
          add_item(pair, 1, place.part(*text));
        else
          add_unnamed(pickle_.item(pair, 0), place.part(fmt::format("<key {}>", i)));
      }
    }
    if (const PickleValue* const items = pickle_.part(call, kDictItems)) add_dict(*items, place);
  }

  // A tensor with attributes: _rebuild_from_type_v2(function, class, arguments, state).
  void add_subclass(const PickleValue& call, const PickleValue& arguments, const Place& place) {
    const PickleValue& type = pickle_.item(arguments, 1);
    const PickleValue& inner = pickle_.item(arguments, 2);
    const auto function = function_of(pickle_.global_name(pickle_.item(arguments, 0)));
    if (!function || inner.kind != Kind::kTuple)
      refuse_value("is a tensor that is not made by a known function");
    if (!is_tensor_class(pickle_.global_name(type)))
      refuse_value(
          fmt::format("is a {}, expected a tensor", python_name(pickle_.global_name(type))));
    if (place.depth > kMaxDepth) refuse_value(fmt::format("is nested deeper than {}", kMaxDepth));
    add_result(call, *function, inner, place.deeper());
  }

  const Pickle& pickle_;
  const std::string& document_;
  const TorchTensors tensors_;
  uint64_t budget_;
  std::vector<bool> is_open_;  // By value: the walk is within it.
  TorchIndex& index_;
};

}  // namespace

void add_torch_values(const Pickle& pickle, const std::string& document, uint64_t file_bytes,
                      TorchIndex& index) {
  ValueWalk(pickle, document, file_bytes, index).run();
}

}  // namespace crochet::inline v0::internal
