# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md and of the package's own texts."""

import doctest
import os
import pathlib
import unittest

import crochet
import numpy as np

from test_read import InFolder


class DocsTest(InFolder):
    def run_examples(self, test):
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        report = []
        runner.run(test, out=report.append)
        self.assertEqual(runner.failures, 0, "".join(report))
        return runner.tries

    def test_the_page(self):
        path = pathlib.Path(os.environ["CROCHET_GOLDEN"]).parents[1] / "docs" / "python.md"
        test = doctest.DocTestParser().get_doctest(path.read_text(), {}, "python.md", str(path), 0)
        self.assertGreater(self.run_examples(test), 20)

    def test_the_texts_of_functions_and_classes(self):
        state = {"weights": np.zeros(3, np.float32)}
        for step in crochet.Loop("runs/line", state, until=3, scalars={"loss": lambda: 1.0}):
            state["weights"] = np.array([1, -2, 3], np.float32)
        tries = 0
        for value in [getattr(crochet, name) for name in dir(crochet)]:
            if (getattr(value, "__module__", None) or "").startswith("crochet."):
                for test in doctest.DocTestFinder(recurse=False).find(value, globs={}):
                    tries += self.run_examples(test) if test.examples else 0
        self.assertGreater(tries, 10)


if __name__ == "__main__":
    unittest.main()
