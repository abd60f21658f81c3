# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
# Python with TensorFlow: for the tests in tests/interop, and to find TensorFlow's C API.
set(CROCHET_PYTHON "" CACHE FILEPATH "Python with TensorFlow, for tests and the TensorFlow engine")

# The component `tensorflow` is built if its library is found (AUTO), always (ON) or never (OFF).
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
  message(STATUS "engines/tensorflow is skipped: CROCHET_TENSORFLOW is ${CROCHET_TENSORFLOW}, and no library was found or requested")
endif()

# A library that makes crochet faster is used if it is found (AUTO), always (ON) or never (OFF).
set(CROCHET_ISAL "AUTO" CACHE STRING "Compute checksums with ISA-L: AUTO, ON or OFF")
set(CROCHET_URING "AUTO" CACHE STRING "Write and read large files with liburing: AUTO, ON or OFF")
set_property(CACHE CROCHET_ISAL CROCHET_URING PROPERTY STRINGS AUTO ON OFF)

set(CROCHET_WITH_TENSORFLOW ${TensorFlowC_FOUND})
include(CrochetLibraries)
if(crochet_missing_libraries)
  message(FATAL_ERROR "not found: ${crochet_missing_libraries}; scripts/install-dependencies installs them")
endif()

if(CROCHET_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(leveldb REQUIRED)
endif()
if(CROCHET_BUILD_EXAMPLES OR CROCHET_BUILD_TESTS)
  find_package(Eigen3 3.4 REQUIRED)
endif()
