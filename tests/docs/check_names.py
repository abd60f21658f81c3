#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Each name in backticks on a page must exist in the sources.

    check_names.py docs/architecture.md docs/hooks.md

These are names, in `...` outside of blocks of code:

- With the extension of a source, or with a slash: a file or folder, given by the end of its path. A
  name with a slash that is neither, such as that of a curve, consists of identifiers.
- Identifiers: each occurs in the code, not only in comments. One that ends in "_" may be the
  beginning of another, and one that begins with "lib" is that of a library. In `a::b`, a file has
  both.

These are not: text in quotes; words that begin with "-"; what follows a <placeholder>; names in
std::; addresses with "://"; and what a section "In TensorFlow", or a paragraph that begins with
*TensorFlow*, has of TensorFlow.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = ["crochet", "tools", "cmake", "scripts", ".ci", "CMakeLists.txt"]
FOLDERS = [*CODE, "bench", "docs", "examples", "fuzz", "python", "packaging", "tests"]
SOURCES = (".h", ".cc", ".cmake", ".md", ".py", ".sh", ".txt")

IDENTIFIER = r"[A-Za-z_]\w*"


def files_in(names):
    for name in names:
        path = ROOT / name
        yield from [path] if path.is_file() else sorted(path.rglob("*"))


def code_of(path):
    """The text of a file without its comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".h", ".cc"):
        return re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or " ", text,
                      flags=re.DOTALL)
    return re.sub(r"(?m)(^|\s)#.*$", " ", text)


class Sources:
    def __init__(self):
        self.paths = {f"/{path.relative_to(ROOT)}" for path in files_in(FOLDERS)}
        self.paths |= {f"/{name}" for name in FOLDERS}
        self.words = [set(re.findall(IDENTIFIER, code_of(path))) for path in files_in(CODE)
                      if path.is_file() and "__pycache__" not in path.parts]
        self.all_words = set().union(*self.words)

    def has_path(self, name):
        end = "/" + name.strip("/")
        return any(path.endswith(end) for path in self.paths)

    def has_word(self, word):
        return (word in self.all_words or word.removeprefix("lib") in self.all_words or
                (word.endswith("_") and any(each.startswith(word) for each in self.all_words)))

    def has_member(self, scope, name):
        return any(scope in words and name in words for words in self.words)


def wrong_names(span, sources):
    span = re.sub(r'"[^"]*"|\bstd::[\w:]+|\S+://\S*|(?<!\S)-\S*|(?<=[\w)]>)\w+', " ", span)
    for name in re.findall(r"[\w.-]*/[\w./-]*|[\w-]+(?:\.[\w-]+)*", span):
        if sources.has_path(name):
            continue
        if re.search(rf"\w({'|'.join(map(re.escape, SOURCES))})$", name):
            yield name
        else:
            yield from (word for word in re.findall(rf"(?<!\w){IDENTIFIER}", name)
                        if not sources.has_word(word))
    for scope, name in re.findall(rf"({IDENTIFIER})(?=::({IDENTIFIER}))", span):
        if sources.has_word(scope) and sources.has_word(name) and not sources.has_member(scope, name):
            yield f"{scope}::{name}"


def spans_of(page):
    """Number of the line, text of each span of code, except those about TensorFlow."""
    in_block = in_section = in_paragraph = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            in_block = not in_block
        elif line.startswith("#") and not in_block:
            in_section = line.endswith("# In TensorFlow")
        in_paragraph = bool(line.strip()) and (in_paragraph or line.startswith("*TensorFlow*"))
        if not (in_block or in_section or in_paragraph):
            yield from ((number, span) for span in re.findall(r"`([^`]+)`", line))


def main():
    sources, num_wrong = Sources(), 0
    for page in sys.argv[1:]:
        for number, span in spans_of(pathlib.Path(page).read_text(encoding="utf-8")):
            for name in wrong_names(span, sources):
                num_wrong += 1
                print(f"{page}:{number}: the sources have no {name}", file=sys.stderr)
    sys.exit(1 if num_wrong or not sys.argv[1:] else 0)


main()
