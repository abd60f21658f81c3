# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Compiles tracked.cc for types that can be tracked and stated.cc for valid statements, which must
# succeed; and both for invalid ones, which must fail with errors that state what
# to do.
#
#   cmake -D COMPILER=<c++> -D INCLUDES=<folders> -D FOLDER=<tests/refusals> -D SCRATCH=<folder>
#         -P refusals.cmake
cmake_minimum_required(VERSION 3.25)
list(TRANSFORM INCLUDES PREPEND "-I")

# Both sources include most of the library, which the compiler reads once.
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
file(WRITE ${SCRATCH}/all.h "#include \"crochet/crochet.h\"\n")
execute_process(COMMAND ${COMPILER} -std=c++20 ${INCLUDES} -x c++-header ${SCRATCH}/all.h -o
                        ${SCRATCH}/all.h.gch COMMAND_ERROR_IS_FATAL ANY)

# Puts the compiler's output into `out` if it fails; "" otherwise.
function(errors_of out source)
  execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -include ${SCRATCH}/all.h ${INCLUDES} ${ARGN}
                          ${FOLDER}/${source}
                  RESULT_VARIABLE result ERROR_VARIABLE text)
  if(result EQUAL 0)
    set(text "")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(expect_no_error source)
  errors_of(text ${source} ${ARGN})
  if(NOT text STREQUAL "")
    message(SEND_ERROR "${ARGN}: expected no error, found \"${text}\"")
  endif()
endfunction()

function(expect_error pattern source)
  errors_of(text ${source} ${ARGN})
  if(NOT text MATCHES "error:" OR NOT text MATCHES "${pattern}")
    message(SEND_ERROR "${ARGN}: expected \"${pattern}\", found \"${text}\"")
  endif()
endfunction()

set(advice "crochet cannot track this type: give it `void track\\(crochet::Tracker&\\)`")
expect_no_error(tracked.cc "-DTRACKED=std::vector<float>")
expect_error("${advice}" tracked.cc -DTRACKED=Opaque)
expect_error("${advice}" tracked.cc -DTRACKED=SavesOnly)
expect_error("${advice}" tracked.cc "-DTRACKED=std::span<const float>")
set(const_advice "crochet cannot track what is const.*`void track\\(crochet::Tracker&\\)` without const")
expect_error("${const_advice}" tracked.cc "-DTRACKED=const std::vector<float>")
expect_error("${const_advice}" tracked.cc "-DTRACKED=std::shared_ptr<const int>")
expect_error("cannot track a raw pointer" tracked.cc "-DTRACKED=float* const")
foreach(type ByMember ByFunction)
  expect_no_error(tracked.cc -DTRACKED=${type})
  expect_error("${const_advice}" tracked.cc -DTRACKED=${type} -DQUALIFIER=const)
endforeach()
expect_no_error(tracked.cc -DTRACKED=ConstView)
expect_no_error(tracked.cc -DTRACKED=TrackByValue)

# The members of a struct, if they are found.
expect_no_error(tracked.cc -DTRACKED=Listed)
foreach(type WithBase WithExplicit WithExplicitDefault TooMany)
  expect_error("${advice}.*at most 64" tracked.cc -DTRACKED=${type})
endforeach()
expect_error("std::mutex" tracked.cc -DTRACKED=WithMutex)
expect_error("cannot track a raw pointer" tracked.cc -DTRACKED=WithPointer)
expect_error("${const_advice}" tracked.cc -DTRACKED=WithConst)

# The compiler names each type, also where it is a part of others.
errors_of(text tracked.cc
          "-DTRACKED=std::tuple<std::unique_lock<std::mutex>, std::mutex, std::thread, std::any, \
std::function<int()>, std::weak_ptr<int>, std::priority_queue<int>, std::filesystem::path, \
std::string_view, long double, std::atomic<Opaque>, std::shared_ptr<const int>, \
std::unique_ptr<int[]>>")
foreach(type unique_lock<std::mutex mutex thread any function<int weak_ptr<int priority_queue<int
             filesystem path basic_string_view long.double atomic<Opaque const.int unique_ptr<int)
  if(NOT text MATCHES "TypeThatCannotBeTracked<[^\n]*${type}")
    message(SEND_ERROR "${type} is not refused: \"${text}\"")
  endif()
endforeach()
if(NOT text MATCHES "${advice}.*or leave it out if the program can make it again")
  message(SEND_ERROR "no advice: \"${text}\"")
endif()
foreach(type "std::map<std::string, std::vector<Opaque>>" "std::optional<Opaque>"
             "std::variant<int, Opaque>" "std::unique_ptr<Opaque>"
             "std::pair<std::array<Opaque, 2>, int>")
  errors_of(text tracked.cc "-DTRACKED=${type}")
  if(NOT text MATCHES "TypeThatCannotBeTracked<Opaque" OR NOT text MATCHES "${advice}")
    message(SEND_ERROR "${type}: expected Opaque to be refused, found \"${text}\"")
  endif()
endforeach()
set(pointer "crochet cannot track a raw pointer.*std::unique_ptr or std::shared_ptr")
expect_error("${pointer}" tracked.cc "-DTRACKED=std::vector<float*>")
set(order "crochet saves hashed containers in the order of their keys: give this key an operator<")
expect_no_error(tracked.cc "-DTRACKED=std::vector<Unordered>")
expect_error("${order}" tracked.cc "-DTRACKED=std::unordered_map<Unordered, int>")

