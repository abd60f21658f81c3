// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <tensorflow/c/c_api.h>

// TensorFlow's C API with owners for what it hands out. For the sources of this folder: the headers
// that users include name none of its types but by forward declaration.
namespace crochet::tensorflow::internal {

template <auto kDelete>
struct Deleter {
  void operator()(auto* object) const noexcept { kDelete(object); }
};

using TensorPtr = std::unique_ptr<TF_Tensor, Deleter<TF_DeleteTensor>>;
using BufferPtr = std::unique_ptr<TF_Buffer, Deleter<TF_DeleteBuffer>>;
using FunctionPtr = std::unique_ptr<TF_Function, Deleter<TF_DeleteFunction>>;
using GraphPtr = std::unique_ptr<TF_Graph, Deleter<TF_DeleteGraph>>;
using SessionOptionsPtr = std::unique_ptr<TF_SessionOptions, Deleter<TF_DeleteSessionOptions>>;
using ImportOptionsPtr =
    std::unique_ptr<TF_ImportGraphDefOptions, Deleter<TF_DeleteImportGraphDefOptions>>;

}  // namespace crochet::tensorflow::internal
