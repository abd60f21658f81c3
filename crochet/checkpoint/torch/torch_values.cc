// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/torch_values.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/escape.h"
#include "crochet/checkpoint/torch/torch_types.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0::internal {
namespace {

using Kind = PickleValue::Kind;

// What to do with the arguments of a function.
enum class Function {
  kTensor,         // torch._utils._rebuild_tensor_v2
  kTypedTensor,    // ..._v3, for types without a storage class.
  kFirstArgument,  // The value is the first argument.
  kSubclass,       // The value is that of a function and arguments, which are arguments.
  kNoData,         // Such as a device.
};

constexpr std::pair<std::string_view, Function> kFunctions[] = {
    {"torch._utils\n_rebuild_tensor_v2", Function::kTensor},
    {"torch._utils\n_rebuild_tensor_v3", Function::kTypedTensor},
    {"torch._utils\n_rebuild_parameter", Function::kFirstArgument},
    {"torch._utils\n_rebuild_parameter_with_state", Function::kFirstArgument},
    {"torch._tensor\n_rebuild_from_type_v2", Function::kSubclass},
    {"torch\nSize", Function::kFirstArgument},
    // The milestones of a scheduler.
    {"collections\nCounter", Function::kFirstArgument},
    {"torch\ndevice", Function::kNoData},
    {"torch.serialization\n_get_layout", Function::kNoData},
    // Of TorchScript.
    {"torch.jit._pickle\nbuild_intlist", Function::kFirstArgument},
    {"torch.jit._pickle\nbuild_doublelist", Function::kFirstArgument},
    {"torch.jit._pickle\nbuild_boollist", Function::kFirstArgument},
    {"torch.jit._pickle\nbuild_tensorlist", Function::kFirstArgument},
    {"torch.jit._pickle\nrestore_type_tag", Function::kFirstArgument},
};

std::optional<Function> function_of(std::string_view global) {
  const auto* const found =
      std::ranges::find(kFunctions, global, &std::pair<std::string_view, Function>::first);
  return found == std::end(kFunctions) ? std::nullopt : std::optional(found->second);
}

constexpr std::string_view kUntypedStorage = "torch.storage\nUntypedStorage";

// A class of TorchScript, whose objects are modules.
bool is_script_class(std::string_view global) { return global.starts_with("__torch__"); }

// The types of tensors that are only named.
bool is_tensor_class(std::string_view global) {
  return global == "torch\nTensor" || global == "torch._tensor\nTensor" ||
         global == "torch.nn.parameter\nParameter" || global == "torch.nn.parameter\nBuffer";
}

constexpr size_t kMaxDepth = 100;
// TensorFlow's limit; no array library has more.
constexpr size_t kMaxRank = 254;
// Values may be shared, so the names of all can be longer than the pickle; those of real files are
// not, by far.
constexpr uint64_t kMaxGrowth = 64;
constexpr uint64_t kMinBudget = uint64_t{1} << 20;
// A tensor may use elements of its storage more than once (expand), up to this size or that of the
// file.
constexpr uint64_t kMinTensorBytes = uint64_t{16} << 20;

// Elements of a tensor in its storage.
struct View {
  int64_t offset;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

// Strides of dimensions with one element do not matter.
bool is_row_major(const View& view) {
  int64_t expected = 1;
  for (size_t i = view.sizes.size(); i-- > 0;) {
    if (view.sizes[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.sizes[i];
  }
  return true;
}

class ValueWalk {
 public:
  ValueWalk(const Pickle& pickle, const ZipDirectory& archive, const std::string& root,
            const std::string& document, uint64_t pickle_bytes, uint64_t file_bytes,
            TorchIndex& index)
      : pickle_(pickle),
        archive_(archive),
        root_(root),
        document_(document),
        file_bytes_(file_bytes),
        budget_(kMinBudget + kMaxGrowth * pickle_bytes),
        index_(index) {}

  void run() {
    const PickleValue& root = pickle_.values[pickle_.root];
    // TorchScript's names are those of a state_dict.
    separator_ = root.kind == Kind::kObject ? '.' : '/';
    add(root, "", 0);
  }

 private:
  [[noreturn]] void fail(const PickleValue& value, std::string_view name,
                         std::string_view what) const {
    throw DataLossError(
        fmt::format("{}: byte {}: \"{}\" {}", document_, value.position, escape_name(name), what));
  }
  [[noreturn]] void refuse(const PickleValue& value, std::string_view name,
                           std::string_view what) const {
    throw UnimplementedError(
        fmt::format("{}: byte {}: \"{}\" {}", document_, value.position, escape_name(name), what));
  }

  const PickleValue& item(const PickleValue& of, size_t i) const {
    return pickle_.values[of.items[i]];
  }

  // Bounds the time and memory for values that are shared by many others.
  void spend(const PickleValue& value, std::string_view name, uint64_t amount) {
    if (amount > budget_) fail(value, name, "and other values are repeated too often");
    budget_ -= amount;
  }

  std::string joined(std::string_view name, std::string_view key) const {
    return name.empty() ? std::string(key) : fmt::format("{}{}{}", name, separator_, key);
  }

  void add(const PickleValue& value, const std::string& name, size_t depth) {
    spend(value, name, 1 + name.size() + value.items.size());
    if (depth > kMaxDepth)
      fail(value, name.substr(0, kMaxDepth), fmt::format("is nested deeper than {}", kMaxDepth));
    switch (value.kind) {
      case Kind::kNone:
      case Kind::kGlobal:  // A type of elements, for example.
        return;
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kFloat:
      case Kind::kString:
        return add_scalars(value, name, {}, std::span(&value, 1));
      case Kind::kTuple:
      case Kind::kList:
        return add_sequence(value, name, depth);
      case Kind::kDict:
        return add_dict(value, name, depth, false);
      case Kind::kObject:
        return add_object(value, name, depth);
      case Kind::kCall:
        return add_call(value, name, depth);
      case Kind::kPersistent:
        refuse(value, name, "is a storage, expected a tensor");
    }
  }

  // Adds a tensor of numbers or strings of one kind.
  template <typename Values>
  void add_scalars(const PickleValue& at, const std::string& name, const Shape& shape,
                   const Values& values) {
    TorchLayout layout;
    DType dtype = DType::kInvalid;
    const auto append = [&](DType type, const auto& number) {
      dtype = type;
      const auto bytes = std::as_bytes(std::span(&number, 1));
      layout.numbers.insert(layout.numbers.end(), bytes.begin(), bytes.end());
    };
    for (const PickleValue& value : values) {
      if (value.kind == Kind::kBool) {
        append(DType::kBool, static_cast<uint8_t>(value.integer));
      } else if (value.kind == Kind::kInt) {
        append(DType::kInt64, value.integer);
      } else if (value.kind == Kind::kFloat) {
        append(DType::kDouble, value.real);
      } else {
        spend(at, name, value.text.size());
        dtype = DType::kString;
        layout.strings.emplace_back(value.text);
      }
    }
    StoredTensor entry;
    entry.dtype = dtype;
    entry.shape = shape;
    put(at, name, std::move(entry), std::move(layout));
  }

  void put(const PickleValue& value, const std::string& name, StoredTensor entry,
           TorchLayout layout) {
    // A file of a single value has no name for it; LibTorch calls the first value "0".
    const std::string key = name.empty() ? "0" : name;
    if (key.front() == '\0') fail(value, name, "is a name that begins with a zero byte");
    if (!index_.tensors.emplace(key, std::move(entry)).second) fail(value, key, "occurs twice");
    index_.layouts.emplace(key, std::move(layout));
  }

  void add_sequence(const PickleValue& list, const std::string& name, size_t depth) {
    if (list.items.empty()) return;
    const Kind kind = item(list, 0).kind;
    const bool is_scalar =
        kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kFloat || kind == Kind::kString;
    const bool is_uniform = std::ranges::all_of(
        list.items, [&](uint32_t index) { return pickle_.values[index].kind == kind; });
    if (is_scalar && is_uniform) {
      std::vector<PickleValue> values;
      values.reserve(list.items.size());
      for (size_t i = 0; i < list.items.size(); ++i) values.push_back(item(list, i));
      return add_scalars(list, name, {static_cast<int64_t>(values.size())}, values);
    }
    for (size_t i = 0; i < list.items.size(); ++i)
      add(item(list, i), joined(name, fmt::format("{}", i)), depth + 1);
  }

  std::string key_text(const PickleValue& key, std::string_view name) const {
    if (key.kind == Kind::kString) return std::string(key.text);
    if (key.kind == Kind::kInt) return fmt::format("{}", key.integer);
    refuse(key, name,
           fmt::format("has {} as a key, expected strings and ints", kind_name(key.kind)));
  }

  void add_dict(const PickleValue& dict, const std::string& name, size_t depth, bool is_module) {
    for (size_t i = 0; i < dict.items.size(); i += 2) {
      const PickleValue& key = item(dict, i);
      const PickleValue& value = item(dict, i + 1);
      const std::string text = key_text(key, name);
      // Every module has it, and no state_dict.
      if (is_module && text == "training" && value.kind == Kind::kBool) continue;
      if (text.empty()) fail(key, name, "has an empty key");
      add(value, joined(name, text), depth + 1);
    }
  }

  void add_object(const PickleValue& object, const std::string& name, size_t depth) {
    if (object.items.size() != 2) return;  // It has no state.
    const PickleValue& state = item(object, 1);
    if (state.kind == Kind::kDict) return add_dict(state, name, depth + 1, true);
    add(state, name, depth + 1);
  }

  void add_call(const PickleValue& call, const std::string& name, size_t depth) {
    const PickleValue& global = item(call, 0);
    add_result(call, global, item(call, 1), name, depth);
  }

  void add_result(const PickleValue& call, const PickleValue& global, const PickleValue& arguments,
                  const std::string& name, size_t depth) {
    const auto function = function_of(global.text);
    if (!function)
      fail(call, name, fmt::format("is a call of {}", escape_name(python_name(global.text))));
    const auto check_count = [&](size_t count) {
      if (arguments.items.size() < count)
        fail(call, name,
             fmt::format("is {} of {} values, expected {}", python_name(global.text),
                         arguments.items.size(), count));
    };
    switch (*function) {
      case Function::kNoData:
        return;
      case Function::kFirstArgument:
        check_count(1);
        return add(item(arguments, 0), name, depth + 1);
      case Function::kSubclass:
        check_count(3);
        return add_subclass(call, arguments, name, depth);
      case Function::kTensor:
        check_count(6);
        return add_tensor(call, arguments, nullptr, name);
      case Function::kTypedTensor:
        check_count(7);
        return add_tensor(call, arguments, &item(arguments, 6), name);
    }
  }

  // A tensor with attributes: _rebuild_from_type_v2(function, class, arguments, state).
  void add_subclass(const PickleValue& call, const PickleValue& arguments, const std::string& name,
                    size_t depth) {
    const PickleValue& function = item(arguments, 0);
    const PickleValue& type = item(arguments, 1);
    const PickleValue& inner = item(arguments, 2);
    if (function.kind != Kind::kGlobal || type.kind != Kind::kGlobal || inner.kind != Kind::kTuple)
      fail(call, name, "is not made by a function, a class and a tuple");
    if (!is_tensor_class(type.text))
      refuse(call, name,
             fmt::format("is a {}, expected a tensor", escape_name(python_name(type.text))));
    if (depth > kMaxDepth) fail(call, name, fmt::format("is nested deeper than {}", kMaxDepth));
    add_result(call, function, inner, name, depth + 1);
  }

  // The numbers of a tuple, or of a torch.Size.
  std::vector<int64_t> numbers(const PickleValue& call, const PickleValue& value,
                               std::string_view name) const {
    if (value.kind == Kind::kCall && item(value, 0).text == "torch\nSize" &&
        item(value, 1).items.size() == 1 && item(item(value, 1), 0).kind == Kind::kTuple)
      return numbers(call, item(item(value, 1), 0), name);
    if (value.kind != Kind::kTuple)
      fail(call, name,
           fmt::format("has {} for sizes or strides, expected a tuple", kind_name(value.kind)));
    if (value.items.size() > kMaxRank)
      fail(call, name,
           fmt::format("has {} dimensions, expected at most {}", value.items.size(), kMaxRank));
    std::vector<int64_t> found;
    for (size_t i = 0; i < value.items.size(); ++i) {
      const PickleValue& number = item(value, i);
      if (number.kind != Kind::kInt || number.integer < 0)
        fail(call, name, "has a size or stride that is not an int from 0");
      found.push_back(number.integer);
    }
    return found;
  }

  // Views that must be computed: conj() and neg() of complex numbers.
  void check_flags(const PickleValue& call, const PickleValue& flags, std::string_view name) const {
    if (flags.kind != Kind::kDict) fail(call, name, "has metadata that is not a dict");
    for (size_t i = 1; i < flags.items.size(); i += 2)
      if (const PickleValue& flag = item(flags, i); flag.kind != Kind::kBool || flag.integer != 0)
        refuse(call, name,
               "is a conjugated or negated view, whose elements are not stored: save "
               "tensor.resolve_conj().resolve_neg()");
  }

  void add_tensor(const PickleValue& call, const PickleValue& arguments, const PickleValue* dtype,
                  const std::string& name) {
    const size_t flags = dtype == nullptr ? 6 : 7;
    if (arguments.items.size() > flags) check_flags(call, item(arguments, flags), name);
    const PickleValue& storage = item(arguments, 0);
    if (storage.kind != Kind::kPersistent)
      fail(call, name, fmt::format("has {} for its storage", kind_name(storage.kind)));
    const PickleValue& offset = item(arguments, 1);
    if (offset.kind != Kind::kInt || offset.integer < 0)
      fail(call, name, "has an offset that is not an int from 0");
    View view{offset.integer, numbers(call, item(arguments, 2), name),
              numbers(call, item(arguments, 3), name)};
    if (view.sizes.size() != view.strides.size())
      fail(call, name,
           fmt::format("has {} sizes and {} strides", view.sizes.size(), view.strides.size()));
    const TorchType* type = nullptr;
    if (dtype != nullptr) {
      type = dtype->kind == Kind::kGlobal ? find_torch_dtype(dtype->text) : nullptr;
      if (type == nullptr) fail(call, name, "has a dtype that torch does not have");
    }
    const int32_t number = storage_of(call, item(storage, 0), type, name);
    put_view(call, view, *type, number, name);
  }

  // The index of the storage with this identifier, ("storage", class, key, device, count). Sets the
  // type if that is the class's.
  int32_t storage_of(const PickleValue& call, const PickleValue& id, const TorchType*& type,
                     const std::string& name) {
    if (id.kind != Kind::kTuple || id.items.size() != 5 || item(id, 0).kind != Kind::kString ||
        item(id, 0).text != "storage" || item(id, 1).kind != Kind::kGlobal ||
        item(id, 2).kind != Kind::kString || item(id, 4).kind != Kind::kInt)
      fail(call, name,
           "has a storage that is not (\"storage\", class, key, device, number of elements)");
    const PickleValue& storage_class = item(id, 1);
    uint64_t unit = 1;
    if (storage_class.text != kUntypedStorage) {
      const TorchType* const stored = find_torch_storage(storage_class.text);
      if (stored == nullptr)
        fail(call, name,
             fmt::format("has a storage of the class {}",
                         escape_name(python_name(storage_class.text))));
      unit = stored->size;
      if (type == nullptr) type = stored;
    }
    if (type == nullptr) fail(call, name, "has a storage without a type");
    const std::string entry_name = fmt::format("{}/data/{}", root_, item(id, 2).text);
    const auto found = archive_.find(entry_name);
    if (found == archive_.end())
      fail(call, name,
           fmt::format("has its elements in \"{}\", which is missing", escape_name(entry_name)));
    check_plain(index_.path, entry_name, found->second);
    uint64_t size = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(item(id, 4).integer), unit, &size) ||
        size != found->second.size)
      fail(call, name,
           fmt::format("has a storage of {} elements of {} bytes, but \"{}\" has {} bytes",
                       item(id, 4).integer, unit, escape_name(entry_name), found->second.size));
    const auto [known, is_new] =
        storages_.try_emplace(entry_name, static_cast<int32_t>(index_.storages.size()));
    if (is_new) index_.storages.push_back({entry_name, found->second});
    return known->second;
  }

  void put_view(const PickleValue& call, const View& view, const TorchType& type, int32_t number,
                const std::string& name) {
    const ZipEntry& storage = index_.storages[static_cast<size_t>(number)].entry;
    const Shape shape = shape_of_view(call, view, name);
    const auto num_elements = static_cast<uint64_t>(shape.num_elements());
    StoredTensor entry;
    entry.dtype = type.equivalent;
    entry.shape = shape;
    entry.offset = static_cast<int64_t>(storage.offset);
    if (num_elements > 0) {
      const uint64_t num_stored = storage.size / type.size;
      const std::optional<uint64_t> end = end_of(view);
      if (!end || *end > num_stored)
        fail(call, name,
             fmt::format("is {} from element {} on, but its storage has {} elements", shape,
                         view.offset, num_stored));
      if (num_elements > std::max(file_bytes_, kMinTensorBytes) / type.size)
        fail(call, name,
             fmt::format("is {} {}, more than the file has", dtype_name(type.equivalent), shape));
      entry.offset += view.offset * static_cast<int64_t>(type.size);
      entry.size = static_cast<int64_t>((*end - static_cast<uint64_t>(view.offset)) * type.size);
    }
    TorchLayout layout;
    layout.storage = number;
    layout.element_size = type.size;
    if (num_elements > 0 && !is_row_major(view)) layout.strides = view.strides;
    put(call, name, std::move(entry), std::move(layout));
  }

  Shape shape_of_view(const PickleValue& call, const View& view, std::string_view name) const {
    try {
      return Shape(view.sizes);
    } catch (const InvalidArgumentError& error) {
      fail(call, name, error.what());
    }
  }

  // The end of the last element, in elements of the storage; unset if it is beyond int64.
  // Requires: there is an element.
  static std::optional<uint64_t> end_of(const View& view) {
    int64_t last = view.offset;
    for (size_t i = 0; i < view.sizes.size(); ++i) {
      int64_t distance = 0;
      if (__builtin_mul_overflow(view.sizes[i] - 1, view.strides[i], &distance) ||
          __builtin_add_overflow(last, distance, &last))
        return std::nullopt;
    }
    return static_cast<uint64_t>(last) + 1;
  }

  const Pickle& pickle_;
  const ZipDirectory& archive_;
  const std::string& root_;
  const std::string& document_;
  const uint64_t file_bytes_;
  uint64_t budget_;
  TorchIndex& index_;
  char separator_ = '/';
  std::map<std::string, int32_t, std::less<>> storages_;  // By the names of their zip entries.
};

}  // namespace

bool is_known_to_torch(std::string_view global) {
  return global == kOrderedDict || global == kUntypedStorage || function_of(global) ||
         is_script_class(global) || is_tensor_class(global) ||
         find_torch_dtype(global) != nullptr || find_torch_storage(global) != nullptr;
}

void add_torch_values(const Pickle& pickle, const ZipDirectory& archive, const std::string& root,
                      const std::string& document, uint64_t pickle_bytes, uint64_t file_bytes,
                      TorchIndex& index) {
  ValueWalk(pickle, archive, root, document, pickle_bytes, file_bytes, index).run();
}

}  // namespace crochet::inline v0::internal
