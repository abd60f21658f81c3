// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "crochet/tensor/tensor.h"

// The functions and classes of C++ that the package crochet, in Python, is made of. Users
// call those of python/crochet instead.
namespace crochet::python {

namespace nb = nanobind;

void bind_errors(nb::module_& module);
void bind_reader(nb::module_& module);
void bind_saver(nb::module_& module);
void bind_hooks(nb::module_& module);
void bind_loop(nb::module_& module);

// Type and sizes, as Python has them.
using Described = std::pair<std::string, std::vector<int64_t>>;
Described described(DType dtype, const Shape& shape);
// Throws: InvalidArgumentError for an unknown name.
DType dtype_named(const std::string& name);

// The elements of a tensor, for Python: a list of bytes of one of strings, otherwise a flat array
// of bytes that shares the memory, which is only for reading unless nothing else has it.
nb::object elements_of(Tensor tensor);

// Without the interpreter's lock, so that other threads of Python continue.
template <typename Call>
auto unlocked(const Call& call) {
  const nb::gil_scoped_release release;
  return call();
}

// Throws the exception that Ctrl-C has raised. Needs no lock.
void throw_if_signalled();

// Waits without the lock until `is_over()`, and lets Ctrl-C end it.
void wait_until(const std::function<bool()>& is_over);

// Lets C++ keep an object of Python, and release it on any thread.
std::shared_ptr<nb::object> kept(nb::object object);

}  // namespace crochet::python
