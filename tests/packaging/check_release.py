#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/release in a repository of its own, where the checks only leave a trace."""

import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COPIED = ["scripts/release", "crochet/version.h", "packaging/vcpkg/vcpkg.json"]
CHECKS = ["scripts/test", ".ci/package", ".ci/packages"]
VERSION = "7.8.9"


class Repository:
    def __init__(self, folder):
        self.folder = folder
        for name in COPIED:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        for name in CHECKS:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(f'#!/bin/sh\nset -e\nmkdir -p "${{1:-build}}"\necho "{name} $@" >>build/trace\n'
                                       'test ! -e build/broken\n')
            (folder / name).chmod(0o755)
        (folder / ".gitignore").write_text("/build/\n")
        (folder / "CHANGELOG.md").write_text(f"# Changes\n\n## {VERSION}\n\n- All.\n")
        self.git("init", "--quiet")
        self.git("config", "user.name", "tester")
        self.git("config", "user.email", "tester@localhost")
        self.commit("all")

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.folder, check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def commit(self, message):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def release(self, *arguments):
        return subprocess.run(["scripts/release", *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    def refuses(self, why, *arguments):
        before = self.state()
        done = self.release(*arguments)
        assert done.returncode != 0 and why in done.stdout, done
        assert self.state() == before

    def state(self):
        return self.git("log", "--all", "--decorate", "--oneline"), self.git("status", "--porcelain")

    def trace(self):
        path = self.folder / "build/trace"
        return path.read_text().splitlines() if path.exists() else []


def check(folder):
    repository = Repository(folder)
    repository.refuses("usage:", "7.8")
    repository.refuses("no section", "1.2.3")
    repository.refuses("unknown option", VERSION, "--dry")
    (folder / "new").touch()
    repository.refuses("has changes", VERSION)
    (folder / "new").unlink()

    before = repository.state()
    done = repository.release(VERSION, "--dry-run")
    assert done.returncode == 0, done
    assert all(name in done.stdout for name in CHECKS + ["git commit", "git archive", "git tag"]), done
    assert repository.state() == before and repository.trace() == []

    # A check that fails leaves no tag; the next run continues.
    (folder / "build").mkdir()
    (folder / "build/broken").touch()
    assert repository.release(VERSION).returncode != 0
    assert repository.git("tag") == ""
    (folder / "build/broken").unlink()
    (folder / "build/trace").unlink()
    done = repository.release(VERSION)
    assert done.returncode == 0, done
    assert repository.trace() == ["scripts/test ", ".ci/package ", f".ci/packages build/release-{VERSION}"]
    assert repository.git("tag") == f"v{VERSION}\n" and repository.git("status", "--porcelain") == ""

    archive = folder / f"build/release-{VERSION}/crochet-{VERSION}.tar.gz"
    shutil.unpack_archive(archive, folder / "build")
    unpacked = folder / f"build/crochet-{VERSION}"
    assert f'CROCHET_VERSION "{VERSION}"' in (unpacked / "crochet/version.h").read_text()
    assert "CROCHET_VERSION_MINOR 8\n" in (unpacked / "crochet/version.h").read_text()
    assert f'"version": "{VERSION}",\n' in (unpacked / "packaging/vcpkg/vcpkg.json").read_text()

    repository.refuses("exists already", VERSION)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        check(pathlib.Path(folder))
