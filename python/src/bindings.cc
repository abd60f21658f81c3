// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "python/src/bindings.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/version.h"

namespace crochet::python {

Described described(DType dtype, const Shape& shape) {
  return {dtype_name(dtype), {shape.dimensions().begin(), shape.dimensions().end()}};
}

DType dtype_named(const std::string& name) {
  for (const int32_t first : {1, 1000})
    for (int32_t number = first; number < first + 40; ++number) {
      if (!is_valid_dtype(number) && (number < 1000 || number > 1002)) continue;
      if (name == dtype_name(static_cast<DType>(number))) return static_cast<DType>(number);
    }
  throw InvalidArgumentError(fmt::format("\"{}\" is not a type of elements", name));
}

nb::object elements_of(Tensor tensor) {
  if (tensor.dtype() == DType::kString) {
    nb::list strings;
    for (const std::string& text : tensor.strings())
      strings.append(nb::bytes(text.data(), text.size()));
    return strings;
  }
  auto* const held = new Tensor(std::move(tensor));
  const nb::capsule owner(held,
                          [](void* pointer) noexcept { delete static_cast<Tensor*>(pointer); });
  const auto* const data = reinterpret_cast<const uint8_t*>(std::as_const(*held).bytes().data());
  const size_t size = held->num_bytes();
  if (held->buffer() && !held->buffer().is_unique())
    return nb::cast(nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>(data, {size}, owner));
  return nb::cast(
      nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>(const_cast<uint8_t*>(data), {size}, owner));
}

void throw_if_signalled() {
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void wait_until(const std::function<bool()>& is_over) {
  auto pause = std::chrono::microseconds(50);
  for (;;) {
    if (unlocked([&] {
          if (is_over()) return true;
          std::this_thread::sleep_for(pause);
          return false;
        }))
      return;
    throw_if_signalled();
    pause = std::min(2 * pause, std::chrono::microseconds(10'000));
  }
}

std::shared_ptr<nb::object> kept(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            // Once Python has ended there is nothing to release.
            if (!nb::is_alive()) return;
            const nb::gil_scoped_acquire acquire;
            delete held;
          }};
}

namespace {

// The classes of crochet/_errors.py, by the number of the code.
nb::handle error_classes;

}  // namespace

void bind_errors(nb::module_& module) {
  module.def("set_error_classes", [](nb::dict classes) { error_classes = classes.release(); });
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& known) {
      const nb::int_ code(static_cast<int>(known.code()));
      PyObject* const type = PyDict_GetItem(error_classes.ptr(), code.ptr());
      PyErr_SetString(type != nullptr ? type : PyExc_RuntimeError, known.what());
    }
  });
}

}  // namespace crochet::python

NB_MODULE(_crochet, module) {
  using namespace crochet::python;
  module.attr("version") = CROCHET_VERSION;
  bind_errors(module);
  bind_reader(module);
  bind_saver(module);
  bind_hooks(module);
  bind_loop(module);
}
