# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds the libraries that crochet links; docs/architecture.md has the purpose of each.
# Missing ones are listed in crochet_missing_libraries; crochet_linked_libraries are those without
# a CMake package of their own that a program must link.
set(crochet_missing_libraries)
foreach(crochet_needed Threads fmt "nlohmann_json 3.11")
  separate_arguments(crochet_package UNIX_COMMAND "${crochet_needed}")
  find_package(${crochet_package} QUIET)
  list(GET crochet_package 0 crochet_package)
  if(NOT ${crochet_package}_FOUND)
    list(APPEND crochet_missing_libraries "${crochet_needed}")
  endif()
endforeach()

# Debian has {fmt} as a shared library only: programs that are linked with -static need it compiled
# into crochet.
option(CROCHET_FMT_HEADER_ONLY "Compile {fmt} into crochet instead of linking its library" OFF)
set(crochet_fmt fmt::fmt)
if(CROCHET_FMT_HEADER_ONLY)
  set(crochet_fmt fmt::fmt-header-only)
endif()

# crochet_find_library(<name> <header> [<library>]): a target for a library without a CMake package.
function(crochet_find_library name header)
  string(TOUPPER ${name} variable)
  find_path(${variable}_INCLUDE_DIR ${header})
  set(found ${variable}_INCLUDE_DIR)
  if(ARGC GREATER 2)
    find_library(${variable}_LIBRARY ${ARGV2})
    list(APPEND found ${variable}_LIBRARY)
  endif()
  mark_as_advanced(${found})
  foreach(part IN LISTS found)
    if(NOT ${part})
      list(APPEND crochet_missing_libraries ${header})
      set(crochet_missing_libraries ${crochet_missing_libraries} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  if(NOT TARGET ${name})
    add_library(${name} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${name} SYSTEM INTERFACE ${${variable}_INCLUDE_DIR})
    target_link_libraries(${name} INTERFACE ${${variable}_LIBRARY})
  endif()
endfunction()

# crochet_find_optional(<name> <header>): the library <name>, unless CROCHET_<NAME> is OFF. It may be
# missing if that is AUTO. It is used if there is a target crochet_<name>.
macro(crochet_find_optional name header)
  string(TOUPPER CROCHET_${name} crochet_option)
  if(${crochet_option})
    set(crochet_missing_before ${crochet_missing_libraries})
    crochet_find_library(crochet_${name} ${header} ${name})
    if(${crochet_option} STREQUAL "AUTO")
      set(crochet_missing_libraries ${crochet_missing_before})
    endif()
  endif()
  if(TARGET crochet_${name})
    list(APPEND crochet_linked_libraries ${name})
    message(STATUS "${name} is used")
  else()
    message(STATUS "${name} is not used: ${crochet_option} is ${${crochet_option}}, and it was not found or requested")
  endif()
endmacro()

set(crochet_linked_libraries)
crochet_find_optional(isal isa-l/crc.h)
crochet_find_optional(uring liburing.h)
crochet_find_library(crochet_z zlib.h z)
list(APPEND crochet_linked_libraries z)
crochet_find_library(crochet_protozero protozero/pbf_reader.hpp)
crochet_find_library(crochet_dlpack dlpack/dlpack.h)
crochet_find_library(crochet_xxhash xxhash.h)
