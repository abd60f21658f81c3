# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs a job of 4 processes whose last one gets lost, and checks that its output matches each of the
# expressions in `expected`, separated by "&", and that no process reports success.
cmake_minimum_required(VERSION 3.25)
separate_arguments(command UNIX_COMMAND "${mpiexec}")
execute_process(COMMAND ${command} ${program} ${how} RESULT_VARIABLE result OUTPUT_VARIABLE output
                ERROR_VARIABLE errors TIMEOUT 100)
if(output MATCHES "no error")
  message(FATAL_ERROR "a rank noticed nothing: ${output}${errors}")
endif()
string(REPLACE "&" ";" expected "${expected}")
foreach(expression IN LISTS expected)
  if(NOT "${output}${errors}" MATCHES "${expression}")
    message(FATAL_ERROR "found no \"${expression}\" (${result}) in: ${output}${errors}")
  endif()
endforeach()
