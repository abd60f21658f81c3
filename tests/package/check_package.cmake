# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${scratch})
run(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/first)
file(RENAME ${scratch}/first ${scratch}/moved)

# Headers for crochet's own tests must not be installed.
file(GLOB_RECURSE surplus ${scratch}/moved/include/crochet/test_*.h
     ${scratch}/moved/include/crochet/raw_bundle.h ${scratch}/moved/include/crochet/scripted_calls.h)
if(surplus)
  message(FATAL_ERROR "installed, but only for tests: ${surplus}")
endif()

set(configure ${CMAKE_COMMAND} -S ${consumer} -G Ninja -D CMAKE_PREFIX_PATH=${scratch}/moved -D
    CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_FLAGS=${flags})
set(with ${configure} -B ${scratch}/build -D WITH_TENSORFLOW=${with_tensorflow} -D
    CROCHET_PYTHON=${python} -D TENSORFLOW_ROOT=${root})
run(${with})
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/core ${scratch}/checkpoints)
run(${scratch}/moved/bin/crochet verify ${scratch}/checkpoints)
if(with_tensorflow)
  run(${scratch}/build/with_tensorflow)
endif()

# A component that does not exist is an error that names it.
execute_process(
  COMMAND ${configure} -B ${scratch}/unknown -D COMPONENT=caffe
  RESULT_VARIABLE result
  OUTPUT_QUIET
  ERROR_VARIABLE text)
if(result EQUAL 0 OR NOT text MATCHES "caffe")
  message(FATAL_ERROR "a component that does not exist: ${result}: ${text}")
endif()
