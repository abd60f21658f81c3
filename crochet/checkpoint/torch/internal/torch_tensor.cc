// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/torch_tensor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/escape.h"
#include "crochet/checkpoint/torch/internal/torch_functions.h"
#include "crochet/checkpoint/torch/internal/unread_value.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

using Kind = PickleValue::Kind;

// TensorFlow's limit; no array library has more.
constexpr size_t kMaxRank = 254;
// A tensor may use elements of its storage more than once (expand), up to this size or that of the
// file.
constexpr uint64_t kMinTensorBytes = uint64_t{16} << 20;

Shape shape_of_view(const TorchView& view) {
  try {
    return Shape(view.sizes);
  } catch (const InvalidArgumentError& error) {
    fail_value(error.what());
  }
}

}  // namespace

// The numbers of a tuple, or of a torch.Size.
std::vector<int64_t> TorchTensors::numbers(const PickleValue& value) const {
  const PickleValue* tuple = &value;
  const bool is_size =
      value.kind == Kind::kCall &&
      pickle_.global_name(*pickle_.part(value, kCallee)) == GlobalName{"torch", "Size"};
  if (is_size && pickle_.part(value, kArguments)->items.size() == 1)
    tuple = &pickle_.item(*pickle_.part(value, kArguments), 0);
  if (tuple->kind != Kind::kTuple)
    fail_value(
        fmt::format("has {} for sizes or strides, expected a tuple", kind_name(tuple->kind)));
  if (tuple->items.size() > kMaxRank)
    fail_value(
        fmt::format("has {} dimensions, expected at most {}", tuple->items.size(), kMaxRank));
  std::vector<int64_t> found;
  for (size_t i = 0; i < tuple->items.size(); ++i) {
    const PickleValue& number = pickle_.item(*tuple, i);
    if (number.kind != Kind::kInt || number.integer < 0)
      fail_value("has a size or stride that is not an int from 0");
    found.push_back(number.integer);
  }
  return found;
}

// Views that must be computed: conj() and neg() of complex numbers.
void TorchTensors::check_flags(const PickleValue& flags) const {
  if (flags.kind != Kind::kDict) fail_value("has metadata that is not a dict");
  for (size_t i = 1; i < flags.items.size(); i += 2)
    if (const PickleValue& flag = pickle_.item(flags, i);
        flag.kind != Kind::kBool || flag.integer != 0)
      refuse_value(
          "is a conjugated or negated view, whose elements are not stored: save "
          "tensor.resolve_conj().resolve_neg()");
}

TorchView TorchTensors::view_of(const PickleValue& arguments) const {
  const PickleValue& offset = pickle_.item(arguments, 1);
  if (offset.kind != Kind::kInt || offset.integer < 0)
    fail_value("has an offset that is not an int from 0");
  TorchView view{offset.integer, numbers(pickle_.item(arguments, 2)),
                 numbers(pickle_.item(arguments, 3))};
  if (view.sizes.size() != view.strides.size())
    fail_value(fmt::format("has {} sizes and {} strides", view.sizes.size(), view.strides.size()));
  return view;
}

