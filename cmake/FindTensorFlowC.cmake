# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds TensorFlow's C API: in the wheel of a Python that has `tensorflow-cpu` or `tensorflow`, or
# in an unpacked `libtensorflow` archive.
#
#   TENSORFLOW_ROOT   the folder of the archive, or of the wheel's package (".../tensorflow")
#   CROCHET_PYTHON    without TENSORFLOW_ROOT: a Python that is asked for the path of its wheel
#
# Defines the target TensorFlowC::TensorFlowC, TensorFlowC_FOUND, TensorFlowC_LIBRARY,
# TensorFlowC_LIBRARY_DIR, the folder of the libraries at run time, and TensorFlowC_VERSION, from the
# wheel's metadata or the file's name, "libtensorflow.so.2.18.0"; otherwise unset. TF_Version()
# always returns it.
set(TENSORFLOW_ROOT "" CACHE PATH "TensorFlow's C API: an archive's or a wheel's folder")

set(tensorflow_root "${TENSORFLOW_ROOT}")
if(NOT tensorflow_root AND CROCHET_PYTHON)
  # Found, not imported, as importing takes seconds. With -c Python would search for modules in the
  # working directory first, which may be untrusted.
  execute_process(
    COMMAND "${CROCHET_PYTHON}" -c "import sys
sys.path = [folder for folder in sys.path if folder]
from importlib.util import find_spec
spec = find_spec('tensorflow')
print(spec.submodule_search_locations[0] if spec else '')"
    OUTPUT_VARIABLE tensorflow_root
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

# With another root, search again, whatever was found before.
if(NOT "${tensorflow_root}" STREQUAL "${TensorFlowC_FOUND_ROOT}")
  unset(TensorFlowC_INCLUDE_DIR CACHE)
  unset(TensorFlowC_LIBRARY CACHE)
  unset(TensorFlowC_FRAMEWORK_LIBRARY CACHE)
  set(TensorFlowC_FOUND_ROOT "${tensorflow_root}" CACHE INTERNAL "Where TensorFlowC was searched for")
endif()

# A wheel has no unversioned links; the C API is in libtensorflow_cc there, and in
# libtensorflow in an archive.
set(tensorflow_hints)
if(tensorflow_root)
  set(tensorflow_hints HINTS "${tensorflow_root}" NO_DEFAULT_PATH)
endif()
find_path(TensorFlowC_INCLUDE_DIR tensorflow/c/c_api.h ${tensorflow_hints} PATH_SUFFIXES include)
find_library(
  TensorFlowC_LIBRARY
  NAMES libtensorflow_cc.so.2 tensorflow_cc libtensorflow.so.2 tensorflow ${tensorflow_hints}
  PATH_SUFFIXES lib .)
find_library(
  TensorFlowC_FRAMEWORK_LIBRARY
  NAMES libtensorflow_framework.so.2 tensorflow_framework ${tensorflow_hints}
  PATH_SUFFIXES lib .)

# The headers have no version; a wheel is next to its metadata, and in an archive
# libtensorflow.so.2 is a link to a name with the version.
file(GLOB tensorflow_wheels "${tensorflow_root}/../tensorflow*-*.dist-info/METADATA")
foreach(metadata IN LISTS tensorflow_wheels)
  if(metadata MATCHES "/tensorflow(_cpu)?-([0-9.]+)[^/]*[.]dist-info/")
    set(TensorFlowC_VERSION "${CMAKE_MATCH_2}")
    string(REGEX REPLACE "[.]$" "" TensorFlowC_VERSION "${TensorFlowC_VERSION}")
  endif()
endforeach()
set(tensorflow_file "${TensorFlowC_LIBRARY}")
while(NOT TensorFlowC_VERSION AND IS_SYMLINK "${tensorflow_file}")
  get_filename_component(tensorflow_folder "${tensorflow_file}" DIRECTORY)
  file(READ_SYMLINK "${tensorflow_file}" tensorflow_file)
  cmake_path(ABSOLUTE_PATH tensorflow_file BASE_DIRECTORY "${tensorflow_folder}")
  if(tensorflow_file MATCHES "[.]so[.]([0-9]+[.][0-9]+[.][0-9]+)$")
    set(TensorFlowC_VERSION "${CMAKE_MATCH_1}")
  endif()
endwhile()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  TensorFlowC
  REQUIRED_VARS TensorFlowC_LIBRARY TensorFlowC_FRAMEWORK_LIBRARY TensorFlowC_INCLUDE_DIR
  VERSION_VAR TensorFlowC_VERSION
  REASON_FAILURE_MESSAGE
    "set TENSORFLOW_ROOT to an unpacked libtensorflow, or CROCHET_PYTHON to a Python with the package tensorflow-cpu"
)
mark_as_advanced(TensorFlowC_INCLUDE_DIR TensorFlowC_LIBRARY TensorFlowC_FRAMEWORK_LIBRARY)

if(TensorFlowC_FOUND)
  get_filename_component(TensorFlowC_LIBRARY_DIR "${TensorFlowC_LIBRARY}" DIRECTORY)
  if(NOT TARGET TensorFlowC::TensorFlowC)
    add_library(TensorFlowC::TensorFlowC INTERFACE IMPORTED)
    set_target_properties(
      TensorFlowC::TensorFlowC
      PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${TensorFlowC_INCLUDE_DIR}"
                 INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${TensorFlowC_INCLUDE_DIR}"
                 INTERFACE_LINK_LIBRARIES "${TensorFlowC_LIBRARY};${TensorFlowC_FRAMEWORK_LIBRARY}")
  endif()
endif()
