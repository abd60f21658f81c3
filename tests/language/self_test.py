#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""check_language.py must find what is planted in fixture/, all of it and nothing else."""

import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True  # Nothing is written into the sources.

import check_language  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
FIXTURE = HERE / "fixture"


def run(*arguments):
    return subprocess.run([HERE / "check_language.py", "--root", FIXTURE, *arguments],
                          capture_output=True, text=True)


def main():
    problems = []
    result = run("docs", "crochet", "scripts")
    expected = (FIXTURE / "expected.txt").read_text().splitlines()
    found = result.stdout.splitlines()
    problems += [f"not found: {line}" for line in expected if line not in found]
    problems += [f"found: {line}" for line in found if line not in expected]
    if result.returncode != 1:
        problems.append(f"violations: exit code {result.returncode}")
    planted = [line for line in expected if line.startswith("docs/page.md:")]
    problems += [f"never planted: {pattern}" for pattern, instead in check_language.HABITS
                 if not any(line.endswith(f"write {instead}") for line in planted)]

    good = (FIXTURE / "docs" / "good.md").read_text().replace("\n", " ").lower()
    problems += [f"not in good.md: {phrase}" for phrase in check_language.ALLOWED
                 if phrase not in good]
    result = run("docs/good.md")
    if result.returncode != 0 or result.stderr != "docs/good.md: 1 files, 0 findings\n":
        problems.append(f"good.md: {result}")
    # A name in CHECKED that does not exist is a mistake in the list.
    result = run()
    if result.returncode == 0 or "nothing to check" not in result.stderr:
        problems.append(f"nothing to check: {result}")

    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
