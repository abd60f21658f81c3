// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/write_fence.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include "crochet/base/internal/immortal.h"

// The layout of at::RecordFunction depends on it, and LibTorch is always built with it.
#ifndef NDEBUG
#error "compile this file with NDEBUG"
#endif

namespace crochet::inline v0::libtorch {
namespace {

// Explicit instantiations may name private members. RecordFunction::inputs() is not called, as the
// linker may take a version of it that was compiled without NDEBUG.
template <typename Tag, typename Tag::Member kMember>
struct Opened {
  friend typename Tag::Member member_of(Tag) { return kMember; }
};
struct Inputs {
  using Member = c10::ArrayRef<const c10::IValue> at::RecordFunction::*;
  friend Member member_of(Inputs);
};
template struct Opened<Inputs, &at::RecordFunction::inputs_>;

// The places of the arguments to which an operator writes, by the address of its name, which is in
// its schema and thus its own.
class WrittenArguments {
 public:
  // Empty also for a function that is not an operator.
  const std::vector<size_t>& of(const at::RecordFunction& function) {
    const char* const key = function.name();
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = places_.find(key); found != places_.end()) return found->second;
    }
    const auto schema = function.operator_schema();
    if (!schema) return none_;
    std::vector<size_t> places;
    for (size_t place = 0; place < schema->arguments().size(); ++place) {
      const c10::AliasInfo* const alias = schema->arguments()[place].alias_info();
      if (alias != nullptr && alias->isWrite()) places.push_back(place);
    }
    const std::unique_lock lock(mutex_);
    return places_.emplace(key, std::move(places)).first->second;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<const char*, std::vector<size_t>> places_;  // Its elements do not move.
  const std::vector<size_t> none_;
};

// The fences that are raised, of all graphs, and the observer that serves them.
class Observer {
 public:
  static Observer& instance() {
    static Immortal<Observer> observer;
    return *observer;
  }

  void add(OperatorFence* fence) {
    const std::unique_lock lock(mutex_);
    fences_.push_back(fence);
    if (fences_.size() > 1) return;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&before_operator)
                                        .needsInputs(true)
                                        .scopes({at::RecordScope::FUNCTION}));
  }

  void remove(OperatorFence* fence) {
    const std::unique_lock lock(mutex_);
    std::erase(fences_, fence);
    if (fences_.empty()) at::removeCallback(handle_);
  }

  // The whole memory of the tensor, as resize_() may free it.
  void announce(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage() || !tensor.device().is_cpu()) return;
    const c10::Storage& storage = tensor.storage();
    const auto* const begin = static_cast<const std::byte*>(storage.data());
    if (begin != nullptr) announce_bytes(begin, begin + storage.nbytes());
  }

 private:
  static std::unique_ptr<at::ObserverContext> before_operator(const at::RecordFunction& function) {
    instance().announce(function);
    return nullptr;
  }

  // LibTorch logs and ignores what a callback throws, so nothing is thrown.
  void announce(const at::RecordFunction& function) noexcept {
    try {
      const c10::ArrayRef<const c10::IValue> inputs = function.*member_of(Inputs());
      for (const size_t place : written_.of(function))
        if (place < inputs.size()) announce(inputs[place]);
    } catch (...) {
      // Without memory, say. Then it may write anywhere.
      announce_bytes(nullptr, reinterpret_cast<const void*>(std::numeric_limits<uintptr_t>::max()));
    }
  }

  void announce(const c10::IValue& value) {
    if (value.isTensor()) return announce(value.toTensor());
    if (!value.isList()) return;
    for (const c10::IValue& element : value.toListRef()) announce(element);
  }

  void announce_bytes(const void* begin, const void* end) noexcept {
    const std::shared_lock lock(mutex_);
    for (OperatorFence* const fence : fences_) fence->before_write(begin, end);
  }

  std::shared_mutex mutex_;
  std::vector<OperatorFence*> fences_;
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
  WrittenArguments written_;
};

}  // namespace

std::shared_ptr<OperatorFence> OperatorFence::of(local::Graph& graph) {
  if (const auto attached = graph.attached<OperatorFence>(); !attached.empty())
    return attached.front();
  auto fence = std::make_shared<OperatorFence>();
  graph.attach(fence);
  return fence;
}

void OperatorFence::raise() { Observer::instance().add(this); }

void OperatorFence::lower() noexcept { Observer::instance().remove(this); }

void before_raw_write(const at::Tensor& tensor) { Observer::instance().announce(tensor); }

}  // namespace crochet::inline v0::libtorch
