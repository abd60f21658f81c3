# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# `cpack -G DEB` makes three Debian packages of a build with shared libraries and the prefix /usr:
# the library, named after its SONAME, what compiling with it needs, and the command. What only
# Debian wants is omitted by `cmake --install`.
set(CROCHET_PACKAGE_CONTACT "The crochet authors <authors@crochet.invalid>"
    CACHE STRING "Name and address of the maintainer of the Debian packages")
set(debian ${PROJECT_SOURCE_DIR}/packaging/debian)
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${CROCHET_PACKAGE_CONTACT}")
set(CPACK_COMPONENTS_ALL library development command)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
                                                GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE crochet)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(library libcrochet${soversion})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${debian}/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
    "hooks and crash-proof checkpoints for C++ training loops
The library adds hooks, checkpoints that survive a crash at any moment, and
exact resuming to C++ training loops. It reads and writes TensorFlow's tensor
bundles and safetensors files.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcrochet-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# {fmt} is linked by the library for tests, which is static.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION}), libfmt-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libeigen3-dev, libdlpack-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
    "hooks and crash-proof checkpoints for C++ training loops (development)
The headers of crochet, the files for CMake and pkg-config, and the static
library that supports tests of programs with crochet.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME crochet)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION
    "inspect, compare, convert and repair checkpoints of training runs
The command crochet lists checkpoints, shows their tensors, verifies their
checksums, compares and converts them, and repairs a directory whose state file
was lost. It reads TensorFlow's tensor bundles and safetensors files, whichever
program wrote them.")

# What Debian wants to be compressed, and a static library without sections that no linker needs.
function(crochet_compress component path)
  install(CODE "execute_process(COMMAND gzip --best --no-name --force
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${path}\" COMMAND_ERROR_IS_FATAL ANY)"
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
install(CODE "execute_process(COMMAND ${CMAKE_STRIP} --strip-debug --remove-section=.comment
  --remove-section=.note* --enable-deterministic-archives
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libcrochet_testing.a\"
  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT development EXCLUDE_FROM_ALL)
crochet_compress(command ${CMAKE_INSTALL_MANDIR}/man1/crochet.1)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${debian}/changelog.in ${PROJECT_BINARY_DIR}/changelog @ONLY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(folder ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES ${debian}/copyright ${PROJECT_BINARY_DIR}/changelog DESTINATION ${folder}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  crochet_compress(${component} ${folder}/changelog)
endforeach()
set(folder ${CMAKE_INSTALL_DATADIR}/doc/libcrochet-dev)
install(FILES CHANGELOG.md DESTINATION ${folder} COMPONENT development EXCLUDE_FROM_ALL)
crochet_compress(development ${folder}/CHANGELOG.md)
configure_file(${debian}/lintian-overrides.in ${PROJECT_BINARY_DIR}/lintian-overrides @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lintian-overrides RENAME ${library}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT library EXCLUDE_FROM_ALL)

include(CPack)
