#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""border.py reports each violation that is planted in a small tree, and nothing else."""

import pathlib
import tempfile
import unittest

import border

LIST = "crochet_layer(\n  io\n  SOURCES path.cc\n  HEADERS path.h\n          internal/needed.h\n  DEPENDS base)\n"
GOOD = {
    "crochet/crochet.h": '#include "crochet/io/path.h"\n',
    "crochet/io/CMakeLists.txt": LIST,
    "crochet/io/path.h": '#include "crochet/io/internal/needed.h"\n'
                         "namespace crochet::inline v0 {\nclass Path {\n  int x = 0;\n};\n}\n",
    "crochet/io/internal/needed.h": "namespace crochet::inline v0 {\nclass Path;\n}\n"
                                    "namespace crochet::inline v0::internal {\nvoid need(Path&);\n}\n",
    "crochet/io/internal/own.h": "namespace crochet::inline v0 {\nnamespace internal {\n"
                                 "struct Own {};\n}\n}\ntemplate <>\nstruct fmt::formatter<int> {};\n",
    "crochet/io/path_test.cc": '#include "tests/support/help.h"\n',
}


class BorderTest(unittest.TestCase):

  def findings(self, **changes):
    with tempfile.TemporaryDirectory() as folder:
      root = pathlib.Path(folder)
      for path, text in {**GOOD, **changes.get("files", {})}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
      return border.check(root)[0]

  def expect(self, files, *expected):
    self.assertEqual(self.findings(files=files), list(expected))

  def test_accepts_what_is_right(self):
    self.expect({})

  def test_a_public_header_is_installed(self):
    self.expect({"crochet/io/lost.h": "namespace crochet { int x(); }\n"},
                "crochet/io/lost.h: is not installed: it belongs in a folder internal/")

  def test_a_public_header_declares_something_public(self):
    self.expect({"crochet/io/path.h": '#include "crochet/io/internal/needed.h"\n'
                                      "namespace crochet {\nclass X;\nnamespace internal { int x(); }\n}\n"},
                "crochet/io/path.h: declares only what is internal: it belongs in a folder internal/")

  def test_an_internal_header_declares_nothing_else(self):
    self.expect({"crochet/io/internal/own.h": "namespace crochet::inline v0 {\nint x();\n}\n"},
                "crochet/io/internal/own.h: declares outside a namespace internal: int x()")

  def test_installed_internal_headers_are_needed(self):
    self.expect({"crochet/io/CMakeLists.txt": LIST.replace("path.h", "path.h internal/own.h")},
                "crochet/io/internal/own.h: is installed, and no public header needs it")

  def test_needed_internal_headers_are_installed(self):
    self.expect({"crochet/io/CMakeLists.txt": LIST.replace("internal/needed.h", "")},
                "crochet/io/internal/needed.h: is needed by a public header, and not installed")

  def test_the_product_includes_no_helper_of_tests(self):
    self.expect({"crochet/io/path.cc": '#include "tests/support/help.h"\n'},
                "crochet/io/path.cc: a helper of tests in the product")

  def test_the_numbers_have_limits(self):
    names = [f"h{i}" for i in range(100)]
    files = {f"crochet/io/{name}.h": "namespace crochet { int x(); }\n" for name in names}
    files["crochet/io/CMakeLists.txt"] = LIST.replace("path.h", " ".join(["path.h"] + [
        f"{name}.h" for name in names]))
    files["crochet/crochet.h"] = "".join(f'#include "crochet/io/{name}.h"\n' for name in names) + \
        GOOD["crochet/crochet.h"]
    self.expect(files, "102 public headers, at most 100",
                "102 public headers within crochet.h, at most 80")


if __name__ == "__main__":
  unittest.main()