// The identifier is ("storage", class, key, device, count), before torch 1.6 with a view.
TorchTensors::Storage TorchTensors::storage_of(const PickleValue& persistent) const {
  if (persistent.kind != Kind::kPersistent)
    fail_value(fmt::format("has {} for its storage", kind_name(persistent.kind)));
  const PickleValue& id = pickle_.item(persistent, 0);
  const auto is = [&](size_t i, Kind kind) { return pickle_.item(id, i).kind == kind; };
  if (id.kind != Kind::kTuple || id.items.size() < 5 || id.items.size() > 6 ||
      !is(0, Kind::kString) || pickle_.item(id, 0).text != "storage" || !is(1, Kind::kGlobal) ||
      !is(2, Kind::kString) || !is(4, Kind::kInt))
    fail_value("has a storage that is not (\"storage\", class, key, device, number of elements)");
  if (id.items.size() == 6 && !is(5, Kind::kNone))
    refuse_value("is a view of a view of a storage, as only torch before 0.4 writes them");
  const GlobalName storage_class = pickle_.global_name(pickle_.item(id, 1));
  const TorchType* const type = find_torch_storage(storage_class);
  if (type == nullptr && !is_untyped_storage(storage_class))
    refuse_value(fmt::format("has a storage of the class {}", python_name(storage_class)));
  const std::string_view key = pickle_.item(id, 2).text;
  const auto found = index_.storages_by_key.find(key);
  if (found == index_.storages_by_key.end())
    fail_value(fmt::format("has its elements in the storage \"{}\", which is missing",
                           escape_name(key.substr(0, 80))));
  const auto& [name, entry] = index_.storages[static_cast<size_t>(found->second)];
  const auto count = static_cast<uint64_t>(pickle_.item(id, 4).integer);
  const uint64_t unit = type == nullptr ? 1 : type->size;
  uint64_t size = 0;
  if (__builtin_mul_overflow(count, unit, &size) || (size != entry.size && entry.is_plain))
    fail_value(fmt::format("has a storage of {} elements of {} bytes, but \"{}\" has {} bytes",
                           pickle_.item(id, 4).integer, unit, escape_name(name), entry.size));
  return {found->second, type};
}

TorchTensor TorchTensors::read(const PickleValue& arguments, TensorForm form) const {
  const size_t flags = form == TensorForm::kTyped ? 7 : 6;
  if (form != TensorForm::kOld && arguments.items.size() > flags)
    check_flags(pickle_.item(arguments, flags));
  const Storage storage = storage_of(pickle_.item(arguments, 0));
  const TorchType* type = storage.type;
  if (form == TensorForm::kTyped) {
    type = find_torch_dtype(pickle_.global_name(pickle_.item(arguments, 6)));
    if (type == nullptr) refuse_value("has a type of elements that crochet does not know");
  }
  if (type == nullptr) fail_value("has a storage without a type");
  return made(view_of(arguments), storage, *type);
}

TorchTensor TorchTensors::made(const TorchView& view, const Storage& storage,
                               const TorchType& type) const {
  const auto& [storage_name, stored] = index_.storages[static_cast<size_t>(storage.number)];
  TorchTensor tensor;
  StoredTensor& entry = tensor.entry;
  entry.dtype = type.equivalent;
  entry.shape = shape_of_view(view);
  entry.offset = static_cast<int64_t>(stored.offset);
  tensor.layout.storage = storage.number;
  tensor.layout.element_size = type.size;
  if (type.equivalent == DType::kInvalid)
    tensor.problem = fmt::format("has the type {}, which crochet does not have", type.dtype);
  if (!stored.is_plain)
    tensor.problem = fmt::format("is compressed or encrypted in the zip entry \"{}\"",
                                 escape_name(storage_name));
  const auto num_elements = static_cast<uint64_t>(entry.shape.num_elements());
  if (num_elements == 0) return tensor;
  const uint64_t num_stored = stored.size / type.size;
  const std::optional<uint64_t> end = end_of(view);
  if (stored.is_plain && (!end || *end > num_stored))
    fail_value(fmt::format("is {} from element {} on, but its storage has {} elements", entry.shape,
                           view.offset, num_stored));
  if (num_elements > std::max(file_bytes_, kMinTensorBytes) / type.size)
    tensor.problem = fmt::format(
        "repeats few elements in {}, more than the file has: save a copy, tensor.clone("
        "memory_format=torch.contiguous_format)",
        entry.shape);
  if (!tensor.problem.empty()) return tensor;
  tensor.layout.offset = static_cast<uint64_t>(view.offset) * type.size;
  if (!is_row_major(view)) {
    tensor.layout.strides = view.strides;
    return tensor;
  }
  entry.offset += static_cast<int64_t>(tensor.layout.offset);
  entry.size = static_cast<int64_t>(num_elements * type.size);
  return tensor;
}

}  // namespace crochet::inline v0::internal
