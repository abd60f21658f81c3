#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The kills of check_kills.py on a file system that shares the bytes of copies (reflinks), in an image
that is mounted for the test. The copies of a tracked file must share their bytes with it.

    check_reflink.py xfs|btrfs output_writer --dir DIR --kills N

Exits with 77, which is "skipped", where such a file system cannot be made or mounted.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
MAKE = {"xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"], "btrfs": ["mkfs.btrfs", "-q"]}
IMAGE_BYTES = 512 << 20
KILLS = pathlib.Path(__file__).with_name("check_kills.py")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def make_image(arguments):
    """Returns an image with an empty file system."""
    make = MAKE[arguments.file_system]
    for tool in (make[0], "filefrag", "unshare"):
        if shutil.which(tool) is None:
            skip(f"there is no {tool}")
    shutil.rmtree(arguments.dir, ignore_errors=True)
    arguments.dir.mkdir(parents=True)
    image = arguments.dir / "image"
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    if subprocess.run([*make, image], check=False, capture_output=True).returncode != 0:
        skip(f"{make[0]} fails")
    return image


def run_mounted(arguments, image):
    """In mounts of its own, which end with the process."""
    disk = arguments.dir / "disk"
    disk.mkdir()
    script = ('mount -o loop "$1" "$2" || exit 77; shift; disk=$1; shift\n'
              '"$@" || exit\n'
              'for copy in "$disk"/*/*/*.file-*; do filefrag -v "$copy"; done\n'
              'umount "$disk"')
    command = [sys.executable, KILLS, "sqlite", arguments.program, "--dir", disk / "kills", "--kills",
               str(arguments.kills)]
    return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", image, disk, *command],
                          check=False, capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file_system", choices=MAKE)
    parser.add_argument("program")
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=10)
    arguments = parser.parse_args()
    done = run_mounted(arguments, make_image(arguments))
    shutil.rmtree(arguments.dir, ignore_errors=True)
    print(done.stdout, done.stderr, sep="")
    if done.returncode == SKIPPED:
        skip("an image cannot be mounted")
    assert done.returncode == 0, f"exit code {done.returncode}"
    assert "shared" in done.stdout, "no copy shares bytes with its file"


if __name__ == "__main__":
    main()
