# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Compiles tracked.cc for types that can be tracked, which must go well, and for types that
# cannot: they must fail, and the first error must say what to do.
#
#   cmake -D COMPILER=<c++> -D INCLUDES=<folders> -D SOURCE=<tracked.cc> -P refusals.cmake
cmake_minimum_required(VERSION 3.25)
list(TRANSFORM INCLUDES PREPEND "-I")

# Puts the first error into `out`; "" if there is none.
function(first_error_of out)
  execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${INCLUDES} ${ARGN} ${SOURCE}
                  RESULT_VARIABLE result ERROR_VARIABLE text)
  string(REGEX MATCH "error:[^\n]*" error "${text}")
  if(NOT result EQUAL 0 AND error STREQUAL "")
    set(error "${result}: ${text}")
  endif()
  set(${out} "${error}" PARENT_SCOPE)
endfunction()

function(expect_error pattern)
  first_error_of(error ${ARGN})
  if(NOT error MATCHES "${pattern}")
    message(SEND_ERROR "${ARGN}: expected \"${pattern}\", found \"${error}\"")
  endif()
endfunction()

set(none "^$")
set(advice "crochet cannot track this type: give it `void track\\(crochet::Tracker&\\)`")
expect_error("${none}" "-DTRACKED=std::vector<float>")
expect_error("${advice}" -DTRACKED=Opaque)
expect_error("${advice}" -DTRACKED=SavesOnly)
expect_error("${advice}" "-DTRACKED=const std::vector<float>")
expect_error("${advice}" "-DTRACKED=std::vector<std::string>")
expect_error("${advice}" "-DTRACKED=std::span<const float>")

set(too_short "crochet cannot track a temporary: what is tracked must outlive the loop")
expect_error("${none}" "-DTRACKED=std::span<float>" -DTEMPORARY)
expect_error("${none}" -DTRACKED=Parts -DTEMPORARY)
expect_error("${too_short}" "-DTRACKED=std::vector<float>" -DTEMPORARY)
