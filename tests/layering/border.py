#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the border between what users may name and what they may not.

A header of crochet/ is public, or it lies in a folder internal/:

- A public header is installed, and declares something outside a namespace `internal`.
- A header in internal/ declares only within a namespace `internal`; others there may be told apart
  (forward declarations) or specialised (of another library's templates). It is installed only if a
  public header needs it.
- Nothing of the product includes a helper of this repository's own tests.

The numbers of public headers are limited: see LIMITS.

  python tests/layering/border.py [root]
"""

import pathlib
import re
import sys

# Of all components; of those that crochet.h includes, itself or through others; and of guards and
# adapters, each of which only a program that asks for it names. Those are not counted among the others.
LIMITS = {"public headers": 100, "public headers within crochet.h": 80, "public headers of guards": 10,
          "public headers for other libraries": 10}
GUARDS = "crochet/hooks/guards/"
ADAPTERS = {f"crochet/{name}.h" for name in ("armadillo", "c", "cereal", "eigen", "fmt", "kokkos", "mdspan",
                                             "opencv", "xtensor")}
# The kit for users' tests is not counted. These headers have the names of another library.
KIT = "crochet/testing/"
FOREIGN = "/gloo_names/"


def installed_by(lists):
  """The headers that the CMakeLists.txt files name after HEADERS."""
  found = set()
  for path, text in lists.items():
    for listed in re.findall(r"\bHEADERS\s+(.*?)(?:\bDEPENDS\b|\))", text, re.S):
      found |= {f"{path.rsplit('/', 1)[0]}/{name}" for name in listed.split()}
  return found


def without_comments(text):
  text = re.sub(r"//[^\n]*", "", text)
  return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def declarations(text):
  """(namespace, what it declares) for all at the level of a namespace, but forward declarations."""
  text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", without_comments(text), flags=re.M)
  scopes, depth, start = [], 0, 0
  for match in re.finditer(r"[{};]", text):
    head = text[start:match.start()].strip()
    if match.group() == "{":
      name = re.fullmatch(r"(?:inline\s+)?namespace\s*([\w:\s]*)", head)
      if depth == 0 and name:
        scopes.append(name.group(1).split())
      else:
        if depth == 0:
          yield "::".join(sum(scopes, [])), head
        depth += 1
    elif match.group() == "}":
      if depth:
        depth -= 1
      elif scopes:
        scopes.pop()
    elif depth == 0 and head and not re.fullmatch(
        r"(?:template\s*<[^>]*>\s*)?(?:class|struct|enum class|enum)\s+\w+", head):
      yield "::".join(sum(scopes, [])), head
    start = match.end()


def is_internal(scope):
  return "internal" in scope.replace("::", " ").split()


def reached(header, headers):
  """The headers that a header includes, itself or through others, with itself."""
  found, todo = set(), [header]
  while todo:
    each = todo.pop()
    if each in found or each not in headers:
      continue
    found.add(each)
    todo += re.findall(r'^#include "(crochet/[^"]+)"', headers[each], re.M)
  return found


def check(root):
  sources = {str(path.relative_to(root)): path.read_text()
             for path in sorted((root / "crochet").rglob("*")) if path.suffix in (".h", ".cc")}
  headers = {path: text for path, text in sources.items()
             if path.endswith(".h") and FOREIGN not in path}
  installed = installed_by({str(path.relative_to(root)): path.read_text()
                            for path in sorted((root / "crochet").rglob("CMakeLists.txt"))})
  top = {path for path in headers if path.count("/") == 1}  # CrochetLibrary.cmake installs them.
  installed |= top
  public = {path for path in headers if "/internal/" not in path}
  findings = []
  for path, text in headers.items():
    declared = [(scope, head) for scope, head in declarations(text) if "crochet" in scope]
    if path in public:
      if path not in installed:
        findings.append(f"{path}: is not installed: it belongs in a folder internal/")
      if declared and all(is_internal(scope) for scope, _ in declared):
        findings.append(f"{path}: declares only what is internal: it belongs in a folder internal/")
    else:
      findings += [f"{path}: declares outside a namespace internal: {head.splitlines()[0]}"
                   for scope, head in declared if not is_internal(scope)]
  needed = set().union(*(reached(path, headers) for path in public))
  findings += [f"{path}: is installed, and no public header needs it"
               for path in sorted(installed - needed) if path in headers]
  findings += [f"{path}: is needed by a public header, and not installed"
               for path in sorted(needed - installed) if path not in public]
  findings += [f"{path}: a helper of tests in the product" for path, text in sources.items()
               if not path.endswith("_test.cc") and '#include "tests/' in text]
  counted = {path for path in public if not path.startswith(KIT)}
  guards = {path for path in counted if path.startswith(GUARDS)}
  adapters = counted & ADAPTERS
  counts = {"public headers": len(counted - guards - adapters),
            "public headers within crochet.h": len(reached("crochet/crochet.h", headers) & counted),
            "public headers of guards": len(guards),
            "public headers for other libraries": len(adapters)}
  findings += [f"{count} {what}, at most {LIMITS[what]}" for what, count in counts.items()
               if count > LIMITS[what]]
  return findings, counts


def main():
  root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
  findings, counts = check(root)
  print("\n".join(findings + [f"{count} {what}" for what, count in counts.items()]))
  sys.exit(1 if findings or not counts["public headers"] else 0)


if __name__ == "__main__":
  main()
