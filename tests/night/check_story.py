#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that `crochet report` reports the recorded night as recorded/report.txt has it, line by line.

    check_story.py <crochet> [--write]

--write replaces recorded/report.txt: read it then.
"""

import difflib
import json
import pathlib
import subprocess
import sys

CROCHET = str(pathlib.Path(sys.argv[1]).resolve())
NIGHT = pathlib.Path(__file__).resolve().parent / "recorded"


def crochet(*arguments):
    return subprocess.run([CROCHET, *arguments], cwd=NIGHT.parent, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def main():
    text = crochet("report", "--text", "recorded")
    golden = NIGHT / "report.txt"
    if "--write" in sys.argv:
        golden.write_text(text)
    difference = list(difflib.unified_diff(golden.read_text().splitlines(), text.splitlines(),
                                           "expected", "text", lineterm=""))
    if difference:
        sys.exit("\n".join(difference))
    # The parts are the whole, by another clock than that by which they were measured.
    report = json.loads(crochet("report", "--json", "recorded"))
    whole = report["lives"][-1]["last"] - report["lives"][0]["start"]
    total = sum(report["goodput"]["secs"].values())
    assert abs(total - whole) <= 0.001 * whole, (total, whole)
    page = crochet("report", "recorded")
    for line in report["story"]:
        assert line["text"].split("'")[0].split("&")[0][:40] in page, line
    print(f"{len(report['story'])} lines, {total:.1f} s of {whole:.1f} s")


if __name__ == "__main__":
    main()
