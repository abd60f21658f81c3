# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Compares every include of a header of ours with the table of layers:
#
#   cmake -D ROOT=<folder with crochet/ and tools/> -P layering.cmake
#
# Prints a line for each include that the table does not allow, and then fails.
cmake_minimum_required(VERSION 3.25)

# folder | the layers it may include besides itself. "." stands for the headers
# that lie in crochet/ itself, "*" for every layer of the core. A folder counts
# with what is below it, unless that has a line of its own. Tests may include
# testing and the headers of "." besides.
set(table
    "base               |"
    "io                 | base"
    "tensor             | base"
    "session            | tensor base"
    "checkpoint         | session tensor io base"
    "summary            | tensor io base"
    "monitor            | checkpoint session tensor io base"
    "hooks              | monitor summary checkpoint session tensor io base"
    "engines/local      | session tensor io base"
    "engines/tensorflow | session tensor io base"
    "run                | hooks engines/local monitor summary checkpoint session tensor io base"
    "engines/libtorch   | run hooks engines/local monitor summary checkpoint session tensor io base"
    "testing            | *"
    "tools              | checkpoint summary session tensor io base"
    ".                  | * . engines/tensorflow engines/libtorch")
set(core base io tensor session checkpoint summary monitor hooks engines/local run)

foreach(line IN LISTS table)
  string(REGEX MATCH "^([^ ]+) *\\|(.*)$" matched "${line}")
  set(folder "${CMAKE_MATCH_1}")
  string(REGEX MATCHALL "[^ ]+" allowed "${CMAKE_MATCH_2}")
  list(TRANSFORM allowed REPLACE "^\\*$" "${core}")
  list(APPEND folders "${folder}")
  set("allowed_${folder}" "${folder};${allowed}")
endforeach()

# The line of the table for a path below crochet/, "tools/..." for a tool; empty if none has it.
function(find_folder path out)
  cmake_path(GET path PARENT_PATH folder)
  if(folder STREQUAL "")
    set(folder ".")
  endif()
  while(NOT folder IN_LIST folders AND NOT folder STREQUAL "")
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

# Appends to `violations` what of one file the table does not allow.
function(check_file file path)
  find_folder("${path}" folder)
  if(folder STREQUAL "")
    list(APPEND violations "${file}: its folder is not in the table")
  endif()
  set(allowed "${allowed_${folder}}")
  if(path MATCHES "_test\\.cc$")
    list(APPEND allowed testing .)
  endif()
  file(STRINGS "${ROOT}/${file}" includes REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]crochet/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE ".*[\"<]crochet/([^\">]*)[\">].*" "\\1" header "${include}")
    find_folder("${header}" included)
    if(NOT included IN_LIST allowed)
      list(APPEND violations "${file}: ${folder} may not include crochet/${header}")
    endif()
  endforeach()
  set(violations "${violations}" PARENT_SCOPE)
endfunction()

set(violations "")
file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/crochet/*.h" "${ROOT}/crochet/*.cc"
     "${ROOT}/tools/*.h" "${ROOT}/tools/*.cc")
foreach(file IN LISTS files)
  string(REGEX REPLACE "^crochet/" "" path "${file}")
  check_file("${file}" "${path}")
endforeach()

list(LENGTH files num_files)
if(num_files EQUAL 0)
  message(FATAL_ERROR "${ROOT}: no source files")
endif()
if(violations)
  list(JOIN violations "\n" text)
  message("${text}")
  message(FATAL_ERROR "includes that the table of layers does not allow")
endif()
message(STATUS "${num_files} files include what their layers may")
