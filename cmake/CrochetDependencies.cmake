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

if(CROCHET_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(CROCHET_BUILD_EXAMPLES OR CROCHET_BUILD_TESTS)
  find_package(Eigen3 3.4 REQUIRED)
endif()
