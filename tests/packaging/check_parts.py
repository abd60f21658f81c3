#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Each part of the build can be left out: CMake configures and generates without it.

A test that names a program of a part must be added only where the part is built.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

LEFT_OUT = (("BUILD_TOOLS",), ("BUILD_EXAMPLES",), ("TENSORFLOW", "LIBTORCH", "MPI", "CLOUD"))


def configure(root, build, options):
    """Returns CMake's output if it failed, else an empty string."""
    command = ["cmake", "-S", str(root), "-B", str(build), "-G", "Ninja", "--no-warn-unused-cli"]
    result = subprocess.run(command + options, capture_output=True, text=True, check=False)
    return result.stdout + result.stderr if result.returncode != 0 else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path, help="the source tree")
    parser.add_argument("options", nargs="*", help="further options for CMake: -DNAME=VALUE")
    arguments = parser.parse_intermixed_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="crochet-parts-") as directory:
        for parts in LEFT_OUT:
            switches = [f"-DCROCHET_{part}=OFF" for part in parts]
            build = pathlib.Path(directory) / "-".join(parts)
            output = configure(arguments.root, build, arguments.options + switches)
            if output:
                failed = True
                print(f"CMake fails with {' '.join(switches)}:\n{output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
