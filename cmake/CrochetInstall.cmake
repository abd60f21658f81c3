# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the files for find_package(crochet): crochetConfig.cmake, the targets, and the scripts
# that find the libraries they link. None contains the path of this build or of the prefix.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/crochet)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/crochetConfig.cmake.in ${PROJECT_BINARY_DIR}/crochetConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/crochetConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/crochetConfig.cmake
              ${PROJECT_BINARY_DIR}/crochetConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/CrochetLibraries.cmake DESTINATION ${package_dir})
install(EXPORT crochetTargets NAMESPACE crochet:: DESTINATION ${package_dir})

# Headers that only crochet's own tests include.
set(left_out)
foreach(header raw_bundle.h retention_model.h scripted_calls.h wait_until.h)
  list(APPEND left_out PATTERN "${header}" EXCLUDE)
endforeach()
if(CROCHET_WITH_TENSORFLOW)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindTensorFlowC.cmake DESTINATION ${package_dir})
  install(EXPORT crochetTensorFlowTargets NAMESPACE crochet:: DESTINATION ${package_dir})
else()
  list(APPEND left_out PATTERN "engines/tensorflow" EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/crochet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" ${left_out})