# A struct that lists its parts may own them.
set(too_short "crochet cannot track a temporary: what is tracked must outlive the loop")
expect_no_error(tracked.cc "-DTRACKED=std::span<float>" -DTEMPORARY)
expect_no_error(tracked.cc "-DTRACKED=const std::span<float>")
expect_no_error(tracked.cc -DTRACKED=Parts)
expect_error("${too_short}" tracked.cc -DTRACKED=Parts -DTEMPORARY)
expect_error("${too_short}" tracked.cc "-DTRACKED=std::vector<float>" -DTEMPORARY)

# Valid statements, then invalid ones.
expect_no_error(stated.cc)

# Two names in two pairs of braces could be a list or a map.
set(one_pair "UseOnePairOfBracesForAListOrFetchesMap")
expect_error("${one_pair}" stated.cc "-DSTATEMENT=session.run({{\"loss\", \"accuracy\"}})")
expect_error("${one_pair}" stated.cc
             "-DSTATEMENT=session.run({{\"loss\", \"a\"}, {\"rate\", \"b\"}})")

# Could be two variables, or one under another key.
set(explicit_key "UseOnePairOfBracesOrSavedVariable")
expect_error("${explicit_key}" stated.cc "-DSTATEMENT=Saver({.var_list = {{\"v2\", \"v1\"}}})")
expect_error("${explicit_key}" stated.cc "-DSTATEMENT=Saver({.var_list = {{{\"v2\", \"v1\"}}}})")

# Dangling references.
expect_error("deleted" stated.cc "-DSTATEMENT=auto s = session.run(\"a\").tensor().flat<float>()")
expect_error("deleted" stated.cc "-DSTATEMENT=auto* p = session.run(\"a\").as_tensor()")
expect_error("deleted" stated.cc "-DSTATEMENT=internal::HookedSession hooked(session, {PlainHook()}, stop)")

# A named hook would be copied, and its results would be lost.
expect_error("static.assert.*std::make_shared<Hook>" stated.cc
             "-DSTATEMENT=HookList hooks = {named_hook}")
expect_error("static.assert.*std::make_shared<Hook>" stated.cc
             "-DSTATEMENT=Loop loop({.hooks = {named_hook}})")

# A misspelt option, or a value of another type, and options in another order than they are declared.
set(options_of_no_type "Misspelt option. Loop\\(LoopOptions{...}\\) gets its name reported")
expect_error("${options_of_no_type}" stated.cc
             "-DSTATEMENT=Loop loop({.checkpoint = {.dir = \"x\"}, .max_recoverys = 3})")
expect_error("${options_of_no_type}" stated.cc "-DSTATEMENT=Loop loop({.max_recoveries = \"3\"})")
expect_error("max_recoverys" stated.cc
             "-DSTATEMENT=Loop loop(LoopOptions{.checkpoint = {.dir = \"x\"}, .max_recoverys = 3})")
expect_error("dirr" stated.cc "-DSTATEMENT=Loop loop(LoopOptions{.checkpoint = {.dirr = \"x\"}})")
expect_error("designator order for field .*checkpoint|Werror,-Wreorder-init-list" stated.cc -Werror
             "-DSTATEMENT=Loop loop({.max_recoveries = 3, .checkpoint = {.dir = \"x\"}})")

# Misspelt options of a hook, and braces without any.
foreach(hook CheckpointSaver Evaluation GlobalStepWaiter LoggingTensor Profiler
             ProgressBar StepCounter StopAfter StopAtStep SummarySaver)
  expect_error("${hook}HookOptions& options.*Misspelt. Name the type|${hook}HookOptions options.*Misspelt. Name the type"
               stated.cc "-DSTATEMENT=${hook}Hook hook({.misspelt = 3})")
endforeach()
expect_error("misspelt" stated.cc "-DSTATEMENT=StopAtStepHook hook(StopAtStepHookOptions{.misspelt = 3})")
foreach(class Coordinator ProgressBarHook Saver StepCounterHook)
  expect_no_error(stated.cc "-DSTATEMENT=${class} object({})")
endforeach()

expect_error("session.run_step_fn\\(&Model::step_fn, model\\)" stated.cc
             "-DSTATEMENT=monitored.run_step_fn(&Model::step_fn)")
expect_error("a step function with one parameter, a StepContext&" stated.cc
             "-DSTATEMENT=monitored.run_step_fn([](int) {})")

# The meaning of a result must be known.
expect_no_error(stated.cc "-DSTATEMENT=training.run(returns_bool)")
expect_no_error(stated.cc "-DSTATEMENT=training.run(returns_action, returns_bool)")
set(result "the body of a loop returns nothing, a crochet::LoopAction, or a bool")
expect_error("${result}" stated.cc "-DSTATEMENT=training.run(returns_float)")
expect_error("${result}" stated.cc "-DSTATEMENT=training.run(returns_action, returns_float)")
expect_error("the body of a loop without arguments, or with a Step&" stated.cc
             "-DSTATEMENT=training.run([](int) {})")
