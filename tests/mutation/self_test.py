#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Every mutant of scripts/mutation-check must be in the body of the function that it names."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOADER = importlib.machinery.SourceFileLoader("mutation_check", str(ROOT / "scripts" / "mutation-check"))
SPEC = importlib.util.spec_from_loader(LOADER.name, LOADER)
SCRIPT = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(SCRIPT)

SOURCE = """
void A::read(int x);
A::A(int x) : x_(x), y_{} {
  if (x) f("}", '}');  // }
  check(x);
}
void A::read(int x) const {
  for (;;) { go(x); }
}
void A::verify(int x) {
  check(x);
  twice(); twice();
  read(x);
}
"""


class MutatedTest(unittest.TestCase):
    def test_replaces_a_text_that_occurs_once(self):
        self.assertEqual(SCRIPT.mutated(SOURCE, "void A::verify(", "check(x)", "no"),
                         "check(x)".join(SOURCE.split("check(x)")[:2]) + "no" +
                         SOURCE.split("check(x)")[2])
        self.assertIn("{ no; }", SCRIPT.mutated(SOURCE, "void A::read(", "go(x)", "no"))
        self.assertIn("// }\n  no;", SCRIPT.mutated(SOURCE, "A::A(", "check(x)", "no"))

    def test_rejects_a_text_outside_the_function(self):
        # The text is in another function, after this one.
        self.assertIsNone(SCRIPT.mutated(SOURCE, "void A::read(", "check(x)", "no"))
        self.assertIsNone(SCRIPT.mutated(SOURCE, "A::A(", "go(x)", "no"))
        self.assertIsNone(SCRIPT.mutated(SOURCE, "void A::gone(", "check(x)", "no"))

    def test_rejects_a_text_that_occurs_twice(self):
        self.assertIsNone(SCRIPT.mutated(SOURCE, "void A::verify(", "twice()", "no"))

    def test_every_mutant_applies(self):
        for mutant in SCRIPT.MUTANTS:
            with self.subTest(mutant[0]):
                text = (ROOT / mutant[1]).read_text()
                self.assertIsNotNone(SCRIPT.mutated(text, *mutant[2:5]))


if __name__ == "__main__":
    unittest.main()
