#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""`crochet rehearse` accepts a program that tracks all of its state, and names what differs if one
does not.

    check_rehearsal.py CROCHET PROGRAM
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CROCHET, PROGRAM = (str(pathlib.Path(each).resolve()) for each in sys.argv[1:])
LIMIT_SECS = 60


def rehearse(folder, *arguments, options=()):
    """Returns the exit code, standard output and standard error."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run([CROCHET, "rehearse", *options, "--", *arguments], cwd=folder,
                          env=environment, capture_output=True, text=True, timeout=LIMIT_SECS,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def check(found, code, out="", err=""):
    assert found[0] == code and out in found[1] and err in found[2], \
        f"found {found}, expected {(code, out, err)}"


def rehearsals(folder):
    return list(folder.glob("crochet-*"))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        # All is tracked, whether or not the program would have saved before it is killed.
        for mode in ("complete", "few_saves"):
            check(rehearse(folder, PROGRAM, mode, "200"), 0,
                  "killed after step 100, resumed from 89: ")
        check(rehearse(folder, PROGRAM, "complete", "3"), 0, "killed after step 2, resumed from 1: ")
        check(rehearse(folder, PROGRAM, "complete", "200", options=("--kill-at", "199")), 0,
              "killed after step 199, resumed from 189: ")
        assert not rehearsals(folder)

        # State that is not tracked.
        check(rehearse(folder, PROGRAM, "distribution", "200"), 1, "\n! position: 3 of 3 elements")
        check(rehearse(folder, PROGRAM, "hidden", "200"), 1, "\n! position: 1 of 3 elements differ")
        code, out, _ = rehearse(folder, PROGRAM, "hidden", "200", options=("--json",))
        found = json.loads(out)
        assert code == 1 and not found["equal"] and len(found["differences"]) == 1, found
        assert pathlib.Path(found["directory"], "resumed", "runs", "walk").is_dir(), found
        check(rehearse(folder, PROGRAM, "hidden", "200", options=("--ignore", "position")), 0)
        # Rows that were written after the last checkpoint are there twice.
        check(rehearse(folder, PROGRAM, "table", "200"), 1, "\nfile table.csv: other bytes\n")
        assert len(rehearsals(folder)) == 4
        for each in rehearsals(folder):
            shutil.rmtree(each)

        # Files that the program reads; by a path that leads to the program.
        (folder / "data").mkdir()
        (folder / "data" / "input.txt").write_text("input")
        shutil.copy(PROGRAM, folder / "program")
        check(rehearse(folder, "./program", "reads", "20"), 2,
              err="the undisturbed run ended with exit code 3")
        check(rehearse(folder, "./program", "reads", "20", options=("--link", "data")), 0)
        check(rehearse(folder, "./program", "reads", "20", options=("--link", "/data")), 2,
              err="--link /data: expected a relative path")

        # What cannot be rehearsed.
        check(rehearse(folder, PROGRAM, "nothing", "20"), 2, err="must be a relative path")
        check(rehearse(folder, PROGRAM, "absolute", "20", f"{folder}/elsewhere"), 2,
              err="must be a relative path")
        check(rehearse(folder, PROGRAM, "fails", "20"), 2, err="ended with exit code 4")
        check(rehearse(folder, PROGRAM, "complete", "2"), 2, err="a rehearsal needs 3 steps")
        for step in ("1", "20"):
            check(rehearse(folder, PROGRAM, "complete", "20", options=("--kill-at", step)), 2,
                  err="expected a step from 2 to 19")
        check(rehearse(folder, "./nowhere"), 2, err="cannot be started")
        check(rehearse(folder, PROGRAM, "complete", "20", options=("--scratch", "data")), 2,
              err="is not empty")
        assert (folder / "data" / "input.txt").read_text() == "input"


main()
