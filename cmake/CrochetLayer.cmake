# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0

# crochet_layer(<name> SOURCES ... [HEADERS ...] DEPENDS ... [PRIVATE_DEPENDS ...])
#
# One folder of crochet/ is one layer: the library crochet_<name>, which the layers above and the
# tests link. HEADERS are those that are installed; any other header is the layer's own.
function(crochet_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;HEADERS;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(crochet_${name} STATIC ${LAYER_SOURCES})
  target_include_directories(crochet_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_features(crochet_${name} PUBLIC cxx_std_20)
  # Each function can be left out of a program that does not call it: see docs/install.md.
  if(NOT BUILD_SHARED_LIBS)
    target_compile_options(crochet_${name} PRIVATE -ffunction-sections -fdata-sections)
  endif()
  crochet_build_if_used(crochet_${name})
  list(TRANSFORM LAYER_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_target_properties(
    crochet_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                               INSTALLED_HEADERS "${LAYER_HEADERS}")
  target_link_libraries(crochet_${name} PUBLIC ${LAYER_DEPENDS} PRIVATE ${LAYER_PRIVATE_DEPENDS})
endfunction()

# crochet_build_if_used(<target>): inside another project a library is built only if something of that
# project links it.
function(crochet_build_if_used target)
  if(NOT PROJECT_IS_TOP_LEVEL AND NOT CROCHET_INSTALL)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Seconds for one test binary. Under ThreadSanitizer tests that flip every bit take minutes, and
# several binaries run at once.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(CROCHET_TEST_TIMEOUT 3600)
else()
  set(CROCHET_TEST_TIMEOUT 900)
endif()

# crochet_layer_test(<name> SOURCES ... [DEPENDS ...] [SLOW <filter>] [PRECOMPILED <headers>])
#
# The layer's test binary, which ctest runs as one test, "<name>". Those of its tests that take many
# seconds, as googletest's filter, are another one, "<name>_slow". PRECOMPILED as in
# crochet_precompile(), by default googletest.
function(crochet_layer_test name)
  if(NOT CROCHET_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "" "SLOW;PRECOMPILED" "SOURCES;DEPENDS" ${ARGN})
  add_executable(crochet_${name}_test ${TEST_SOURCES})
  target_link_libraries(crochet_${name}_test PRIVATE crochet_${name} ${TEST_DEPENDS} GTest::gmock
                                                     GTest::gtest_main)
  if(NOT TEST_PRECOMPILED)
    set(TEST_PRECOMPILED googletest)
  endif()
  crochet_precompile(crochet_${name}_test ${TEST_PRECOMPILED})
  add_test(NAME ${name} COMMAND crochet_${name}_test --gtest_filter=-${TEST_SLOW})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${CROCHET_TEST_TIMEOUT} LABELS layer)
  if(TEST_SLOW)
    add_test(NAME ${name}_slow COMMAND crochet_${name}_test --gtest_filter=${TEST_SLOW})
    set_tests_properties(${name}_slow PROPERTIES TIMEOUT ${CROCHET_TEST_TIMEOUT} LABELS "layer;slow")
  endif()
  if(NOT TARGET crochet_layer_tests)
    add_custom_target(crochet_layer_tests)
  endif()
  add_dependencies(crochet_layer_tests crochet_${name}_test)
endfunction()

# crochet_mpi_environment(<variable>): Open MPI starts more processes than cores, and starts any as
# root, only if it is asked to.
function(crochet_mpi_environment variable)
  set(${variable}
      "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1"
      PARENT_SCOPE)
endfunction()

# crochet_mpi_test(<name> <ranks> <command>...): a test that runs n processes of a program.
function(crochet_mpi_test name ranks)
  add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ARGN})
  crochet_mpi_environment(environment)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${CROCHET_TEST_TIMEOUT} LABELS mpi
                                          ENVIRONMENT "${environment}")
endfunction()
