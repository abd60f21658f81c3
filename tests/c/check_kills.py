#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Kills a program at random moments until it ends, and compares its last line with that of one life.

    check_kills.py <program> <last step> <most kills>

The program is called with a directory and the last step.
"""

import random
import subprocess
import sys
import tempfile
import time


def main():
    program, last_step, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        straight = subprocess.run(
            [program, f"{folder}/straight", last_step], check=True, capture_output=True, text=True
        ).stdout
        secs = time.monotonic() - start
        kills = resumed = 0
        while True:
            process = subprocess.Popen(
                [program, f"{folder}/killed", last_step], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            if kills < most:
                limit = secs * draw.uniform(0.1, 0.6)
            elif resumed == 0 and kills < 10 * most:  # None had saved yet.
                limit = secs * draw.uniform(0.5, 0.9)
            else:
                limit = None
            try:
                out, err = process.communicate(timeout=limit)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                resumed += "restored" in process.communicate()[1]
                kills += 1
        if process.returncode != 0:
            sys.exit(f"after {kills} kills: exit code {process.returncode}: {err}")
        resumed += "restored" in err
        result = [line.split("life")[-1].split(":")[-1] if "life" in line else line for line in (straight, out)]
        if result[0] != result[1]:
            sys.exit(f"after {kills} kills: {out} instead of {straight}")
        if kills == 0 or resumed == 0:
            sys.exit(f"{kills} kills, {resumed} lives resumed: nothing was tested")
        print(f"{kills} kills, {resumed} lives resumed: {out}", end="")


if __name__ == "__main__":
    main()
