# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs a build, moves it, and builds and runs a stranger's programs with it: by find_package and
# by pkg-config. Checks its border.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${scratch})
run(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/first)
set(prefix ${scratch}/moved)
file(RENAME ${scratch}/first ${prefix})

file(GLOB_RECURSE shared ${prefix}/*/libcrochet.so)
file(GLOB_RECURSE pkg_config ${prefix}/*/crochet.pc)
cmake_path(GET pkg_config PARENT_PATH pkg_config)
cmake_path(GET pkg_config PARENT_PATH libraries)
set(ENV{LD_LIBRARY_PATH} ${libraries})
run(${CMAKE_COMMAND} -D INCLUDE=${prefix}/include -D LIBRARY=${shared} -P
    ${CMAKE_CURRENT_LIST_DIR}/check_border.cmake)

# The check finds what it is for.
file(WRITE ${scratch}/planted/crochet/planted.h
     "#include <random>\n#include \"crochet/absent.h\"\nclass Planted {\n};\nvoid plant();\n")
execute_process(
  COMMAND ${CMAKE_COMMAND} -D INCLUDE=${scratch}/planted -P ${CMAKE_CURRENT_LIST_DIR}/check_border.cmake
  RESULT_VARIABLE result
  ERROR_VARIABLE found)
foreach(planted "includes random" "absent.h, which is not" "exported: class Planted" "void plant")
  if(result EQUAL 0 OR NOT found MATCHES "${planted}")
    message(FATAL_ERROR "the border's check does not find \"${planted}\": ${found}")
  endif()
endforeach()

set(configure ${CMAKE_COMMAND} -S ${consumer} -G Ninja -D CMAKE_PREFIX_PATH=${prefix} -D
    CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_FLAGS=${flags})
# UndefinedBehaviorSanitizer finds the type of an object by what a program without RTTI leaves out.
set(with_no_rtti ON)
if(flags MATCHES "-fsanitize=[a-z,]*undefined")
  set(with_no_rtti OFF)
endif()
file(GLOB_RECURSE with_mpi ${prefix}/*/crochetMpiTargets.cmake)
file(GLOB_RECURSE with_cloud ${prefix}/*/crochetCloudTargets.cmake)
file(GLOB_RECURSE with_libtorch ${prefix}/*/crochetLibTorchTargets.cmake)
set(with ${configure} -B ${scratch}/build -D WITH_TENSORFLOW=${with_tensorflow} -D
    CROCHET_PYTHON=${python} -D TENSORFLOW_ROOT=${root} -D WITH_MPI=${with_mpi} -D
    WITH_LIBTORCH=${with_libtorch} -D WITH_CLOUD=${with_cloud} -D WITH_NO_RTTI=${with_no_rtti})
run(${with})
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/core ${scratch}/checkpoints)
run(${prefix}/bin/crochet verify ${scratch}/checkpoints)
run(${scratch}/build/testing)
if(with_no_rtti)
  run(${scratch}/build/no_rtti)
endif()
if(with_tensorflow)
  run(${scratch}/build/with_tensorflow)
endif()
if(with_mpi)
  # One process, and then more and fewer, which resume.
  find_program(mpirun NAMES mpirun mpiexec REQUIRED)
  # As root, and with more processes than cores.
  foreach(allowed ALLOW_RUN_AS_ROOT ALLOW_RUN_AS_ROOT_CONFIRM MCA_rmaps_base_oversubscribe)
    set(ENV{OMPI_${allowed}} 1)
  endforeach()
  run(${scratch}/build/with_mpi ${scratch}/mpi_checkpoints 4)
  run(${mpirun} -n 3 ${scratch}/build/with_mpi ${scratch}/mpi_checkpoints 8)
  run(${mpirun} -n 2 ${scratch}/build/with_mpi ${scratch}/mpi_checkpoints 12)
  run(${prefix}/bin/crochet verify ${scratch}/mpi_checkpoints)
endif()
if(with_cloud)
  run(${scratch}/build/with_cloud)
endif()
if(with_libtorch)
  run(${scratch}/build/with_libtorch ${scratch}/libtorch_checkpoints)
endif()

# README's first program, with README's first lines of CMake.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../../README.md readme)
function(first_block language result)
  set(opening "```${language}\n")
  string(FIND "${readme}" "${opening}" begin)
  string(LENGTH "${opening}" length)
  math(EXPR begin "${begin} + ${length}")
  string(SUBSTRING "${readme}" ${begin} -1 text)
  string(FIND "${text}" "\n```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
first_block(cpp program)
first_block(cmake lines)
file(WRITE ${scratch}/readme/trainer.cc "${program}\n")
file(WRITE ${scratch}/readme/CMakeLists.txt
     "cmake_minimum_required(VERSION 3.25)\nproject(trainer LANGUAGES CXX)\n"
     "add_executable(trainer trainer.cc)\n${lines}\n")
run(${CMAKE_COMMAND} -S ${scratch}/readme -B ${scratch}/readme/build -G Ninja -D
    CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} --build ${scratch}/readme/build)
run(${CMAKE_COMMAND} -E chdir ${scratch}/readme ./build/trainer 100)

# No path of the build or of the first prefix has been kept.
file(GLOB_RECURSE installed ${prefix}/*.cmake ${prefix}/*.pc)
foreach(file IN LISTS installed)
  file(READ ${file} text)
  foreach(path IN ITEMS ${build} ${scratch})
    string(FIND "${text}" "${path}" place)
    if(NOT place EQUAL -1)
      message(FATAL_ERROR "${file} names ${path}")
    endif()
  endforeach()
endforeach()

set(ENV{PKG_CONFIG_PATH} ${pkg_config})
find_program(pkgconf NAMES pkg-config pkgconf REQUIRED)
execute_process(COMMAND ${pkgconf} --cflags --libs crochet OUTPUT_VARIABLE options
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(options UNIX_COMMAND "${options}")
separate_arguments(plain_flags UNIX_COMMAND "${flags}")
run(${compiler} -std=c++20 ${plain_flags} ${consumer}/core.cc ${options} -o ${scratch}/plain)
run(${scratch}/plain ${scratch}/plain_checkpoints)

# A crochet without shared libraries can be part of a program without any.
if(fully_static)
  run(${compiler} -std=c++20 ${plain_flags} -static ${consumer}/core.cc ${options} -o ${scratch}/static)
  run(${scratch}/static ${scratch}/static_checkpoints)
endif()

# A component that does not exist is an error that names it.
execute_process(
  COMMAND ${configure} -B ${scratch}/unknown -D COMPONENT=caffe
  RESULT_VARIABLE result
  OUTPUT_QUIET
  ERROR_VARIABLE text)
if(result EQUAL 0 OR NOT text MATCHES "caffe")
  message(FATAL_ERROR "a component that does not exist: ${result}: ${text}")
endif()
