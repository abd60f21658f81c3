#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Opens the pages of `crochet report` and `crochet compare` in Chromium without a window: they must
report no error, ask for nothing, and show values by the keyboard, in light, dark and on paper.
Skipped (77) without Chromium.

    check_page.py <crochet> [--pictures DIR]

--pictures writes them as PNG.
"""

import base64
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CROCHET = str(pathlib.Path(sys.argv[1]).resolve())
NIGHT = pathlib.Path(__file__).resolve().parent / "recorded"


class Browser:
    """Chromium, by its protocol for tools over two pipes."""

    def __init__(self, program, folder):
        to_browser, self.to_browser = os.pipe()
        self.from_browser, from_browser = os.pipe()

        def connect():
            # They may have each other's numbers.
            taken = os.dup(to_browser), os.dup(from_browser)
            os.dup2(taken[0], 3)
            os.dup2(taken[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--no-first-run", f"--user-data-dir={folder}", "about:blank"],
            close_fds=False, preexec_fn=connect, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.numbers, self.events = b"", itertools.count(1), []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.buffer:
            read = os.read(self.from_browser, 1 << 16)
            if not read:
                raise ConnectionError("the browser has ended")
            self.buffer += read
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        number = next(self.numbers)
        request = {"id": number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            request["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == number:
                assert "error" not in message, (method, message)
                return message["result"]
            self.events.append(message)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def value(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self.call("Page.captureScreenshot", format="png", clip=clip,
                          captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait(20)


def complaints(browser, path):
    """What a page must not do."""
    found = []
    for event in browser.events:
        method, parameters = event.get("method"), event.get("params", {})
        if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            found.append(json.dumps(parameters)[:500])
        if method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if url != path.as_uri() and not url.startswith("data:"):
                found.append(f"it asks for {url}")
    return found


def check(browser, path, pictures):
    browser.call("Emulation.setDeviceMetricsOverride", width=1100, height=800, deviceScaleFactor=1,
                 mobile=False)
    for look in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": look}])
        browser.open(path)
        back = browser.value("getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(255, 255, 255)") == (look == "light"), (look, back)
        assert browser.value("document.documentElement.scrollWidth") <= 1100, "wider than the window"
        browser.value("document.querySelector('figure.chart').focus()")
        for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
            browser.press(key)
            shown = browser.value("document.querySelector('figure.chart .value').textContent")
            assert shown.startswith("step "), (key, shown)
        assert not complaints(browser, path), complaints(browser, path)
        if pictures:
            browser.picture(pictures / f"{path.stem}_{look}.png")
    browser.call("Emulation.setEmulatedMedia", media="print")
    paper = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert paper.startswith(b"%PDF"), paper[:20]
    browser.call("Emulation.setEmulatedMedia", media="")


def main():
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        print("no chromium: skipped")
        sys.exit(77)
    pictures = pathlib.Path(sys.argv[3]) if "--pictures" in sys.argv else None
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(NIGHT, folder / "again")
        for name, arguments in (("report", [NIGHT.name]),
                                ("compare", [NIGHT.name, str(folder / "again")])):
            page = folder / f"{name}.html"
            page.write_text(subprocess.run([CROCHET, name, *arguments], cwd=NIGHT.parent,
                                           check=True, text=True, stdout=subprocess.PIPE).stdout)
        browser = Browser(program, folder / "profile")
        try:
            for name in ("report", "compare"):
                check(browser, folder / f"{name}.html", pictures)
        finally:
            browser.close()
    print("2 pages, light, dark and on paper")


if __name__ == "__main__":
    main()
