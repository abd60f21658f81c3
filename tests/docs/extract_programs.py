#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ blocks of a page as files: program_1.cc, program_2.cc, ...; a block that begins
with a comment "// <name>.h" as that header.

    extract_programs.py docs/tutorial.md FOLDER
"""
import pathlib
import re
import sys


def main():
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    programs = 0
    text = page.read_text()
    for block in re.finditer(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        header = re.match(r"// (\w+\.h)\n", block[1])
        if not header:
            programs += 1
        name = header[1] if header else f"program_{programs}.cc"
        line = text[: block.start()].count("\n") + 2
        (folder / name).write_text(f'#line {line} "{page}"\n{block[1]}')


main()
