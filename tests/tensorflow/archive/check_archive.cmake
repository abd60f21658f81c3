# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Lays out an unpacked libtensorflow archive: links to the libraries that were found,
# under the archive's names, and only the headers that it has. Then makes the project in
# consumer/ find it there, without a Python, and checks that the component needs nothing else.
cmake_minimum_required(VERSION 3.25)

# As //tensorflow/tools/lib_package:libtensorflow packs them. Those of tsl have moved between
# versions: those of this version are used.
set(headers
    tensorflow/c/c_api.h
    tensorflow/c/c_api_experimental.h
    tensorflow/c/c_api_macros.h
    tensorflow/c/tensor_interface.h
    tensorflow/c/tf_attrtype.h
    tensorflow/c/tf_buffer.h
    tensorflow/c/tf_datatype.h
    tensorflow/c/tf_file_statistics.h
    tensorflow/c/tf_status.h
    tensorflow/c/tf_tensor.h
    tensorflow/c/tf_tensor_helper.h
    tensorflow/c/tf_tstring.h
    tensorflow/core/platform/ctstring.h
    tensorflow/core/platform/ctstring_internal.h
    tsl/c/tsl_status.h
    tsl/platform/ctstring.h
    tsl/platform/ctstring_internal.h
    xla/tsl/c/tsl_status.h)
set(version 2.99.1) # No wheel has this version: finding it shows that the archive was used.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${scratch})
set(archive ${scratch}/libtensorflow)
foreach(header IN LISTS headers)
  if(EXISTS ${include}/${header})
    cmake_path(GET header PARENT_PATH folder)
    file(COPY ${include}/${header} DESTINATION ${archive}/include/${folder})
  endif()
endforeach()
file(MAKE_DIRECTORY ${archive}/lib)
foreach(name libtensorflow libtensorflow_framework)
  file(CREATE_LINK ${name}.so.2 ${archive}/lib/${name}.so SYMBOLIC)
  file(CREATE_LINK ${name}.so.${version} ${archive}/lib/${name}.so.2 SYMBOLIC)
endforeach()
file(CREATE_LINK ${library} ${archive}/lib/libtensorflow.so.${version} SYMBOLIC)
file(CREATE_LINK ${framework} ${archive}/lib/libtensorflow_framework.so.${version} SYMBOLIC)

# All TensorFlow headers that the component and its tests include, in one program.
file(GLOB_RECURSE sources ${source}/crochet/engines/tensorflow/*)
set(includes)
foreach(file IN LISTS sources)
  file(STRINGS ${file} lines REGEX "^#include [<\"](tensorflow|tsl|xla|absl|google|Eigen)/")
  list(APPEND includes ${lines})
endforeach()
list(REMOVE_DUPLICATES includes)
list(JOIN includes "\n" text)
file(WRITE ${scratch}/includes.h "${text}\n")

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${scratch}/build -G Ninja -D
    CMAKE_CXX_COMPILER=${compiler} -D MODULES=${source}/cmake -D INCLUDES=${scratch} -D
    TENSORFLOW_ROOT=${archive} -D EXPECTED_VERSION=${version})
run(${CMAKE_COMMAND} --build ${scratch}/build)
# The linked library has the name that it was built with.
cmake_path(GET library PARENT_PATH folder)
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${folder} ${scratch}/build/consumer)

# libtensorflow exports the C API and nothing of its implementation.
execute_process(
  COMMAND ${nm} -u -C ${engine} ${builder}
  OUTPUT_VARIABLE symbols
  ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES " TF_SessionRun")
  message(FATAL_ERROR "${engine} does not use TensorFlow")
endif()
string(REGEX MATCHALL " U (tensorflow|tsl|absl|google|Eigen|TFE_|TSL_)[^\n]*" others "${symbols}")
if(others)
  message(FATAL_ERROR "not part of the C API: ${others}")
endif()
