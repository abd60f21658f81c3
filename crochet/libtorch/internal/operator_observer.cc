// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/operator_observer.h"

#include <cstdint>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include "crochet/base/internal/immortal.h"
#include "crochet/libtorch/internal/device_barrier.h"

// The layout of at::RecordFunction depends on it, and LibTorch is always built with it.
#ifndef NDEBUG
#error "compile this file with NDEBUG"
#endif

namespace crochet::inline v0::libtorch::internal {
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
  const std::vector<size_t> none_ = {};
};

WrittenArguments& written_arguments() {
  static crochet::internal::Immortal<WrittenArguments> written;
  return *written;
}

void announce_value(const c10::IValue& value) {
  if (value.isTensor()) return OperatorObserver::instance().announce(value.toTensor());
  if (!value.isList()) return;
  for (const c10::IValue& element : value.toListRef()) announce_value(element);
}

// LibTorch logs and ignores what a callback throws, so nothing is thrown.
std::unique_ptr<at::ObserverContext> before_operator(const at::RecordFunction& function) {
  try {
    const c10::ArrayRef<const c10::IValue> inputs = function.*member_of(Inputs());
    for (const size_t place : written_arguments().of(function))
      if (place < inputs.size()) announce_value(inputs[place]);
  } catch (...) {
    // Without memory, say. Then it may write anywhere.
    OperatorObserver::instance().announce_all();
  }
  return nullptr;
}

}  // namespace

class OperatorObserver::Installed {
 public:
  Installed()
      : handle_(at::addGlobalCallback(at::RecordFunctionCallback(&before_operator)
                                          .needsInputs(true)
                                          .scopes({at::RecordScope::FUNCTION}))) {}
  ~Installed() { at::removeCallback(handle_); }
  Installed(const Installed&) = delete;
  Installed& operator=(const Installed&) = delete;

 private:
  const at::CallbackHandle handle_;
};

OperatorObserver& OperatorObserver::instance() {
  static crochet::internal::Immortal<OperatorObserver> observer;
  return *observer;
}

OperatorObserver::OperatorObserver() = default;
OperatorObserver::~OperatorObserver() = default;

template <typename Barrier>
void OperatorObserver::add(std::vector<Barrier*>& barriers, Barrier& barrier) {
  const std::unique_lock lock(mutex_);
  barriers.push_back(&barrier);
  if (installed_) return;
  try {
    installed_ = std::make_unique<Installed>();
  } catch (...) {
    barriers.pop_back();
    throw;
  }
}

template <typename Barrier>
void OperatorObserver::remove(std::vector<Barrier*>& barriers, Barrier& barrier) noexcept {
  const std::unique_lock lock(mutex_);
  std::erase(barriers, &barrier);
  if (barriers_.empty() && device_barriers_.empty()) installed_.reset();
}

void OperatorObserver::add(WriteBarrier& barrier) { add(barriers_, barrier); }
void OperatorObserver::remove(WriteBarrier& barrier) noexcept { remove(barriers_, barrier); }
void OperatorObserver::add(DeviceBarrier& barrier) { add(device_barriers_, barrier); }
void OperatorObserver::remove(DeviceBarrier& barrier) noexcept {
  remove(device_barriers_, barrier);
}

void OperatorObserver::announce(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const std::shared_lock lock(mutex_);
  if (!tensor.device().is_cpu()) {
    for (DeviceBarrier* const barrier : device_barriers_) barrier->before_write_to(tensor);
    return;
  }
  const c10::Storage& storage = tensor.storage();
  const auto* const begin = static_cast<const std::byte*>(storage.data());
  if (begin == nullptr) return;
  for (WriteBarrier* const barrier : barriers_)
    barrier->before_write(begin, begin + storage.nbytes());
}

void OperatorObserver::announce_all() noexcept {
  const std::shared_lock lock(mutex_);
  const auto* const end = reinterpret_cast<const void*>(std::numeric_limits<uintptr_t>::max());
  for (WriteBarrier* const barrier : barriers_) barrier->before_write(nullptr, end);
  for (DeviceBarrier* const barrier : device_barriers_) barrier->before_any_write();
}

}  // namespace crochet::inline v0::libtorch::internal
