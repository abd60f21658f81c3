# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# For a static object with a destructor the compiler registers a call at the end of the process; for
# a thread_local one, at the end of its thread. The library has none, so that threads that outlive
# main(), and static objects of programs, can use it until the very end: crochet/base/internal/immortal.h.
#
#   cmake -D NM=<nm> -D FILES=<libraries and object files> -P statics.cmake
#
# Prints a line for each object file that registers a destructor, and then fails.
cmake_minimum_required(VERSION 3.25)

if(NOT FILES)
  message(FATAL_ERROR "no files to check")
endif()
set(violations "")
foreach(file IN LISTS FILES)
  execute_process(
    COMMAND ${NM} -A --undefined-only ${file}
    RESULT_VARIABLE result
    OUTPUT_VARIABLE symbols
    ERROR_VARIABLE errors)
  if(NOT result EQUAL 0 OR symbols STREQUAL "")
    message(FATAL_ERROR "${file}: cannot be read: ${errors}")
  endif()
  string(REGEX MATCHALL "[^\n]* (__cxa_atexit|__cxa_thread_atexit|atexit|on_exit)(@[^\n]*)?(\n|$)"
         found "${symbols}")
  list(APPEND violations ${found})
endforeach()

list(LENGTH FILES num_files)
if(violations)
  list(JOIN violations "" text)
  message("${text}")
  message(FATAL_ERROR "static objects with a destructor: make them Immortal")
endif()
message(STATUS "${num_files} files register no destructors")
