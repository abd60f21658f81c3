# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Each event of a journal, and each of its fields, is described on docs/operating.md.

    check_journal.py docs/operating.md events.jsonl
"""
import json
import pathlib
import re
import sys


def table(page, title):
    """The rows of the table whose first column has this title, as lists of cells."""
    lines = page.splitlines()
    rows = []
    for line in lines[next(i for i, line in enumerate(lines) if line.startswith(f"| {title} |")) + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def names(text):
    return set(re.findall(r"`([a-z_]+(?:/<name>)?)`", text))


TIMES = "where-the-time-goes"


def times(page):
    """The fields of the events that have the times of a life, by the table of that section."""
    section = page[page.index("### Where the time goes"):]
    return {name for row in table(section, "field") for name in re.findall(r"`([a-z_]+(?:/<name>)?)`", row[0])}


def main():
    page = pathlib.Path(sys.argv[1]).read_text()
    common = set().union(*(names(row[0]) for row in table(page, "field")))
    fields = {event: names(row[2]) | (times(page) if TIMES in row[2] else set())
              for row in table(page, "event") for event in names(row[0])}
    seen = set()
    for number, line in enumerate(pathlib.Path(sys.argv[2]).read_text().splitlines(), 1):
        event = json.loads(line)
        assert common <= event.keys(), f"{number}: lacks {common - event.keys()}"
        assert event["event"] in fields, f"{number}: {event['event']} is not described"
        keys = {re.sub("^(hooks|options|hyperparameters)/.+", r"\1/<name>", key) for key in event}
        unknown = keys - common - fields[event["event"]]
        assert not unknown, f"{number}: {event['event']} has {unknown}, which is not described"
        seen.add(event["event"])
    expected = {"start", "restore", "save", "saved", "control", "stop", "end"}
    assert expected <= seen, f"expected {expected - seen} among the events"
    print(f"{len(seen)} kinds of events are as described")


if __name__ == "__main__":
    main()
