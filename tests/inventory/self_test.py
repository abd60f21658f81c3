#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/inventory-coverage must report all planted errors and nothing else."""

import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "inventory-coverage"

INVENTORY = """
| id | case | behaviour | class |
| --- | --- | --- | --- |
| BH-1 | A.b | it does | yes |
| BH-2 | A.c | it does too, (of) course | yes (with a clock) |
| BH-3 | A.d | it has no variables | engine |
| BH-4 | A.e | it has no keywords | python |
| CC-5 | B.f | it contradicts | yes |
"""
TESTS = """
// BH-1, BH-2: it does.
// At least it should.
TEST(ATest, DoesIt) {}
"""
PORTING = """
## Cases not covered

| rows | why |
| --- | --- |
| CC-5 | another Coordinator |
| BH-3, BH-4 | not here |

## More

| BH-1 | this table is about something else |
"""

# File, old text, new text, and the errors that must be found then.
CASES = [
    ("tests", "", "", []),
    ("tests", "// BH-1, BH-2: it does.", "// BH-1, BH-2", []),
    ("tests", "// BH-1, BH-2:", "// BH-1, BH-2 differs:", []),
    ("tests", "TEST(", "TYPED_TEST_P(", []),
    ("tests", "DoesIt) {}", "DoesIt) {}\n// BH-4: it does.\nTEST(ATest, DoesMore) {}",
     ["docs/porting.md: BH-4 is covered: crochet/a_test.cc:5 ATest.DoesMore"]),
    ("tests", "BH-1, ", "", ["BH-1: no test has it (class yes)"]),
    ("tests", "BH-2", "BH-9", ["BH-2: no test has it (class yes)",
                               "crochet/a_test.cc:2: BH-9 is not in the inventory"]),
    ("tests", "// BH-1, BH-2:", "// BH-1 to BH-2:",
     ["BH-1: no test has it (class yes)", "BH-2: no test has it (class yes)",
      "crochet/a_test.cc:2: an id that is not in the form \"// BH-8: ...\""]),
    ("tests", "\nTEST(", "\n\nTEST(", ["crochet/a_test.cc:2: BH-1, BH-2: not above a test"]),
    ("porting", "| CC-5 |", "| CC-5, BH-1 |",
     ["docs/porting.md: BH-1 is covered: crochet/a_test.cc:2 ATest.DoesIt",
      "docs/porting.md: BH-1 must have a test, no excuse"]),
    ("porting", "BH-3, ", "", ["BH-3: no test has it (class engine)"]),
    ("porting", "BH-3, ", "BH-3, BH-3, ", ["docs/porting.md: BH-3 is listed twice"]),
    ("porting", "BH-3, ", "BH-3, SV-1, ", ["docs/porting.md: SV-1 is not in the inventory"]),
    ("inventory", "| engine |", "| perhaps |",
     ["docs/porting.md: BH-3 is not in the inventory",
      "tests/inventory/inventory.md:6: a row without a class"]),
    ("inventory", "| BH-4 |", "| BH-3 |",
     ["docs/porting.md: BH-4 is not in the inventory",
      "tests/inventory/inventory.md:7: BH-3 is listed twice"]),
]


def problems(inventory, tests, porting):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in (("tests/inventory/inventory.md", inventory),
                           ("crochet/a_test.cc", tests), ("docs/porting.md", porting)):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        result = subprocess.run([SCRIPT, "--root", root], capture_output=True, text=True)
        lines = result.stderr.splitlines()
        assert (result.returncode != 0) == bool(lines), result
        return sorted(lines[:-1])  # The last one counts.


def main():
    failed = False
    for which, old, new, expected in CASES:
        files = {"inventory": INVENTORY, "tests": TESTS, "porting": PORTING}
        assert old in files[which]
        files[which] = files[which].replace(old, new, 1)
        found = problems(**files)
        if found != expected:
            failed = True
            print(f"{old!r} -> {new!r}:\n  found {found}\n  expected {expected}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
