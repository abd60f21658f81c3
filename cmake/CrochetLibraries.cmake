# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds the libraries that crochet links; docs/architecture.md has the purpose of each.
# Missing ones are listed in crochet_missing_libraries; crochet_linked_libraries are those without
# a CMake package of their own that a program must link.
set(crochet_missing_libraries)
foreach(crochet_needed Threads fmt leveldb Snappy "nlohmann_json 3.11")
  separate_arguments(crochet_package UNIX_COMMAND "${crochet_needed}")
  find_package(${crochet_package} QUIET)
  list(GET crochet_package 0 crochet_package)
  if(NOT ${crochet_package}_FOUND)
    list(APPEND crochet_missing_libraries "${crochet_needed}")
  endif()
endforeach()

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

crochet_find_library(crochet_isal isa-l/crc.h isal)
crochet_find_library(crochet_uring liburing.h uring)
set(crochet_linked_libraries isal uring)
crochet_find_library(crochet_protozero protozero/pbf_reader.hpp)
crochet_find_library(crochet_dlpack dlpack/dlpack.h)

# The libraries of the checkpoint format. TensorFlow's libraries export their own Snappy: in one process
# with a shared one, calls would mix both. So with TensorFlow, ours is linked statically and hidden.
if(NOT TARGET crochet_leveldb)
  add_library(crochet_leveldb INTERFACE IMPORTED GLOBAL)
  target_link_libraries(crochet_leveldb INTERFACE leveldb::leveldb Snappy::snappy)
  if(CROCHET_WITH_TENSORFLOW)
    find_library(LEVELDB_STATIC_LIBRARY libleveldb.a)
    find_library(SNAPPY_STATIC_LIBRARY libsnappy.a)
    if(LEVELDB_STATIC_LIBRARY AND SNAPPY_STATIC_LIBRARY)
      set_property(TARGET crochet_leveldb PROPERTY INTERFACE_LINK_LIBRARIES "${LEVELDB_STATIC_LIBRARY}"
                                                   "${SNAPPY_STATIC_LIBRARY}" Threads::Threads)
      target_link_options(crochet_leveldb INTERFACE
                          "LINKER:--exclude-libs,libleveldb.a:libsnappy.a")
    else()
      message(WARNING "no static LevelDB and Snappy: in programs that link crochet::tensorflow, "
                      "TensorFlow's Snappy and the system's get mixed")
    endif()
  endif()
endif()
