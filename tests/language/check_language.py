#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Looks for habits of translated English, words that the glossary replaces, and long lines of Markdown.

    tests/language/check_language.py           # the paths in CHECKED; fails if it finds something
    tests/language/check_language.py crochet   # this path alone

Reads Markdown pages outside their code; comments, string literals and names of tests in C++;
comments and string literals in Python; all of shell scripts and CMake files. Prints a line for
each finding, with what to write instead, and the number of findings in each path.
"""

import argparse
import io
import pathlib
import re
import sys
import tokenize

CHECKED = ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "docs", ".ci", "CMakeLists.txt", "bench",
           "cmake", "crochet", "examples", "fuzz", "packaging", "python", "scripts", "tests", "tools"]

MAX_COLUMNS = 100

# What not to write, as a regular expression for lower-case text, and what to write instead. A
# space matches any white space, line breaks included.
# Letters in brackets: this file is checked as well.
HABITS = [
    (r"(?<!-)\bbehind\b", "after, past, beyond, or next"),
    (r"\banew\b", "again"),
    (r"\bfor ever\b", "forever"),
    (r"\bbesides\b", "also, in addition to, or except"),
    (r"\bin the mean\b", "on average"),
    (r"\bas good as\b", "practically"),
    (r"\bso many\b(?! that\b)", "n, or the given number of"),
    (r"\b(?:every )?s[o] often\b", "at intervals, or every n"),
    (r"\bthis often\b", "at this interval, or this number of times"),
    (r"\bnow and then\b", "at intervals, or occasionally"),
    (r"\b(?:goes|go|going|went|gone) on\b", "continues, or resumes"),
    (r"\bt(?:ells|old)\b(?! apart\b)", "reports, states, or notifies"),
    (r"\bforetells?\b", "estimates, or predicts"),
    (r"(?<!\bthere )\b(?:is|are|was|were) no "
     r"(?=[a-z])(?!longer\b|more\b|less\b|fewer\b|such\b|different\b|[a-z]+er than\b)",
     "is not a"),
    (r"(?<!\bthere )\b(?:is|are|was|were) none\b", "is not one, or is empty"),
    (r"\bwho(?:so)?ever\b", "the caller, the owner, or any code that"),
    (r"\b(?:for|by|of) who\b(?!m)", "for callers that"),
    (r"\b(?:let|lets|letting) go\b", "release, or remove"),
    (r"\b(?:take|takes|taken|taking|took) over\b", "adopt"),
    (r"\b(?:give|gives|given|giving|gave) up\b", "abandon, skip, or release"),
    (r"\b(?:clear|clears|cleared|clearing) away\b", "clean up"),
    (r"\bend(?:s|ed)? by an? (?:error|exception)\b", "fails with an error"),
    (r"\bends? content\b", "ends cleanly"),
    (r"\b(?:at|the) most are\b", "the limit is"),
    (r"\bstands? (?:in|at|on|before|beside)\b(?! (?:its|their) own)", "is in"),
    (r"\b(?:stands|stood) still\b", "stops"),
    (r"\b(?:type|option|policy|policies|signature)s? says?\b", "states, or determines"),
    (r"\bis a lie\b", "is wrong"),
    (r"\bsecond director(?:y|ies)\b", "fallback directory"),
    (r"\bbeyond the plan\b|\bproject's plan\b", "the decision itself"),
]

# Where such words are right.
ALLOWED = [
    "1 in the mean",
    "behind a firewall",
    "behind an interface",
    "falls behind",
    "instead of \"second director" "y\"",
    "one save behind",
]

# Its table: word, meaning, and what is not written instead.
GLOSSARY = "docs/glossary.md"
MAX_WORDS = 40

CODE = "\x01"  # Stands for code, so that no phrase is found across it.


def blank(text):
    """Hides code; keeps offsets and line breaks."""
    return re.sub(r"[^\n]", CODE, text)


def spaces(text):
    return re.sub(r"[^\n]", " ", text)


def prose_of_markdown(text):
    """The page without its code. Tables stay: they are prose as well."""
    text = re.sub(r"^ *```.*?^ *```[^\n]*$", lambda m: blank(m[0]), text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", lambda m: blank(m[0]), text)
    return re.sub(r"\]\([^)\n]*\)|https?://\S+", lambda m: blank(m[0]), text)


CPP_TOKEN = re.compile(r"""
    (?P<line>//[^\n]*)
  | (?P<block>/\*.*?\*/)
  | R"(?P<mark>[^()\s\\]{0,16})\((?P<raw>.*?)\)(?P=mark)"
  | (?P<include>^[ ]*\#[ ]*include[^\n]*)
  | "(?P<string>(?:[^"\\\n]|\\.)*)"
  | (?P<char>'(?:[^'\\\n]|\\.)')
  | (?P<number>\b[0-9][0-9']*)
""", re.VERBOSE | re.MULTILINE | re.DOTALL)


def prose_of_cpp(text):
    """Comments and string literals. A phrase may continue from one to the next."""
    pieces, end = [], 0
    for token in CPP_TOKEN.finditer(text):
        between = text[end:token.start()]
        pieces.append(between if not between.strip() else blank(between))
        if token["line"] is not None:
            pieces.append(re.sub(r"^/+", lambda m: spaces(m[0]), token[0]))
        elif token["block"] is not None:
            pieces.append(re.sub(r"^/\*|\*/$|^ *\*", lambda m: spaces(m[0]), token[0], flags=re.M))
        elif token["raw"] is not None or token["string"] is not None:
            body = token["raw"] if token["raw"] is not None else token["string"]
            start = token[0].index(body)
            body = re.sub(r"\\.", "  ", body)
            pieces.append(" " * start + body + spaces(token[0][start + len(body):]))
        else:
            pieces.append(blank(token[0]))
        end = token.end()
    return "".join(pieces) + blank(text[end:])


def prose_of_python(text):
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    prose = list(blank(text))
    texts = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    end = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        begin = starts[token.start[0] - 1] + token.start[1]
        if token.type in texts:
            if not text[end:begin].strip():
                prose[end:begin] = text[end:begin]
            end = starts[token.end[0] - 1] + token.end[1]
            prose[begin:end] = re.sub(r"[#\"']", " ", text[begin:end])
        elif token.string.strip():
            end = starts[token.end[0] - 1] + token.end[1]
    return "".join(prose)


TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)")


def names_of_tests(text):
    """The words of each name, with the offset of its test."""
    for test in TEST.finditer(text):
        for name in test.groups():
            yield test.start(), " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name))


def glossary(root):
    """The words of the table, and for each that is not used, the one to write."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|([^|]*)\|$", (root / GLOSSARY).read_text(), re.M)[1:]
    words = [word for word, _ in rows if set(word) != {"-"}]
    return words, {other: word for word, others in rows for other in re.findall("`([^`]+)`", others)}


def replaced_names_in(code, replaced):
    """Offset, name, what to write instead: names that contain a word that the glossary replaces."""
    for match in re.finditer(r"\b[A-Za-z_]\w*\b", code):
        for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", match[0]):
            instead = replaced.get(word.lower()) or replaced.get(word.lower().rstrip("s"))
            if instead:
                yield match.start(), match[0], instead


def habits_in(prose):
    """Offset, phrase, what to write instead."""
    lower = prose.lower()
    allowed = [match.span() for phrase in ALLOWED
               for match in re.finditer(re.escape(phrase).replace("\\ ", r"\s+"), lower)]
    for pattern, instead in HABITS:
        # The look-behind that opens a pattern has a fixed width: its space is a single character.
        head, tail = re.match(r"((?:\(\?<!.*?\))?)(.*)", pattern).groups()
        for match in re.finditer(head.replace(" ", r"\s") + tail.replace(" ", r"\s+"), lower):
            if not any(begin <= match.start() and match.end() <= end for begin, end in allowed):
                yield match.start(), " ".join(prose[match.start():match.end()].split()), instead


def long_lines_in(page):
    """Number and length of each line of prose that is too long."""
    in_code = in_report = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        # Scripts of measurements write these lines.
        in_report = bool(re.match(r"<!-- \w+: measured -->", line)) or (
            in_report and not re.match(r"<!-- \w+: end -->", line))
        is_link = re.fullmatch(r"\s*(?:[-*] )?(?:!?\[[^\]]*\]\(\S*\)|\[[^\]]*\]: \S+|\S+)\.?", line)
        if len(line) > MAX_COLUMNS and not (in_code or in_report or is_link or line.startswith("|")
                                            or line.startswith("    ")):
            yield number, len(line)


def kind_of(path):
    if path.suffix == ".md":
        return "markdown"
    if path.suffix in (".h", ".cc"):
        return "cpp"
    if path.suffix == ".py":
        return "python"
    if path.suffix in (".sh", ".cmake") or path.name == "CMakeLists.txt":
        return "script"
    if path.suffix:
        return None
    with path.open("rb") as file:
        first = file.readline(80)
    return None if not first.startswith(b"#!") else "python" if b"python" in first else "script"


def findings_in(path, kind, replaced):
    """Line, text of each finding in a file, in order. `replaced`: see glossary()."""
    text = path.read_text(encoding="utf-8")
    prose = {"markdown": prose_of_markdown, "cpp": prose_of_cpp, "python": prose_of_python,
             "script": lambda script: re.sub(r"#", " ", script)}[kind](text)
    found = [(text.count("\n", 0, offset) + 1, f"\"{phrase}\": write {instead}")
             for offset, phrase, instead in habits_in(prose)]
    for other, word in replaced.items():
        pattern = other.replace(" ", r"\s+")
        found += [(text.count("\n", 0, match.start()) + 1,
                   "\"{}\": the glossary has {}".format(" ".join(match[0].split()), word))
                  for match in re.finditer(rf"\b{pattern}(?:s|es|ed)?\b", prose.lower())]
    if kind == "cpp":
        found += [(text.count("\n", 0, offset) + 1, f"{name}: the glossary has {word}")
                  for offset, name, word in replaced_names_in(text, replaced) if prose[offset] == CODE]
        for offset, words in names_of_tests(text):
            found += [(text.count("\n", 0, offset) + 1,
                       f"\"{phrase}\" in the name of a test: write {instead}")
                      for _, phrase, instead in habits_in(words)]
    if kind == "markdown":
        found += [(number, f"{columns} columns, at most {MAX_COLUMNS}")
                  for number, columns in long_lines_in(text)]
    return sorted(found)


def files_in(root, name):
    """The files under a name, without those whose violations are planted."""
    path = root / name
    if path.is_file():
        return [path]
    return [each for each in sorted(path.rglob("*"))
            if each.is_file() and "fixture" not in each.relative_to(root).parts]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files and folders; default: those in CHECKED")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    options = parser.parse_args()
    words, replaced = glossary(options.root)
    if words != sorted(set(words)) or len(words) > MAX_WORDS:
        sys.exit(f"{GLOSSARY}: {len(words)} words, expected at most {MAX_WORDS}, in order and each once")
    names = options.paths or CHECKED
    seen, total = set(), 0
    for name in names:
        num_files = num_found = 0
        for path in files_in(options.root, name):
            kind = None if path in seen else kind_of(path)
            if kind is None:
                continue
            seen.add(path)
            num_files += 1
            for line, text in findings_in(path, kind, replaced):
                num_found += 1
                print(f"{path.relative_to(options.root)}:{line}: {text}")
        print(f"{name}: {num_files} files, {num_found} findings", file=sys.stderr)
        if num_files == 0 and name in CHECKED and not options.paths:
            sys.exit(f"{name}: there is nothing to check")
        total += num_found
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
