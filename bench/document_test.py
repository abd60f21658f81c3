#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The documents have the marks of all sections that the reports replace, and no others."""

import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True  # Nothing is written into the sources.

from checkpoint_report import SECTIONS  # noqa: E402
from document import check_section, replace_section  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCUMENTS = {
    "bench/README.md": {*SECTIONS, "checkpoints", "libtorch", "step_targets", "tensorflow"},
    "docs/performance.md": {"peers", "steps"},
}


def check_documents():
  for document, names in DOCUMENTS.items():
    for name in names:
      check_section(ROOT / document, name)
    others = set(re.findall(r"<!-- (\w+): ", (ROOT / document).read_text())) - names
    assert not others, f"{document}: no report replaces {others}"


def check_replacement():
  with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "page.md")
    path.write_text("a\n<!-- x: measured -->\n\nold\n\n<!-- x: end -->\nb\n<!-- y: end -->\n")
    replace_section(path, "x", ["new", "lines"])
    expected = "a\n<!-- x: measured -->\n\nnew\nlines\n\n<!-- x: end -->\nb\n<!-- y: end -->\n"
    assert path.read_text() == expected, path.read_text()
    try:
      replace_section(path, "y", ["new"])
    except SystemExit as error:
      assert "<!-- y: measured -->" in str(error), error
    else:
      raise AssertionError("a section without its first mark was replaced")
    assert path.read_text() == expected, path.read_text()


if __name__ == "__main__":
  check_documents()
  check_replacement()
