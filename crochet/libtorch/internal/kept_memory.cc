// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/kept_memory.h"

#include <utility>

#include <c10/core/CPUAllocator.h>

namespace crochet::inline v0::libtorch::internal {
namespace {

// What the storage owned before.
using Memory = std::shared_ptr<c10::DataPtr>;

void release(void* memory) { delete static_cast<Memory*>(memory); }

bool is_of_the_allocator(const c10::DataPtr& pointer) {
  return pointer.get() != nullptr && pointer.get() == pointer.get_context() &&
         pointer.get_deleter() == c10::GetCPUAllocator()->raw_deleter();
}

}  // namespace

std::shared_ptr<const void> kept_memory(const c10::Storage& storage) {
  const c10::DataPtr& pointer = storage.data_ptr();
  if (pointer.get_deleter() == &release) return *static_cast<Memory*>(pointer.get_context());
  if (!is_of_the_allocator(pointer)) return nullptr;
  auto memory = std::make_shared<c10::DataPtr>();
  auto shared = std::make_unique<Memory>(memory);
  c10::DataPtr replacement(pointer.get(), shared.get(), &release, pointer.device());
  static_cast<void>(shared.release());  // `replacement` owns it.
  *memory = storage.unsafeGetStorageImpl()->set_data_ptr(std::move(replacement));
  return memory;
}

}  // namespace crochet::inline v0::libtorch::internal
