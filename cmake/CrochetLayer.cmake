# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
# crochet_layer(<name> [EXPORT <set> <name>] SOURCES ... DEPENDS ... [PRIVATE_DEPENDS ...])
#
# One folder of crochet/ is one layer: the library crochet_<name>, alias
# crochet::<name>, exported in the installed package under the second name after EXPORT.
function(crochet_layer name)
  cmake_parse_arguments(LAYER "" "" "EXPORT;SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(crochet_${name} STATIC ${LAYER_SOURCES})
  add_library(crochet::${name} ALIAS crochet_${name})
  target_include_directories(crochet_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                        $<INSTALL_INTERFACE:include>)
  target_compile_features(crochet_${name} PUBLIC cxx_std_20)
  set_target_properties(crochet_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(crochet_${name} PUBLIC ${LAYER_DEPENDS} PRIVATE ${LAYER_PRIVATE_DEPENDS})
  set(export crochetTargets ${name})
  if(LAYER_EXPORT)
    set(export ${LAYER_EXPORT})
  endif()
  list(GET export 0 set)
  list(GET export 1 exported_name)
  set_target_properties(crochet_${name} PROPERTIES EXPORT_NAME ${exported_name})
  if(CROCHET_INSTALL)
    install(TARGETS crochet_${name} EXPORT ${set})
  endif()
endfunction()

# Seconds for one test binary. Under ThreadSanitizer tests that flip every bit take minutes, and
# several binaries run at once.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(CROCHET_TEST_TIMEOUT 1800)
else()
  set(CROCHET_TEST_TIMEOUT 300)
endif()

# crochet_layer_test(<name> SOURCES ... [DEPENDS ...])
#
# The layer's test binary, which ctest runs as one test, "<name>".
function(crochet_layer_test name)
  if(NOT CROCHET_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(crochet_${name}_test ${TEST_SOURCES})
  target_link_libraries(crochet_${name}_test PRIVATE crochet::${name} ${TEST_DEPENDS} GTest::gmock
                                                     GTest::gtest_main)
  target_precompile_headers(crochet_${name}_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  add_test(NAME ${name} COMMAND crochet_${name}_test)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${CROCHET_TEST_TIMEOUT})
endfunction()
