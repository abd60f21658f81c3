#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that each package that scripts/python-environment installs has one version and the hashes of its files.

    check_requirements.py <x.in>...

Beside each x.in lies the x.txt that scripts/lock-requirements made of it: it must have the versions that x.in asks for.
"""

import re
import sys

PACKAGE = re.compile(r"[a-z0-9-]+==[^ ;]+( ; python_version == \"3\.\d+\"( or python_version == \"3\.\d+\")*)?"
                     r"( --hash=sha256:[0-9a-f]{64})+")


def lines_of(path):
    with open(path) as file:
        text = re.sub(r" *\\\n *", " ", file.read())
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def main():
    for path in sys.argv[1:]:
        locked = lines_of(path.removesuffix(".in") + ".txt")
        for line in locked:
            if not PACKAGE.fullmatch(line):
                sys.exit(f"{path}: expected a version and hashes, found: {line[:100]}")
        versions = {line.split(" ")[0] for line in locked}
        wanted = {line.split(";")[0].strip() for line in lines_of(path)}
        if not wanted or not wanted <= versions:
            sys.exit(f"{path}: not locked, run scripts/lock-requirements: {wanted - versions}")


if __name__ == "__main__":
    main()
