#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the recipes in packaging/ agree with the sources: the version, the options that they
set and the libraries that they name.

    check_recipes.py <crochet>
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])

# A library as CMake finds it, in vcpkg and in Conan.
LIBRARIES = [
    ("CLI11", "cli11", "cli11"),
    ("dlpack", "dlpack", "dlpack"),
    ("fmt", "fmt", "fmt"),
    ("httplib", "cpp-httplib", "cpp-httplib"),
    ("isal", "isal", "isa-l"),
    ("nlohmann_json", "nlohmann-json", "nlohmann_json"),
    ("protozero", "protozero", "protozero"),
    ("uring", "liburing", "liburing"),
    ("xxhash", "xxhash", "xxhash"),
    ("z", "zlib", "zlib"),
]


def text(name):
    return (ROOT / name).read_text()


def found_by_cmake():
    libraries = text("cmake/CrochetLibraries.cmake")
    needed = re.search(r"foreach\(crochet_needed (.*)\)", libraries)[1].replace('"', "")
    names = re.findall(r"[A-Za-z]\w*", needed)
    names += re.findall(r"^crochet_find_(?:library|optional)\((?:crochet_)?(\w+)", libraries, re.M)
    names += re.findall(r"find_package\((\w+)", text("tools/CMakeLists.txt"))
    return set(names) - {"PkgConfig", "Threads"}


def main():
    errors = []

    def compare(what, wanted, found):
        errors.extend(f"{what}: {one} is missing" for one in sorted(wanted - found))
        errors.extend(f"{what}: {one} is unknown" for one in sorted(found - wanted))

    numbers = dict(re.findall(r'define CROCHET_VERSION(\w*) "?([0-9.]+)', text("crochet/version.h")))
    version = numbers.pop("")
    compare("crochet/version.h", {version}, {".".join(numbers.values())})

    vcpkg = json.loads(text("packaging/vcpkg/vcpkg.json"))
    portfile = text("packaging/vcpkg/portfile.cmake")
    conan = text("packaging/conan/conanfile.py")
    compare("version of vcpkg.json", {version}, {vcpkg["version"]})

    options = text("CMakeLists.txt") + text("cmake/CrochetDependencies.cmake")
    options = set(re.findall(r"^(?:option|set)\((CROCHET_\w+) .*(?: CACHE | (?:ON|OFF|\$\{.*\})\))", options, re.M))
    for name, recipe in ("portfile.cmake", portfile), ("conanfile.py", conan):
        used = set(re.findall(r"CROCHET_\w+", recipe)) - {"CROCHET_VERSION"}
        compare(f"options of {name}", options & used, used)

    named = list(vcpkg["dependencies"])
    for feature in vcpkg["features"].values():
        named += feature["dependencies"]
    cmake, in_vcpkg, in_conan = (set(names) for names in zip(*LIBRARIES))
    compare("libraries of CMake", cmake, found_by_cmake())
    compare("libraries of vcpkg.json", in_vcpkg, {one for one in named if isinstance(one, str)})
    compare("libraries of conanfile.py", in_conan, set(re.findall(r'requires\("([^/]+)/', conan)))
    features = set(re.findall(r"^\s*(?:FEATURES )?(\w+) CROCHET_\w+", portfile, re.M))
    compare("features of portfile.cmake", set(vcpkg["features"]), features)

    print("\n".join(errors) or f"version {version}, {len(cmake)} libraries")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
