#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Asks `crochet serve` what browsers, Prometheus and strangers ask. Skipped (77) if it was not built.

    check_server.py <crochet>
"""

import http.client
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

CROCHET = str(pathlib.Path(sys.argv[1]).resolve())
NIGHT = pathlib.Path(__file__).resolve().parent / "recorded"


class Server:
    def __init__(self, folder):
        self.process = subprocess.Popen([CROCHET, "serve", "--port", "0", folder],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(re.match(r"http://127\.0\.0\.1:(\d+)/ shows ", line)[1])

    def ask(self, path, host=None, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, headers={"Host": host or f"127.0.0.1:{self.port}"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def check(server, folder):
    status, text = server.ask("/")
    assert status == 200 and 'href="/report/all/night%20%3C1%3E"' in text, text
    assert "night &lt;1&gt;" in text and "<1>" not in text, text

    status, text = server.ask("/report/all/night%20%3C1%3E")
    assert status == 200 and "<h2>What happened</h2>" in text, text[:500]
    for path in ("/report/all", "/report/../../etc/passwd", "/report/%2e%2e/%2e%2e/etc", "/x"):
        assert server.ask(path)[0] == 404, path

    status, text = server.ask("/metrics")
    assert status == 200, text
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .*|\w+\{(\w+="([^"\\]|\\.)*",?)+\} \S+', line), line
    assert 'crochet_run_step{run="all/night <1>"} 6000' in text, text

    # The last life of the recorded night ended well.
    assert server.ask("/health") == (200, "ok\n"), server.ask("/health")
    journal = folder / "all" / "killed" / "events.jsonl"
    journal.parent.mkdir()
    lines = (NIGHT / "events.jsonl").read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if '"life":1,' in line))
    status, text = server.ask("/health")
    assert status == 503 and text.startswith("all/killed: "), text

    # A page of another site has a name of its own.
    assert server.ask("/", host="evil.example")[0] == 403
    assert server.ask("/", host=f"evil.example:{server.port}")[0] == 403
    assert server.ask("/", host=f"localhost:{server.port}")[0] == 200
    assert server.ask("/", method="POST")[0] == 404


def main():
    commands = subprocess.run([CROCHET, "--help"], check=True, text=True, stdout=subprocess.PIPE)
    if "  serve" not in commands.stdout:
        print("no crochet serve: skipped")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(NIGHT, folder / "all" / "night <1>")
        before = {path: path.stat().st_mtime_ns for path in (folder / "all" / "night <1>").iterdir()}
        server = Server(folder)
        try:
            check(server, folder)
        finally:
            code = server.end()
        assert code == -signal.SIGTERM, code
        after = {path: path.stat().st_mtime_ns for path in (folder / "all" / "night <1>").iterdir()}
        assert before == after, "it has changed the run"
    port_in_use = Server(NIGHT)
    try:
        second = subprocess.run([CROCHET, "serve", "--port", str(port_in_use.port), NIGHT],
                                stderr=subprocess.PIPE, text=True, timeout=20)
        assert second.returncode == 2 and "cannot be listened at" in second.stderr, second
    finally:
        port_in_use.end()
    print("pages, metrics, health and strangers")


if __name__ == "__main__":
    main()
