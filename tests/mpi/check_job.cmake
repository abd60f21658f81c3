# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs a job, `command`, and checks that its output matches each of the expressions in `expected`,
# separated by "&". Removes the directory `fresh` before, if it is set.
cmake_minimum_required(VERSION 3.25)
if(fresh)
  file(REMOVE_RECURSE ${fresh})
endif()
separate_arguments(command UNIX_COMMAND "${command}")
execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE output
                ERROR_VARIABLE errors TIMEOUT 100)
string(REPLACE "&" ";" expected "${expected}")
foreach(expression IN LISTS expected)
  if(NOT "${output}${errors}" MATCHES "${expression}")
    message(FATAL_ERROR "found no \"${expression}\" (${result}) in: ${output}${errors}")
  endif()
endforeach()
