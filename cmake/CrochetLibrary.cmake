# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)

# crochet_library(<name> [STATIC] OUTPUT <file> EXPORT <set> LAYERS ... [DEPENDS ...]
#                 [PRIVATE_DEPENDS ...])
#
# A library that is installed, lib<file>, shared or static as BUILD_SHARED_LIBS says, or always
# static: the objects of some layers and the headers these install. Its target is
# crochet_library_<name>, for users crochet::<name>.
#
# With the tests in the same build, crochet::<name> is the layers themselves: tests reach inside,
# and a program must not contain a layer and a library made of it.
function(crochet_library name)
  cmake_parse_arguments(LIBRARY "STATIC" "OUTPUT;EXPORT" "LAYERS;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target crochet_library_${name})
  set(objects)
  set(headers)
  set(layers)
  foreach(layer IN LISTS LIBRARY_LAYERS)
    list(APPEND objects $<TARGET_OBJECTS:crochet_${layer}>)
    list(APPEND layers crochet_${layer})
    get_target_property(installed crochet_${layer} INSTALLED_HEADERS)
    list(APPEND headers ${installed})
  endforeach()
  if(name STREQUAL "crochet")
    foreach(header armadillo c cereal crochet eigen fmt kokkos mdspan opencv version xtensor)
      list(APPEND headers ${PROJECT_SOURCE_DIR}/crochet/${header}.h)
    endforeach()
  endif()
  # Headers that need a library which crochet itself does not ask for: compiled by those who have it.
  set(adapters ${headers})
  list(FILTER headers EXCLUDE REGEX "/(armadillo|cereal|eigen|kokkos|mdspan|opencv|xtensor|fmt|dlpack|[a-z_]*_contract)[.]h$")
  list(REMOVE_ITEM adapters ${headers})

  set(type)
  if(LIBRARY_STATIC)
    set(type STATIC)
  endif()
  add_library(${target} ${type} ${objects})
  set_target_properties(
    ${target}
    PROPERTIES LINKER_LANGUAGE CXX
               OUTPUT_NAME ${LIBRARY_OUTPUT}
               EXPORT_NAME ${name}
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
               VERIFY_INTERFACE_HEADER_SETS ON
               INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  target_compile_features(${target} PUBLIC cxx_std_20)
  crochet_build_if_used(${target})
  target_sources(
    ${target}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers}
    PUBLIC FILE_SET adapters TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${adapters})
  target_link_libraries(${target} PUBLIC ${LIBRARY_DEPENDS} PRIVATE ${LIBRARY_PRIVATE_DEPENDS})
  # What crochet links without a CMake package may be beside it, as with vcpkg.
  target_link_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_LIBDIR}>)
  set(map ${PROJECT_SOURCE_DIR}/cmake/libcrochet.map)
  target_link_options(
    ${target} PRIVATE
    $<$<BOOL:${BUILD_SHARED_LIBS}>:LINKER:--no-undefined,--version-script=${map}>)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})

  if(CROCHET_BUILD_TESTS)
    add_library(crochet_${name}_in_layers INTERFACE)
    target_link_libraries(crochet_${name}_in_layers INTERFACE ${layers})
    add_library(crochet::${name} ALIAS crochet_${name}_in_layers)
  else()
    add_library(crochet::${name} ALIAS ${target})
  endif()
  if(CROCHET_INSTALL)
    install(
      TARGETS ${target}
      EXPORT ${LIBRARY_EXPORT}
      LIBRARY COMPONENT library NAMELINK_COMPONENT development
      ARCHIVE COMPONENT development
      FILE_SET HEADERS COMPONENT development
      FILE_SET adapters COMPONENT development)
  endif()
endfunction()
