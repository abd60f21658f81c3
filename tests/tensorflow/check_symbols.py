#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a program and the libraries it links share no symbols with TensorFlow's libraries.

    check_symbols.py <program>

If both define a symbol, the loader binds both sides to one of the two, and versions mix. Shared deliberately, and not
checked: the C and C++ runtime, whose templates both have, and zlib, whose interface does not change.
"""

import re
import subprocess
import sys

SHARED = re.compile(r"/(libc|libm|libstdc\+\+|libgcc_s|ld-linux[^/]*|libpthread|libdl|librt|libz|linux-vdso)\.so")
# Mangled names in std, __gnu_cxx and __cxxabiv1, with their vtables, type information and guards; operators new and
# delete; symbols that the linker and the C runtime put into every program.
RUN_TIME = re.compile(
    r"_ZZ?(T[VTIS]|GV|GR|Th[^_]*_|Tv[^_]*_)?(N[KVr]*)?(S[absiodt]|9__gnu_cxx|10__cxxabiv1)|_Z(nw|na|dl|da)|__|_init$|_fini$|_IO_|_edata|_end|data_start|main$"
)
# Type information of functions, which clang's -fsanitize=function adds to programs built with its sanitizers.
FUNCTION_TYPE = re.compile(r"_ZT[IS]F")
# Of the C library, by copy relocation.
C_DATA = {"stderr", "stdout", "stdin", "environ", "optarg", "optind"}


def libraries(program):
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"=> (/\S+)", lines)


def symbols(path):
    lines = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


def main():
    program = sys.argv[1]
    ours, theirs = {program: symbols(program)}, set()
    for path in libraries(program):
        if "tensorflow" in path.rsplit("/", 1)[-1]:
            theirs |= symbols(path)
        elif not SHARED.search(path):
            ours[path] = symbols(path)
    if not any(name.startswith("TF_") for name in theirs):
        sys.exit(f"{program} does not link TensorFlow")
    is_sanitized = "__asan_init" in ours[program]
    mixed = [
        f"{path}: {name}"
        for path, names in ours.items()
        for name in sorted(names & theirs)
        if not RUN_TIME.match(name) and name not in C_DATA and not (is_sanitized and FUNCTION_TYPE.match(name))
    ]
    if mixed:
        sys.exit("symbols that TensorFlow's libraries export, too:\n" + "\n".join(mixed[:50]))
    print(f"{len(ours)} files share no symbols with TensorFlow's libraries")


if __name__ == "__main__":
    main()
