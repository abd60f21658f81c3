# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The metadata servers of three clouds, on the loopback interface, each of which can misbehave."""

import email.utils
import http.server
import json
import random
import threading
import time


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Who asked may have been killed meanwhile."""


class Machine:
    """What the servers know of the machine that asks. Each has a port of its own."""

    def __init__(self, cloud, seed, redirects_to=None):
        self.cloud = cloud
        self.random = random.Random(seed)
        self.redirects_to = redirects_to
        self.ends_at = None
        self.notice = threading.Event()
        self.over = threading.Event()
        self.tokens = set()
        self.answers = []
        self.server = Server(("127.0.0.1", 0), handler_of(self))
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    @property
    def host(self):
        return f"127.0.0.1:{self.server.server_address[1]}"

    def announce(self, ends_at):
        self.ends_at = ends_at
        self.notice.set()

    def close(self):
        self.over.set()
        self.notice.set()
        self.server.shutdown()
        self.server.server_close()

    def is_known(self):
        return self.notice.is_set() and self.ends_at is not None


def handler_of(machine):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, status, body="", headers=()):
            machine.answers.append(f"{time.time():.2f} {self.path}: {status}")
            data = body.encode()
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def misbehaves(self):
            """True if it has answered wrongly; not once there is a notice."""
            if machine.is_known() or machine.random.random() > 0.4:
                time.sleep(machine.random.choice([0, 0, 0.01, 0.2]))
                return False
            kind = machine.random.choice(["error", "text", "redirect", "closed", "cut", "huge"])
            if kind == "error":
                self.answer(machine.random.choice([429, 500, 503]))
            elif kind == "text":
                self.answer(200, "<html>Please log in</html>")
            elif kind == "redirect" and machine.redirects_to:
                self.answer(302, headers=[("Location", f"http://{machine.redirects_to}/elsewhere")])
            elif kind == "cut":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort")
                self.close_connection = True
            elif kind == "huge":
                self.answer(200, "x" * 100_000)
            else:
                self.close_connection = True
            return True

        def do_PUT(self):
            if self.misbehaves():
                return
            if machine.cloud != "aws" or self.path != "/latest/api/token":
                self.answer(404)
                return
            token = f"token{len(machine.tokens)}=="
            machine.tokens.add(token)
            self.answer(200, token)

        def do_GET(self):
            if not self.misbehaves():
                getattr(self, machine.cloud)()

        def gce(self):
            if self.headers["Metadata-Flavor"] != "Google":
                self.answer(403)
                return
            if "wait_for_change=true" in self.path:
                machine.notice.wait(60)
            self.answer(200, "TRUE" if machine.is_known() else "FALSE",
                        [("ETag", "b" if machine.is_known() else "a"), ("Metadata-Flavor", "Google")])

        def aws(self):
            if self.headers["X-aws-ec2-metadata-token"] not in machine.tokens:
                self.answer(401)
            elif machine.random.random() < 0.1:  # It is started again.
                machine.tokens.clear()
                self.answer(401)
            elif self.path.endswith("/spot/instance-action") and machine.is_known():
                at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(machine.ends_at))
                self.answer(200, json.dumps({"action": "terminate", "time": at}))
            else:
                self.answer(404, "<html>404</html>")

        def azure(self):
            if self.headers["Metadata"] != "true":
                self.answer(400)
            elif self.path.startswith("/metadata/instance/compute/name?"):
                self.answer(200, "vm-3")
            else:
                events = [{"EventId": "1", "EventType": "Preempt", "Resources": ["vm-1"],
                           "EventStatus": "Scheduled", "NotBefore": "Mon, 19 Sep 2016 18:29:47 GMT"}]
                if machine.is_known():
                    events.append({"EventId": "2", "EventType": "Preempt", "Resources": ["vm-3"],
                                   "EventStatus": "Scheduled",
                                   "NotBefore": email.utils.formatdate(machine.ends_at, usegmt=True)})
                self.answer(200, json.dumps({"DocumentIncarnation": 1, "Events": events}))

    return Handler


class Stranger:
    """A server that nobody may ask."""

    def __init__(self):
        self.requests = []
        stranger = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                stranger.requests.append(self.path)
                self.send_error(404)

            do_PUT = do_GET

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def host(self):
        return f"127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
