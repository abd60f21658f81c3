// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of CUDA's runtime that docs/recipes.md calls, in the host's memory: machines
// without a GPU compile and run its examples.
#pragma once

#include <cstdlib>
#include <cstring>

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "out of memory";
}
inline cudaError_t cudaMalloc(void** pointer, size_t size) {
  *pointer = std::malloc(size);
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
inline cudaError_t cudaFree(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* pointer, int value, size_t size) {
  std::memset(pointer, value, size);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
  std::memcpy(to, from, size);
  return cudaSuccess;
}
