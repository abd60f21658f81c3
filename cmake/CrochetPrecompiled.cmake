# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0

# Options for compiling tests and their programs, as in the preset `dev`.
set(CROCHET_TEST_OPTIONS "" CACHE STRING "Options for compiling tests and their programs")

set(crochet_precompiled_googletest_headers <gmock/gmock.h> <gtest/gtest.h>)
set(crochet_precompiled_googletest_libraries GTest::gmock)
set(crochet_precompiled_program_headers <crochet/crochet.h>)
set(crochet_precompiled_program_libraries crochet_loop)
set(crochet_precompiled_torch_headers <torch/torch.h>)
set(crochet_precompiled_torch_libraries crochet_libtorch)

# crochet_precompile(<target> googletest|program|torch)
#
# Compiles a program of the tests with CROCHET_TEST_OPTIONS, and with headers that are compiled once
# for all such programs: googletest's, crochet/crochet.h, or torch/torch.h.
function(crochet_precompile target headers)
  set(owner crochet_precompiled_${headers})
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/${owner}.cc)
    file(TOUCH ${source})
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${source})
    target_compile_features(${owner} PRIVATE cxx_std_20)
    target_compile_options(${owner} PRIVATE ${CROCHET_TEST_OPTIONS})
    target_link_libraries(${owner} PRIVATE ${${owner}_libraries})
    target_precompile_headers(${owner} PRIVATE ${${owner}_headers})
  endif()
  target_compile_options(${target} PRIVATE ${CROCHET_TEST_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
