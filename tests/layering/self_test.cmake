# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# The check must report all violations planted in fixture/ and nothing else.
cmake_minimum_required(VERSION 3.25)

set(expected
    "crochet/base/upwards.h: base may not include crochet/io/file_system.h"
    "crochet/checkpoint/format/upwards.h: checkpoint/format may not include crochet/checkpoint/bundle/internal/bundle_index.h"
    "crochet/checkpoint/nowhere/unknown.cc: its folder is not in the table"
    "crochet/checkpoint/safetensors/sideways.cc: checkpoint/safetensors may not include crochet/checkpoint/bundle/internal/bundle_index.h"
    "crochet/engines/local/sideways.cc: engines/local may not include crochet/training/scaffold.h"
    "crochet/engines/tensorflow/upwards.cc: engines/tensorflow may not include crochet/engines/tensorflow/builder/graph_builder.h"
    "crochet/hooks/angle_brackets.cc: hooks may not include crochet/loop/loop.h"
    "crochet/io/opens.cc: only crochet/io/internal/open_file.cc may call what it calls"
    "crochet/io/opens.cc: only crochet/io/internal/posix_file_system.cc may call what it calls"
    "crochet/io/uses_testing.cc: io may not include crochet/testing/fake_clock.h"
    "crochet/io/uses_umbrella.h: io may not include crochet/crochet.h"
    "crochet/io/waits_test.cc: only tests/support/wait_until.h may call what it calls"
    "crochet/io/wrong_test.cc: io may not include crochet/session/graph.h"
    "crochet/nowhere/unknown.h: its folder is not in the table"
    "crochet/summary/unknown_layer.cc: summary may not include crochet/nowhere/unknown.h"
    "tools/casts.cc: only crochet/base/internal/dynamic_type.h may call what it calls"
    "tools/own_parser.cc: only crochet/base/internal/parse_json.cc may call what it calls"
    "tools/removes.cc: only crochet/checkpoint/directory/internal/checkpoint_directory.cc may call what it calls"
    "tools/too_high.cc: tools may not include crochet/loop/loop.h")

execute_process(
  COMMAND ${CMAKE_COMMAND} -D ROOT=${CMAKE_CURRENT_LIST_DIR}/fixture -P
          ${CMAKE_CURRENT_LIST_DIR}/layering.cmake
  RESULT_VARIABLE result
  ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "the check reported no planted violation")
endif()
string(REGEX MATCHALL "[^\n]*: [a-z/]+ may not include[^\n]*|[^\n]*not in the table|[^\n]*: only [^\n]*" found "${output}")
list(SORT found)
if(NOT found STREQUAL expected)
  list(JOIN found "\n  " found_text)
  list(JOIN expected "\n  " expected_text)
  message(FATAL_ERROR "found\n  ${found_text}\nexpected\n  ${expected_text}")
endif()

execute_process(
  COMMAND ${CMAKE_COMMAND} -D ROOT=${CMAKE_CURRENT_LIST_DIR}/no_such_folder -P
          ${CMAKE_CURRENT_LIST_DIR}/layering.cmake
  RESULT_VARIABLE result
  ERROR_QUIET)
if(result EQUAL 0)
  message(FATAL_ERROR "the check passed without any files")
endif()

# The map of a page: refused if it is another, missing, and right once it is written.
set(tree "${CMAKE_CURRENT_BINARY_DIR}/layering_map")
file(REMOVE_RECURSE "${tree}")
file(WRITE "${tree}/crochet/base/empty.h" "")
function(expect_map options expected)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -D ROOT=${tree} ${options} -P ${CMAKE_CURRENT_LIST_DIR}/layering.cmake
    OUTPUT_QUIET
    ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "found\n  ${output}\nexpected\n  ${expected}")
  endif()
endfunction()
file(WRITE "${tree}/docs/architecture.md" "before\n")
expect_map("" "has no map")
file(WRITE "${tree}/docs/architecture.md" "before\n\n| folder | what it is |\n| a |\n\nafter\n")
expect_map("" "has another map: write it")
expect_map("-D;WRITE=ON" "^$")
expect_map("" "^$")
file(READ "${tree}/docs/architecture.md" page)
if(NOT page MATCHES "^before\n\n.*`io` \\| [^|]* \\| base \\|.*\n\nafter\n$" OR page MATCHES "a \\|\n\n")
  message(FATAL_ERROR "the map was written wrongly:\n${page}")
endif()
file(REMOVE_RECURSE "${tree}")
