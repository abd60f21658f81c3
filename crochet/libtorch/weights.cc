// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/weights.h"

#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/nn/module.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/libtorch/internal/tensor_memory.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/loop/internal/load_values.h"

namespace crochet::inline v0::libtorch {
namespace {

constexpr std::string_view kSuffix = ".safetensors";

// A tensor of a module, and its names: several for one that modules share.
struct Weight {
  at::Tensor tensor;
  std::vector<std::string> names;
};

// Throws: InvalidArgumentError for a tensor that files cannot have.
std::vector<Weight> weights_of(const torch::nn::Module& module) {
  std::vector<Weight> weights;
  std::map<const at::TensorImpl*, size_t> places;
  const auto add = [&](const auto& items) {
    for (const auto& item : items) {
      const at::Tensor& tensor = item.value();
      if (!tensor.defined()) continue;  // As the bias of a layer without one.
      try {
        static_cast<void>(internal::checked_dtype(tensor));
      } catch (const InvalidArgumentError& error) {
        throw InvalidArgumentError(fmt::format("tensor \"{}\": {}", item.key(), error.what()));
      }
      const auto [place, is_new] = places.emplace(tensor.unsafeGetTensorImpl(), weights.size());
      if (is_new) weights.push_back({tensor, {}});
      weights[place->second].names.push_back(item.key());
    }
  };
  add(module.named_parameters());
  add(module.named_buffers());
  return weights;
}

// Elements that were read for a tensor of the module under one of its names.
struct ReadValue {
  const Weight* weight;
  std::string name;
  at::Tensor elements;  // Row-major, on the CPU.
};

ArrayView view_of(const at::Tensor& elements, DType dtype) {
  return {.dtype = dtype,
          .shape = libtorch::internal::shape_of(elements),
          .data = static_cast<std::byte*>(elements.data_ptr())};
}

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

// The names of a tensor that a file has, as options.rename maps them; the first if it has none.
class NamesInFile {
 public:
  NamesInFile(const RestoreOptions& options, FileSystem& files)
      : options_(options),
        reader_(crochet::internal::chosen_checkpoint(files, options.from, options.which), files) {}

  std::vector<std::string> of(const Weight& weight) const {
    std::vector<std::string> found;
    for (const std::string& name : weight.names)
      if (reader_.contains(crochet::internal::stored_name(options_.rename, name)))
        found.push_back(name);
    return found.empty() ? std::vector{weight.names.front()} : found;
  }

 private:
  const RestoreOptions& options_;
  const CheckpointReader reader_;
};

}  // namespace

void save_weights(const torch::nn::Module& module, const std::string& path, FileSystem* files) {
  if (!path.ends_with(kSuffix))
    throw InvalidArgumentError(fmt::format(
        "save_weights: found the path \"{}\", expected one that ends with \"{}\"", path, kSuffix));
  crochet::internal::SafetensorsWriter writer(FileSystem::or_posix(files),
                                              path.substr(0, path.size() - kSuffix.size()),
                                              // Without it, some programs refuse the file.
                                              {.metadata = {{"format", "pt"}}});
  for (const Weight& weight : weights_of(module))
    for (const std::string& name : weight.names)
      writer.add_later(name, [tensor = weight.tensor] { return to_tensor(tensor); });
  writer.finish();
}

RestoreReport load_weights(torch::nn::Module& module, const RestoreOptions& options,
                           FileSystem* files) {
  if (options.from.empty()) throw InvalidArgumentError("load_weights: the path is empty");
  const NamesInFile names(options, FileSystem::or_posix(files));
  const std::vector<Weight> weights = weights_of(module);
  std::vector<ReadValue> values;
  for (const Weight& weight : weights)
    for (const std::string& name : names.of(weight))
      values.push_back(
          {&weight, name, at::empty(weight.tensor.sizes(), weight.tensor.scalar_type())});

  const RestoreReport report = crochet::internal::load_values(
      options, crochet::internal::SurplusValues::kRefused,
      [&](Tracker& tracker) {
        for (const ReadValue& value : values)
          tracker.add_array(value.name, {.view = [elements = value.elements] {
                              return view_of(elements, internal::checked_dtype(elements));
                            }});
      },
      files);

  const std::set<std::string> restored(report.restored.begin(), report.restored.end());
  std::erase_if(values, [&](const ReadValue& value) { return !restored.contains(value.name); });
  // Those of one tensor follow each other.
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i].weight == values[i - 1].weight &&
        !same_bytes(values[i].elements, values[i - 1].elements))
      throw InvalidArgumentError(
          fmt::format("{}: found different values for \"{}\" and \"{}\", which are one tensor in "
                      "the module",
                      report.prefix, values[i - 1].name, values[i].name));
  const at::NoGradGuard no_grad;
  for (const ReadValue& value : values) at::Tensor(value.weight->tensor).copy_(value.elements);
  return report;
}

}  // namespace crochet::inline v0::libtorch
