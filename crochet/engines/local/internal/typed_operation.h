// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/engines/local/operation_options.h"
#include "crochet/engines/local/parameter.h"

// Makes an operation from a callable by the types of its parameters and its result. The
// interface is Graph::op.
namespace crochet::inline v0::local::internal {

template <typename R, typename C, typename... P>
std::type_identity<R(P...)> signature(R (C::*)(P...));
template <typename R, typename C, typename... P>
std::type_identity<R(P...)> signature(R (C::*)(P...) const);
template <typename R, typename... P>
std::type_identity<R(P...)> signature(R (*)(P...));

template <typename Callable>
auto signature_of() {
  if constexpr (std::is_pointer_v<Callable>) {
    return decltype(signature(Callable{})){};
  } else {
    static_assert(
        requires { &Callable::operator(); },
        "an operation's callable must declare its parameters' types: no `auto`, no overloads");
    return decltype(signature(&Callable::operator())){};
  }
}

// A callable with the signature R(P...), and the sources of its parameters.
template <typename Callable, typename Signature>
class TypedKernel;

template <typename Callable, typename R, typename... P>
class TypedKernel<Callable, std::type_identity<R(P...)>> {
 public:
  static constexpr size_t kArity = sizeof...(P);
  // False if no inputs of this number have as many parameters: replace() has
  // two, one of which is written.
  static constexpr bool takes(size_t num_inputs) {
    return num_inputs <= kArity && kArity <= num_inputs + (size_t{Parameter<P>::kWrites} + ... + 0);
  }

  explicit TypedKernel(Callable callable) : callable_(std::move(callable)) {}

  std::span<Argument> arguments() { return arguments_; }
  static std::array<ParameterInfo, kArity> parameters() { return {parameter_info<P>()...}; }
  static std::vector<TensorSpec> results() { return Result<std::remove_cvref_t<R>>::specs(); }

  void run(KernelContext& context) {
    constexpr auto kParameters = std::index_sequence_for<P...>();
    if (!fits(context, kParameters)) context.check_inputs();
    if constexpr (std::is_void_v<R>) {
      call(context, kParameters);
    } else {
      Result<std::remove_cvref_t<R>>::set(context, call(context, kParameters));
    }
  }

 private:
  template <size_t... kIndex>
  bool fits([[maybe_unused]] KernelContext& context, std::index_sequence<kIndex...>) const {
    return (admits<P>(context.argument(std::get<kIndex>(arguments_))) && ...);
  }

  template <size_t... kIndex>
  R call([[maybe_unused]] KernelContext& context, std::index_sequence<kIndex...>) {
    return std::invoke(callable_,
                       Parameter<P>::get(context.argument(std::get<kIndex>(arguments_)))...);
  }

  Callable callable_;
  std::array<Argument, kArity> arguments_ = {};
};

// Everything of an operation except its kernel; sets the source of each parameter in `arguments`.
// Throws: InvalidArgumentError if inputs and parameters do not match, or an input is not part
// of the graph. Requires: the graph is a local one.
CROCHET_EXPORT OperationOptions describe_operation(const crochet::Graph& graph, std::string name,
                                                   std::span<const OpInput> inputs,
                                                   std::span<const ParameterInfo> parameters,
                                                   std::span<Argument> arguments,
                                                   const OpOptions& options);

template <typename Callable>
using KernelOf = TypedKernel<Callable, decltype(signature_of<Callable>())>;

template <typename Callable>
OperationOptions typed_operation(const crochet::Graph& graph, std::string name,
                                 std::span<const OpInput> inputs, Callable callable,
                                 const OpOptions& options) {
  using Kernel = KernelOf<Callable>;
  // Not inside the std::function, which must be copyable: the callable may be move-only.
  const auto kernel = std::make_shared<Kernel>(std::move(callable));
  OperationOptions operation = describe_operation(
      graph, std::move(name), inputs, Kernel::parameters(), kernel->arguments(), options);
  operation.output_specs = Kernel::results();
  operation.num_outputs = static_cast<int>(operation.output_specs.size());
  operation.kernel_checks_inputs = true;
  operation.kernel = [kernel = kernel.get()](KernelContext& context) { kernel->run(context); };
  operation.owned = kernel;
  return operation;
}

}  // namespace crochet::inline v0::local::internal
