#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that bash completes each command and option that `crochet --help` prints, and that the
manual page has these and no others.

    check_help.py build/dev/tools/crochet tools/crochet.bash tools/crochet.1
"""

import re
import subprocess
import sys

PROGRAM, COMPLETION, PAGE = sys.argv[1:]

# Prints what the last of the words can become.
COMPLETE = """
source "$0"
program=$1
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_crochet "$program" "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")


def completed(*words):
    return set(output("bash", "-c", COMPLETE, COMPLETION, PROGRAM, "crochet", *words)) - {""}


def printed(*command):
    """The options and the commands that --help prints: the first word of each line, in its section."""
    found = {"Options:": [], "Subcommands:": []}
    section = None
    for line in output(PROGRAM, *command, "--help"):
        if not line.startswith(" "):
            section = found.get(line)
        elif section is not None and re.match(r" {1,8}\S", line):
            section.extend(line.split()[0].split(","))
    return set(found["Options:"]), set(found["Subcommands:"])


def sections_of_page():
    """The options in each section of the manual page, by the name of the section or command."""
    with open(PAGE) as file:
        text = file.read().replace("\\-", "-")
    parts = re.split(r"^\.S[HS] (.*)\n", text, flags=re.M)[1:]
    tags = [re.findall(r"^\.TP\n(.*)", body, flags=re.M) for body in parts[1::2]]
    options = [set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(lines))) for lines in tags]
    return dict(zip(parts[::2], options))


def main():
    errors = []

    def compare(what, wanted, found):
        errors.extend(f"{one} is not {what}" for one in sorted(wanted - found))

    options, commands = printed()
    compare("completed", options, completed("-"))
    compare("completed", commands, completed(""))

    sections = sections_of_page()
    common = sections.pop("OPTIONS")
    names = {name for name in sections if name.islower()}
    of_command = {name: printed(name)[0] for name in commands}
    everywhere = options.union(*of_command.values())
    compare("on the manual page", options, common)
    compare("printed by --help", common, everywhere)
    compare("on the manual page", commands, names)
    compare("printed by --help", names, commands)

    for name in sorted(commands | names):
        wanted, found = of_command.get(name, set()), sections.get(name, set())
        compare("completed", {f"{name} {one}" for one in wanted},
                {f"{name} {one}" for one in completed(name, "-")})
        compare("on the manual page", {f"{name} {one}" for one in wanted - common},
                {f"{name} {one}" for one in found})
        compare("printed by --help", {f"{name} {one}" for one in found},
                {f"{name} {one}" for one in wanted})

    print("\n".join(errors) or f"{len(commands)} commands, {len(everywhere)} options")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
