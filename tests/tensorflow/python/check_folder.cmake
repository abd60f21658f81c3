# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Lets the project in project/ find TensorFlow from a working directory with a module named like one
# of Python's library: it must not be run.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${scratch})
set(folder ${scratch}/folder)
foreach(module importlib/__init__ importlib/util tensorflow/__init__)
  file(WRITE ${folder}/${module}.py "open('${scratch}/ran', 'w')\nfind_spec = lambda name: None\n")
endforeach()
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${scratch}/build -G Ninja -D
          CMAKE_CXX_COMPILER=${compiler} -D MODULES=${source}/cmake -D CROCHET_PYTHON=${python} -D
          NOT_IN=${folder}
  WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS ${scratch}/ran)
  message(FATAL_ERROR "a module of the working directory was run")
endif()
