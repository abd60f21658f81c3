# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Shared by the reports: a description of the machine, and replacing sections of documents."""

import os
import sys


def machine():
  with open("/proc/cpuinfo", encoding="utf-8") as file:
    models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
  return f"{models[0] if models else 'an unknown processor'}, {os.cpu_count()} cores"


def marks(name):
  return f"<!-- {name}: measured -->", f"<!-- {name}: end -->"


def check_section(document, name):
  """Exits unless the document has the marks of this section. Call it before anything is measured."""
  begin, end = marks(name)
  with open(document, encoding="utf-8") as file:
    text = file.read()
  if not 0 <= text.find(begin) < text.find(end):
    sys.exit(f"{document} has no lines {begin} and {end}")
  return text


def replace_section(document, name, lines):
  """Puts the lines between the document's marks."""
  text = check_section(document, name)
  begin, end = marks(name)
  before, rest = text.split(begin, 1)
  after = rest.split(end, 1)[1]
  with open(document, "w", encoding="utf-8") as file:
    file.write(before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + after)
