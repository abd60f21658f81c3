# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The Conan package of the sources in which this recipe is:

    conan create packaging/conan -s compiler.cppstd=20 --build=missing
"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.0"


class CrochetConan(ConanFile):
    name = "crochet"
    license = "Apache-2.0"
    description = "Hooks, crash-proof checkpoints and exact resuming for training loops"
    topics = ("training", "checkpoint", "tensorflow", "safetensors")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "tools": [True, False],  # The command crochet.
        "isal": [True, False],
        "uring": [True, False],
        # Takes the libraries that crochet needs from the system, none from Conan.
        "system_libraries": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "tools": False,
        "isal": True,
        "uring": True,
        "system_libraries": False,
    }
    implements = ["auto_shared_fpic"]

    @property
    def _sources(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._sources, "crochet", "version.h"))
        self.version = re.search(r'define CROCHET_VERSION "(.*)"', text)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "crochet/*", "tools/*"):
            copy(self, pattern, self._sources, self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        if self.options.system_libraries:
            return
        self.requires("fmt/9.1.0")
        self.requires("zlib/1.2.13")
        if self.options.isal:
            self.requires("isa-l/2.30.0")
        if self.options.uring:
            self.requires("liburing/2.6")
        # Only headers, and none of them in crochet's own, except for DLPack's.
        self.requires("dlpack/0.8", transitive_headers=True)
        self.requires("nlohmann_json/3.11.2", visible=False)
        self.requires("protozero/1.7.1", visible=False)
        self.requires("xxhash/0.8.1", visible=False)
        if self.options.tools:
            self.requires("cli11/2.3.2", visible=False)
            self.requires("cpp-httplib/0.11.4", visible=False)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "CROCHET_BUILD_TESTS": False,
            "CROCHET_BUILD_EXAMPLES": False,
            "CROCHET_BUILD_TOOLS": bool(self.options.tools),
            "CROCHET_ISAL": bool(self.options.isal),
            "CROCHET_URING": bool(self.options.uring),
            "CROCHET_TENSORFLOW": False,
            "CROCHET_LIBTORCH": False,
            "CROCHET_MPI": False,
            "CROCHET_CLOUD": False,
        })
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan writes these for the program's generator.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        linked = {"fmt": "fmt::fmt", "z": "zlib::zlib"}
        if self.options.isal:
            linked["isal"] = "isa-l::isa-l"
        if self.options.uring:
            linked["uring"] = "liburing::liburing"

        core = self.cpp_info.components["crochet"]
        core.set_property("cmake_target_name", "crochet::crochet")
        core.set_property("pkg_config_name", "crochet")
        core.libs = ["crochet"]
        core.system_libs = ["pthread"]
        if self.options.system_libraries:
            core.system_libs += list(linked)
        else:
            core.requires = [*linked.values(), "dlpack::dlpack"]

        testing = self.cpp_info.components["testing"]
        testing.set_property("cmake_target_name", "crochet::testing")
        testing.libs = ["crochet_testing"]
        testing.requires = ["crochet"]
