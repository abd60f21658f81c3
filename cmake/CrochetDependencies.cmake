# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
# Whether the optional components are built unless a build says so: AUTO if their library is found, but
# OFF inside another project, which then asks for what it wants.
set(crochet_component AUTO)
if(NOT PROJECT_IS_TOP_LEVEL)
  set(crochet_component OFF)
endif()

# Python with TensorFlow: for the tests in tests/interop, and to find TensorFlow's C API.
set(CROCHET_PYTHON "" CACHE FILEPATH "Python with TensorFlow, for tests and the TensorFlow engine")

# The component `tensorflow` is built if its library is found (AUTO), always (ON) or never (OFF).
set(CROCHET_TENSORFLOW ${crochet_component} CACHE STRING "Build the TensorFlow engine: AUTO, ON or OFF")
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

# The component `mpi` is built if MPI's library for C is found (AUTO), always (ON) or never (OFF).
set(CROCHET_MPI ${crochet_component} CACHE STRING "Build the component for MPI: AUTO, ON or OFF")
set_property(CACHE CROCHET_MPI PROPERTY STRINGS AUTO ON OFF)
if(CROCHET_MPI)
  # What FindMPI asks a compiler for C.
  include(CheckLanguage)
  check_language(C)
  if(CMAKE_C_COMPILER)
    enable_language(C)
    if(CROCHET_MPI STREQUAL "AUTO")
      find_package(MPI QUIET COMPONENTS C)
    else()
      find_package(MPI REQUIRED COMPONENTS C)
    endif()
  elseif(NOT CROCHET_MPI STREQUAL "AUTO")
    message(FATAL_ERROR "CROCHET_MPI is ${CROCHET_MPI}, and no compiler for C was found")
  endif()
endif()
if(MPI_C_FOUND)
  message(STATUS "MPI ${MPI_C_VERSION}: ${MPI_C_LIBRARIES}")
else()
  message(STATUS "crochet/mpi is skipped: CROCHET_MPI is ${CROCHET_MPI}, and no MPI for C (libopenmpi-dev, openmpi-bin) was found or requested")
endif()

# The same for the component `libtorch`.
set(CROCHET_LIBTORCH ${crochet_component} CACHE STRING "Build the component for LibTorch: AUTO, ON or OFF")
set_property(CACHE CROCHET_LIBTORCH PROPERTY STRINGS AUTO ON OFF)
if(CROCHET_LIBTORCH STREQUAL "AUTO")
  find_package(LibTorch QUIET)
elseif(CROCHET_LIBTORCH)
  find_package(LibTorch REQUIRED)
endif()
if(LibTorch_FOUND)
  message(STATUS "LibTorch ${LibTorch_VERSION}: ${LibTorch_CPU_LIBRARY}")
else()
  message(STATUS "libtorch is skipped: CROCHET_LIBTORCH is ${CROCHET_LIBTORCH}, and no LibTorch was found or requested; install libtorch-dev, or set LIBTORCH_ROOT to an unpacked one")
endif()

# The same for the component `cloud`, which asks metadata servers by HTTP.
set(CROCHET_CLOUD ${crochet_component} CACHE STRING "Build the component for clouds: AUTO, ON or OFF")
set_property(CACHE CROCHET_CLOUD PROPERTY STRINGS AUTO ON OFF)
if(CROCHET_CLOUD STREQUAL "AUTO")
  find_package(CURL 7.85 QUIET)
elseif(CROCHET_CLOUD)
  find_package(CURL 7.85 REQUIRED)
endif()
if(CURL_FOUND)
  message(STATUS "libcurl ${CURL_VERSION_STRING}: ${CURL_LIBRARIES}")
else()
  message(STATUS "hooks/guards/cloud is skipped: CROCHET_CLOUD is ${CROCHET_CLOUD}, and no libcurl (libcurl4-openssl-dev) was found or requested")
endif()

# A library that makes crochet faster is used if it is found (AUTO), always (ON) or never (OFF).
set(CROCHET_ISAL "AUTO" CACHE STRING "Compute checksums with ISA-L: AUTO, ON or OFF")
set(CROCHET_URING "AUTO" CACHE STRING "Write and read large files with liburing: AUTO, ON or OFF")
set_property(CACHE CROCHET_ISAL CROCHET_URING PROPERTY STRINGS AUTO ON OFF)

set(CROCHET_WITH_TENSORFLOW ${TensorFlowC_FOUND})
set(CROCHET_WITH_MPI ${MPI_C_FOUND})
set(CROCHET_WITH_LIBTORCH ${LibTorch_FOUND})
set(CROCHET_WITH_CLOUD ${CURL_FOUND})
include(CrochetLibraries)
if(crochet_missing_libraries)
  message(FATAL_ERROR "not found: ${crochet_missing_libraries}; scripts/install-dependencies installs them")
endif()

if(CROCHET_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(leveldb REQUIRED)
  # Whose types are tracked; tested where they are found.
  find_path(CROCHET_CEREAL_INCLUDES cereal/cereal.hpp)
  find_path(CROCHET_XTENSOR_INCLUDES xtensor/xarray.hpp)
  find_path(CROCHET_ARMADILLO_INCLUDES armadillo)
  find_library(CROCHET_ARMADILLO_LIBRARY armadillo)
endif()
if(CROCHET_BUILD_EXAMPLES OR CROCHET_BUILD_TESTS)
  find_package(Eigen3 3.4 REQUIRED)
endif()
