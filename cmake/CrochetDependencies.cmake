# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
# What each one is for stands in docs/architecture.md; scripts/install-dependencies
# has the Debian packages.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(leveldb REQUIRED)
find_package(Snappy REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)

find_path(ISAL_INCLUDE_DIR isa-l/crc.h REQUIRED)
find_library(ISAL_LIBRARY isal REQUIRED)
add_library(crochet_isal INTERFACE)
target_include_directories(crochet_isal SYSTEM INTERFACE ${ISAL_INCLUDE_DIR})
target_link_libraries(crochet_isal INTERFACE ${ISAL_LIBRARY})

find_path(URING_INCLUDE_DIR liburing.h REQUIRED)
find_library(URING_LIBRARY uring REQUIRED)
add_library(crochet_uring INTERFACE)
target_include_directories(crochet_uring SYSTEM INTERFACE ${URING_INCLUDE_DIR})
target_link_libraries(crochet_uring INTERFACE ${URING_LIBRARY})

find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)
add_library(crochet_protozero INTERFACE)
target_include_directories(crochet_protozero SYSTEM INTERFACE ${PROTOZERO_INCLUDE_DIR})

find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h REQUIRED)
add_library(crochet_dlpack INTERFACE)
target_include_directories(crochet_dlpack SYSTEM INTERFACE ${DLPACK_INCLUDE_DIR})

# Python with TensorFlow: for the tests in tests/interop, and where TensorFlow's C API is found.
set(CROCHET_PYTHON "" CACHE FILEPATH "Python with TensorFlow, for tests and the TensorFlow engine")

# The component `tensorflow` is built if its library is there, or must be (ON), or not at all (OFF).
set(CROCHET_TENSORFLOW "AUTO" CACHE STRING "Build the TensorFlow engine: AUTO, ON or OFF")
set_property(CACHE CROCHET_TENSORFLOW PROPERTY STRINGS AUTO ON OFF)
if(CROCHET_TENSORFLOW STREQUAL "AUTO")
  find_package(TensorFlowC QUIET)
elseif(CROCHET_TENSORFLOW)
  find_package(TensorFlowC REQUIRED)
endif()
if(TensorFlowC_FOUND)
  message(STATUS "TensorFlow's C API: ${TensorFlowC_LIBRARY}")
else()
  message(STATUS "engines/tensorflow is left out: CROCHET_TENSORFLOW is ${CROCHET_TENSORFLOW}, and no library was found or wanted")
endif()

# What checkpoints are made of. TensorFlow's libraries export a Snappy of their own: in one process with
# a shared one each would call half of the other's. So beside TensorFlow ours is linked in, hidden.
add_library(crochet_leveldb INTERFACE)
target_link_libraries(crochet_leveldb INTERFACE leveldb::leveldb Snappy::snappy)
if(TensorFlowC_FOUND)
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

if(CROCHET_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(CROCHET_BUILD_EXAMPLES OR CROCHET_BUILD_TESTS)
  find_package(Eigen3 3.4 REQUIRED)
endif()
