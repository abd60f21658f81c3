# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# An overlay port, for the sources in which it is:
#
#   vcpkg install crochet --overlay-ports=<crochet>/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)

vcpkg_check_features(
  OUT_FEATURE_OPTIONS features
  FEATURES isal CROCHET_ISAL
           tools CROCHET_BUILD_TOOLS
           uring CROCHET_URING)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DCROCHET_BUILD_TESTS=OFF
          -DCROCHET_BUILD_EXAMPLES=OFF
          -DCROCHET_TENSORFLOW=OFF
          -DCROCHET_LIBTORCH=OFF
          -DCROCHET_MPI=OFF
          -DCROCHET_CLOUD=OFF
          ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/crochet)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES crochet AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
