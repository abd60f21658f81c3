#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""check_recipes.py must notice each of these changes."""

import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
READ = ["CMakeLists.txt", "cmake", "crochet/version.h", "packaging", "tools/CMakeLists.txt"]

# File, text in it, its replacement, what is printed.
CHANGES = [
    ("crochet/version.h", "MINOR ", "MINOR 7", "crochet/version.h: "),
    ("packaging/vcpkg/vcpkg.json", '"version": "', '"version": "7', "version of vcpkg.json: "),
    ("packaging/vcpkg/vcpkg.json", '"protozero"', '"protobuf"', "libraries of vcpkg.json: protozero is missing"),
    ("packaging/vcpkg/vcpkg.json", '"tools": {', '"command": {', "features of portfile.cmake: tools is unknown"),
    ("packaging/vcpkg/portfile.cmake", "CROCHET_ISAL", "CROCHET_CRC", "options of portfile.cmake: CROCHET_CRC is unknown"),
    ("packaging/conan/conanfile.py", "CROCHET_BUILD_TESTS", "CROCHET_TESTS", "options of conanfile.py: CROCHET_TESTS"),
    ("packaging/conan/conanfile.py", "liburing/", "uring/", "libraries of conanfile.py: liburing is missing"),
    ("cmake/CrochetLibraries.cmake", "(isal ", "(zstd ", "libraries of CMake: zstd is unknown"),
]


def printed(root):
    return subprocess.run([HERE / "check_recipes.py", root], stdout=subprocess.PIPE, text=True)


def check(folder):
    for name in READ:
        copied = folder / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copied)
    assert printed(folder).returncode == 0

    for name, before, after, wanted in CHANGES:
        text = (folder / name).read_text()
        assert before in text, (name, before)
        (folder / name).write_text(text.replace(before, after))
        done = printed(folder)
        assert done.returncode == 1 and wanted in done.stdout, (name, before, done.stdout)
        (folder / name).write_text(text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        check(pathlib.Path(folder))
