# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Shared by the reports: a description of the machine, and replacing a section of a document."""

import os
import sys


def machine():
  with open("/proc/cpuinfo", encoding="utf-8") as file:
    models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
  return f"{models[0] if models else 'an unknown processor'}, {os.cpu_count()} cores"


def replace_section(document, name, lines):
  """Puts the lines between the document's marks, <!-- name: measured --> and <!-- name: end -->."""
  begin, end = f"<!-- {name}: measured -->", f"<!-- {name}: end -->"
  with open(document, encoding="utf-8") as file:
    text = file.read()
  if begin not in text or end not in text:
    sys.exit(f"{document} has no lines {begin} and {end}")
  before, rest = text.split(begin, 1)
  after = rest.split(end, 1)[1]
  with open(document, "w", encoding="utf-8") as file:
    file.write(before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + after)
