# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the files for find_package(crochet) and for pkg-config. None contains the path of this
# build or of the prefix.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/crochet)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/crochetConfig.cmake.in ${PROJECT_BINARY_DIR}/crochetConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/crochetConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/crochetConfig.cmake
              ${PROJECT_BINARY_DIR}/crochetConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)
install(EXPORT crochetTargets NAMESPACE crochet:: DESTINATION ${package_dir} COMPONENT development)
if(CROCHET_WITH_TENSORFLOW)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindTensorFlowC.cmake DESTINATION ${package_dir}
          COMPONENT development)
  install(EXPORT crochetTensorFlowTargets NAMESPACE crochet:: DESTINATION ${package_dir}
          COMPONENT development)
endif()
if(CROCHET_WITH_MPI)
  install(EXPORT crochetMpiTargets NAMESPACE crochet:: DESTINATION ${package_dir}
          COMPONENT development)
endif()
if(CROCHET_WITH_CLOUD)
  install(EXPORT crochetCloudTargets NAMESPACE crochet:: DESTINATION ${package_dir}
          COMPONENT development)
endif()
if(CROCHET_WITH_LIBTORCH)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake DESTINATION ${package_dir}
          COMPONENT development)
  install(EXPORT crochetLibTorchTargets NAMESPACE crochet:: DESTINATION ${package_dir}
          COMPONENT development)
endif()

# A static library names the libraries that it needs; a shared one brings them itself.
list(TRANSFORM crochet_linked_libraries PREPEND -l OUTPUT_VARIABLE linked)
list(JOIN linked " " linked)
if(BUILD_SHARED_LIBS)
  set(needs "Requires.private: fmt\nLibs: -L\${libdir} -lcrochet\nLibs.private: ${linked} -pthread")
elseif(CROCHET_FMT_HEADER_ONLY)
  set(needs "Libs: -L\${libdir} -lcrochet ${linked} -pthread")
else()
  set(needs "Requires: fmt\nLibs: -L\${libdir} -lcrochet ${linked} -pthread")
endif()
set(pkg_config_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_here /${pkg_config_dir} /)
configure_file(cmake/crochet.pc.in ${PROJECT_BINARY_DIR}/crochet.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/crochet.pc DESTINATION ${pkg_config_dir} COMPONENT development)
