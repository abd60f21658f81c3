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
  list(TRANSFORM LAYER_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_target_properties(
    crochet_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                               INSTALLED_HEADERS "${LAYER_HEADERS}")
  target_link_libraries(crochet_${name} PUBLIC ${LAYER_DEPENDS} PRIVATE ${LAYER_PRIVATE_DEPENDS})
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
  target_link_libraries(crochet_${name}_test PRIVATE crochet_${name} ${TEST_DEPENDS} GTest::gmock
                                                     GTest::gtest_main)
  target_precompile_headers(crochet_${name}_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  add_test(NAME ${name} COMMAND crochet_${name}_test)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${CROCHET_TEST_TIMEOUT})
endfunction()
