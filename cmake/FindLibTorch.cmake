# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds LibTorch: where the system has it (Debian's libtorch-dev), in an unpacked archive of
# pytorch.org, or in a wheel. LibTorch's own package file is not used: that of a wheel with CUDA asks
# for the CUDA toolkit, which programs do not need.
#
#   LIBTORCH_ROOT     the folder of the archive, or of the wheel's package (".../torch")
#   CROCHET_PYTHON    a Python that is asked for the path of its wheel, if the system has none
#
# Defines the target LibTorch::LibTorch, LibTorch_FOUND, LibTorch_VERSION ("2.15"), and
# LibTorch_LIBRARY_DIR, the folder of the libraries at run time.
set(LIBTORCH_ROOT "" CACHE PATH "LibTorch: an archive's or a wheel's folder")

# With another root, search again, whatever was found before.
if(NOT "${LIBTORCH_ROOT}" STREQUAL "${LibTorch_FOUND_ROOT}")
  unset(LibTorch_INCLUDE_DIR CACHE)
  unset(LibTorch_API_INCLUDE_DIR CACHE)
  unset(LibTorch_CPU_LIBRARY CACHE)
  unset(LibTorch_C10_LIBRARY CACHE)
  set(LibTorch_FOUND_ROOT "${LIBTORCH_ROOT}" CACHE INTERNAL "Where LibTorch was searched for")
endif()

# Finds the headers and libraries; at `root` alone unless it is empty.
macro(crochet_find_libtorch root)
  set(libtorch_hints)
  if(NOT "${root}" STREQUAL "")
    set(libtorch_hints HINTS "${root}" NO_DEFAULT_PATH)
  endif()
  find_path(LibTorch_INCLUDE_DIR ATen/Version.h ${libtorch_hints} PATH_SUFFIXES include)
  find_path(LibTorch_API_INCLUDE_DIR torch/torch.h ${libtorch_hints}
            PATH_SUFFIXES include/torch/csrc/api/include torch/csrc/api/include)
  find_library(LibTorch_CPU_LIBRARY torch_cpu ${libtorch_hints} PATH_SUFFIXES lib)
  find_library(LibTorch_C10_LIBRARY c10 ${libtorch_hints} PATH_SUFFIXES lib)
endmacro()

crochet_find_libtorch("${LIBTORCH_ROOT}")
if(NOT LibTorch_CPU_LIBRARY AND NOT LIBTORCH_ROOT AND CROCHET_PYTHON)
  # Found, not imported, as importing takes seconds; and not in the working directory.
  execute_process(
    COMMAND "${CROCHET_PYTHON}" -c "import sys
sys.path = [folder for folder in sys.path if folder]
from importlib.util import find_spec
spec = find_spec('torch')
print(spec.submodule_search_locations[0] if spec else '')"
    OUTPUT_VARIABLE libtorch_wheel
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(libtorch_wheel)
    crochet_find_libtorch("${libtorch_wheel}")
  endif()
endif()

unset(LibTorch_VERSION)
foreach(header IN ITEMS torch/version.h torch/headeronly/version.h)
  if(LibTorch_API_INCLUDE_DIR AND EXISTS "${LibTorch_API_INCLUDE_DIR}/${header}")
    set(libtorch_version_file "${LibTorch_API_INCLUDE_DIR}/${header}")
  elseif(LibTorch_INCLUDE_DIR AND EXISTS "${LibTorch_INCLUDE_DIR}/${header}")
    set(libtorch_version_file "${LibTorch_INCLUDE_DIR}/${header}")
  else()
    continue()
  endif()
  file(STRINGS "${libtorch_version_file}" libtorch_version REGEX "define TORCH_VERSION_M[AI][JN]OR ")
  if("${libtorch_version}" MATCHES "MAJOR ([0-9]+).*MINOR ([0-9]+)")
    set(LibTorch_VERSION "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}")
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR
                LibTorch_API_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE
    "install libtorch-dev, or set LIBTORCH_ROOT to an unpacked LibTorch or to the folder torch of a wheel"
)
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_API_INCLUDE_DIR LibTorch_CPU_LIBRARY
                 LibTorch_C10_LIBRARY)

if(LibTorch_FOUND)
  get_filename_component(LibTorch_LIBRARY_DIR "${LibTorch_CPU_LIBRARY}" DIRECTORY)
  if(NOT TARGET LibTorch::LibTorch)
    add_library(LibTorch::LibTorch INTERFACE IMPORTED)
    target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE "${LibTorch_INCLUDE_DIR}"
                                                                   "${LibTorch_API_INCLUDE_DIR}")
    # LibTorch 2 comes with the headers of a {fmt} of its own, which are found before the system's, but
    # not with its library.
    if(EXISTS "${LibTorch_INCLUDE_DIR}/fmt"
       AND NOT LibTorch_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      target_compile_definitions(LibTorch::LibTorch INTERFACE FMT_HEADER_ONLY=1)
    endif()
    # A wheel's libraries find those of CUDA by themselves, when a program starts.
    target_link_options(LibTorch::LibTorch INTERFACE -Wl,--allow-shlib-undefined)
    # Operators are registered when the library is loaded, which no symbol asks for.
    target_link_libraries(
      LibTorch::LibTorch
      INTERFACE -Wl,--push-state,--no-as-needed "${LibTorch_CPU_LIBRARY}" "${LibTorch_C10_LIBRARY}"
                -Wl,--pop-state)
  endif()
endif()
