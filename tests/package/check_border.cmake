# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks the border of an installed crochet:
#
#   cmake -D INCLUDE=<prefix>/include [-D LIBRARY=<libcrochet.so>] -P check_border.cmake
#
# The headers include only each other, and neither {fmt} nor the standard headers that cost most.
# Each class and function that they declare is exported. A shared library exports those alone.
cmake_minimum_required(VERSION 3.25)

set(violations)
# Headers for libraries that crochet itself does not ask for.
set(adapters "/(armadillo|cereal|eigen|kokkos|mdspan|opencv|xtensor|fmt|dlpack|[a-z_]*_contract)[.]h$")

file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/crochet/*.h)
if(NOT headers)
  message(FATAL_ERROR "${INCLUDE}: no headers")
endif()
foreach(header IN LISTS headers)
  file(STRINGS ${INCLUDE}/${header} includes REGEX "^#include")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include [\"<]([^\">]*)[\">].*" "\\1" included "${include}")
    if(included MATCHES "^crochet/" AND NOT EXISTS ${INCLUDE}/${included})
      list(APPEND violations "${header}: includes ${included}, which is not installed")
    endif()
    if(included MATCHES "^(fmt/.*|cmath|iostream|random|ranges|regex)$" AND NOT header MATCHES "${adapters}")
      list(APPEND violations "${header}: includes ${included}")
    endif()
  endforeach()

  # Declarations begin in the first column. Templates are exported if they say so; aggregates have
  # no functions in the library.
  file(READ ${INCLUDE}/${header} text)
  string(REPLACE ";" "@" text "${text}")  # A semicolon would end an element of a list.
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\n(template|requires)[^\n]*\n([^\n]+[>)&|]\n)*[^\n]*" "\n" text "${text}")
  string(REGEX MATCHALL "\nclass [A-Za-z_:]+( final)?( :[^@{]*)? {" classes "${text}")
  foreach(class IN LISTS classes)
    string(STRIP "${class}" class)
    list(APPEND violations "${header}: not exported: ${class}")
  endforeach()
  string(REGEX MATCHALL "\n[a-z][A-Za-z0-9_:<>*&, ]* [*&]?[a-z][a-z0-9_]*\\([^@{}]*\\)( noexcept)?@"
               functions "${text}")
  foreach(function IN LISTS functions)
    string(STRIP "${function}" function)
    if(NOT function MATCHES "^(inline|using|friend|return|static|constexpr) ")
      list(APPEND violations "${header}: not exported: ${function}")
    endif()
  endforeach()
endforeach()

if(LIBRARY)
  execute_process(COMMAND nm --dynamic --defined-only --demangle ${LIBRARY} OUTPUT_VARIABLE symbols
                          COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
  list(LENGTH symbols num_symbols)
  # Those for C: all that c.h declares, and no other.
  set(for_c)
  if(LIBRARY MATCHES "/libcrochet[.]so")
    file(READ ${INCLUDE}/crochet/c.h text)
    string(REGEX MATCHALL "[ *]crochet_[a-z_]+[(]" for_c "${text}")
    list(TRANSFORM for_c REPLACE "[ *(]" "")
    list(REMOVE_DUPLICATES for_c)
  endif()
  set(missing ${for_c})
  foreach(symbol IN LISTS symbols)
    string(REGEX REPLACE "^[0-9a-f]* ([A-Za-z]) " "" name "${symbol}")
    if(name IN_LIST for_c)
      list(REMOVE_ITEM missing ${name})
      continue()
    endif()
    if(NOT name MATCHES "crochet::v0::" OR name MATCHES "fmt::|nlohmann::|protozero::")
      list(APPEND violations "${LIBRARY}: exports ${name}")
    endif()
  endforeach()
  foreach(name IN LISTS missing)
    list(APPEND violations "${LIBRARY}: does not export ${name}")
  endforeach()
endif()

if(violations)
  list(JOIN violations "\n" text)
  message("${text}")
  message(FATAL_ERROR "the border is open")
endif()
list(LENGTH headers num_headers)
message(STATUS "${num_headers} headers, ${num_symbols} exported symbols")
