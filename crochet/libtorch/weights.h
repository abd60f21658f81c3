// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/io/file_system.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

// The weights of a module, exchanged with Python. The names are those of a state_dict in Python, if
// the modules are registered under the same names: "fc.weight", "bn.running_mean".
namespace crochet::inline v0::libtorch {

// Writes all parameters and buffers as one safetensors file, which Python reads:
//
//   libtorch::save_weights(*net, "net.safetensors");
//
//   net.load_state_dict(safetensors.torch.load_file("net.safetensors"))
//
// After a crash, or an error, the file is the new one or what it was before. A tensor that has
// several names (tied weights) is stored under each of them. `files`: null for those of the system.
//
// Throws: InvalidArgumentError for a path that does not end with ".safetensors", and for tensors
// that are more than their elements (sparse, quantized, without memory).
CROCHET_EXPORT void save_weights(const torch::nn::Module& module, const std::string& path,
                                 FileSystem* files = nullptr);

// Copies into the parameters and buffers of a module what a file has: a safetensors file, one of
// torch.save(net.state_dict()), of TorchScript, or of torch::save(net) in C++, or a checkpoint of
// crochet's. Neither Python nor anything in the file is run.
//
//   libtorch::load_weights(*net, "net.pt");
//   libtorch::load_weights(*net, {.from = "net.pt",
//                                 .rename = {{"*", "module.*"}},  // of torch.nn.DataParallel
//                                 .allow_missing = {"head.*"},
//                                 .convert_dtype = true});
//
// As load_state_dict(strict=True), but for what the options allow: each tensor of the module must
// be in the file with its shape and type, and nothing else (`allow_surplus`). Of a tensor that has
// several names one is enough.
//
// The memory of the tensors stays; their values may be on any device, with any strides. They are
// read into other memory first, and copied once all are there.
//
// Throws: NotFoundError or InvalidArgumentError, which name everything that differs, or two values
// for one tensor; DataLossError for a damaged file; UnimplementedError for what crochet does not
// read (docs/torch_format.md). Then nothing is changed.
CROCHET_EXPORT RestoreReport load_weights(torch::nn::Module& module, const RestoreOptions& options,
                                          FileSystem* files = nullptr);

template <std::convertible_to<std::string> Path>
RestoreReport load_weights(torch::nn::Module& module, const Path& path,
                           FileSystem* files = nullptr) {
  return load_weights(module, RestoreOptions{.from = path}, files);
}

}  // namespace crochet::inline v0::libtorch
