// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/loop.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/c.h"
#include "crochet/c/internal/error_codes.h"
#include "crochet/c/internal/named_options.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {

// Of a program in C.
struct BorrowedMemory {
  ArrayView view;
  void track(Tracker& here) {
    here.add_array("", {.view = [this] { return view; }});
  }
};

}  // namespace crochet::inline v0::internal

struct crochet_loop {
  // Throws: FailedPreconditionError once the run has begun.
  void check_not_started(const char* function) const {
    if (loop)
      throw crochet::FailedPreconditionError(
          fmt::format("{} was called after crochet_loop_start", function));
  }
  crochet::Loop& started(const char* function) const {
    if (!loop)
      throw crochet::FailedPreconditionError(
          fmt::format("{} was called before crochet_loop_start", function));
    return *loop;
  }

  crochet::LoopOptions options = {};
  std::map<std::string, crochet::internal::BorrowedMemory> arrays = {};
  std::vector<std::pair<std::string, const double*>> scalars = {};
  std::optional<std::string> stop = {}, save = {};  // What this step requests.
  std::unique_ptr<crochet::Loop> loop = {};         // Once it has been started.
};

namespace {

using crochet::internal::check_given;
using crochet::internal::code_of;

}  // namespace

int crochet_loop_new(const char* directory, crochet_loop** loop) {
  return code_of([&] {
    check_given(directory, "directory");
    check_given(loop, "loop");
    auto made = std::make_unique<crochet_loop>();
    made->options.checkpoint.dir = directory;
    *loop = made.release();
  });
}

int crochet_loop_set(crochet_loop* loop, const char* option, const char* value) {
  return code_of([&] {
    check_given(loop, "loop");
    check_given(option, "option");
    check_given(value, "value");
    loop->check_not_started("crochet_loop_set");
    crochet::internal::set_option(loop->options, option, value);
  });
}

int crochet_loop_add_hook(crochet_loop* loop, const char* name, const char* argument) {
  return code_of([&] {
    check_given(loop, "loop");
    check_given(name, "name");
    loop->check_not_started("crochet_loop_add_hook");
    loop->options.hooks.push_back(
        crochet::internal::named_hook(name, argument == nullptr ? "" : argument));
  });
}

int crochet_loop_track(crochet_loop* loop, const char* name, void* elements, int dtype, int rank,
                       const int64_t* sizes) {
  return code_of([&] {
    check_given(loop, "loop");
    check_given(name, "name");
    if (crochet_dtype_size(dtype) == 0)
      throw crochet::InvalidArgumentError(
          fmt::format("\"{}\": found the type {}, which has no size", name, dtype));
    if (rank < 0 || rank > CROCHET_MAX_RANK)
      throw crochet::InvalidArgumentError(fmt::format(
          "\"{}\": found {} dimensions, expected 0 to {}", name, rank, CROCHET_MAX_RANK));
    if (rank > 0) check_given(sizes, "sizes");
    const crochet::Shape shape(std::span(sizes, static_cast<size_t>(rank)));
    if (!shape.is_fully_known())
      throw crochet::InvalidArgumentError(fmt::format("\"{}\": found a negative size", name));
    if (shape.num_elements() > 0) check_given(elements, "elements");
    const crochet::ArrayView view{.dtype = static_cast<crochet::DType>(dtype),
                                  .shape = shape,
                                  .data = static_cast<std::byte*>(elements)};
    const auto known = loop->arrays.find(name);
    if (known == loop->arrays.end()) {
      loop->check_not_started("crochet_loop_track");
      loop->arrays.emplace(name, crochet::internal::BorrowedMemory{view});
      return;
    }
    crochet::ArrayView& before = known->second.view;
    if (before.dtype != view.dtype || before.shape != view.shape)
      throw crochet::InvalidArgumentError(
          fmt::format("\"{}\": found {} {}, expected {} {} as before", name, view.dtype, view.shape,
                      before.dtype, before.shape));
    before.data = view.data;
  });
}

int crochet_loop_scalar(crochet_loop* loop, const char* name, const double* value) {
  return code_of([&] {
    check_given(loop, "loop");
    check_given(name, "name");
    check_given(value, "value");
    loop->check_not_started("crochet_loop_scalar");
    loop->scalars.emplace_back(name, value);
  });
}

int crochet_loop_start(crochet_loop* loop, int64_t* step) {
  return code_of([&] {
    check_given(loop, "loop");
    loop->check_not_started("crochet_loop_start");
    loop->loop = std::make_unique<crochet::Loop>(loop->options);
    for (auto& [name, array] : loop->arrays) loop->loop->track(name, array);
    for (const auto& [name, value] : loop->scalars)
      loop->loop->scalar(name, [value = value] { return *value; });
    const int64_t first = loop->loop->start();
    if (step != nullptr) *step = first;
  });
}

int crochet_loop_should_stop(const crochet_loop* loop) {
  bool stops = true;
  if (loop != nullptr && loop->loop) code_of([&] { stops = loop->loop->should_stop(); });
  return stops ? 1 : 0;
}

int crochet_loop_end_step(crochet_loop* loop) {
  return code_of([&] {
    check_given(loop, "loop");
    const auto stop = std::exchange(loop->stop, std::nullopt);
    const auto save = std::exchange(loop->save, std::nullopt);
    loop->started("crochet_loop_end_step").step([&](crochet::Step& step) {
      if (stop) step.request_stop(*stop);
      if (save) step.request_save(*save);
    });
  });
}

int crochet_loop_request_stop(crochet_loop* loop, const char* reason) {
  return code_of([&] {
    check_given(loop, "loop");
    check_given(reason, "reason");
    if (!loop->stop) loop->stop = reason;
  });
}

int crochet_loop_request_save(crochet_loop* loop, const char* reason) {
  return code_of([&] {
    check_given(loop, "loop");
    check_given(reason, "reason");
    loop->save = reason;
  });
}

int crochet_loop_finish(crochet_loop* loop, int64_t* last_step, int* exit_code) {
  return code_of([&] {
    check_given(loop, "loop");
    const crochet::RunReport report = loop->started("crochet_loop_finish").finish();
    if (last_step != nullptr) *last_step = report.last_step;
    if (exit_code != nullptr) *exit_code = report.exit_code();
  });
}

void crochet_loop_free(crochet_loop* loop) { delete loop; }
