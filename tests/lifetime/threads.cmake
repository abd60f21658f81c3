# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Only crochet/base/internal/thread.h starts threads; it handles a lack of threads and forked processes. Only
# crochet/base/internal/process_owner.cc registers a fork handler.
#
#   cmake -D ROOT=<folder with crochet/> -P threads.cmake
#
# Prints a line for each other location, and then fails. Tests may start threads freely.
cmake_minimum_required(VERSION 3.25)

set(pattern "std::jthread|std::async|std::thread[^:]|pthread_create|thrd_create|pthread_atfork")
set(allowed crochet/base/internal/thread.h crochet/base/internal/thread.cc crochet/base/internal/process_owner.cc)

set(violations "")
file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/crochet/*.h" "${ROOT}/crochet/*.cc"
     "${ROOT}/tools/*.h" "${ROOT}/tools/*.cc")
list(FILTER files EXCLUDE REGEX "_test\\.cc$|^crochet/testing/")
list(LENGTH files num_files)
if(num_files EQUAL 0)
  message(FATAL_ERROR "${ROOT}: no source files")
endif()
list(REMOVE_ITEM files ${allowed})
foreach(file IN LISTS files)
  file(READ "${ROOT}/${file}" text)
  if(NOT text MATCHES "${pattern}")
    continue()
  endif()
  string(REPLACE ";" "," text "${text}")
  string(REPLACE "[" "(" text "${text}")
  string(REPLACE "]" ")" text "${text}")
  string(REPLACE "\n" ";" lines "${text}")
  set(number 0)
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    # Comments do not count.
    string(REGEX REPLACE "//.*" "" code "${line}")
    if(code MATCHES "${pattern}")
      list(APPEND violations "${file}:${number}: ${code}")
    endif()
  endforeach()
endforeach()

if(violations)
  list(LENGTH violations num_violations)
  list(JOIN violations "\n" text)
  message("${text}")
  message(FATAL_ERROR "${num_violations} lines start threads without crochet/base/internal/thread.h")
endif()
message(STATUS "${num_files} files start no threads themselves")
