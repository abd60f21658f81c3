# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""A store on the loopback interface: moto's, which speaks as Amazon S3 does. What it gets is first
checked as Amazon does and moto does not: signatures with botocore's own code, and what has arrived
with its checksums. It can misbehave."""

import datetime
import hashlib
import io
import random
import socket
import threading
import time

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

REGION = "eu-central-1"


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        """Nothing."""


class Store:
    """`faults`: the part of requests that fail, each in one of several ways."""

    def __init__(self, bucket, seed=1, faults=0.0):
        self.bucket = bucket
        self.random = random.Random(seed)
        self.faults = faults
        self.keys = {"KEY1": ("SECRET1", None)}  # Of each: the secret, and the token.
        self.expired = set()
        self.mutex = threading.Lock()
        self.refused = []  # Why, of requests that were wrong.
        self.requests = []  # (method, path) of each that was carried out.
        self.failed = {}  # How often, by kind.
        self.app = DomainDispatcherApplication(create_backend_app)
        self.server = make_server("127.0.0.1", 0, self, threaded=True, request_handler=Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.client = self.client_of("KEY1")
        kept, self.faults = self.faults, 0
        self.client.create_bucket(Bucket=bucket,
                                  CreateBucketConfiguration={"LocationConstraint": REGION})
        self.faults = kept

    def client_of(self, key):
        secret, token = self.keys[key]
        return boto3.client(
            "s3", endpoint_url=self.url, aws_access_key_id=key, aws_secret_access_key=secret,
            aws_session_token=token, region_name=REGION,
            config=botocore.config.Config(s3={"addressing_style": "path"}))

    def close(self):
        self.server.shutdown()
        self.thread.join()

    def environment(self):
        return {"AWS_ENDPOINT_URL": self.url, "AWS_REGION": REGION, "AWS_ACCESS_KEY_ID": "KEY1",
                "AWS_SECRET_ACCESS_KEY": "SECRET1", "AWS_EC2_METADATA_DISABLED": "true",
                "no_proxy": "127.0.0.1"}

    def objects(self, prefix=""):
        """{key: bytes}"""
        found = {}
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket,
                                                                         Prefix=prefix):
            for one in page.get("Contents", []):
                try:
                    got = self.client.get_object(Bucket=self.bucket, Key=one["Key"])
                except self.client.exceptions.NoSuchKey:
                    continue  # Removed meanwhile.
                found[one["Key"]] = got["Body"].read()
        return found

    def __call__(self, environ, start_response):
        with self.mutex:
            fault = self.fault(environ)
        body = b""
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if fault == "half":
            environ["wsgi.input"].read(length // 2)
            return hang_up(environ, start_response)
        if length:
            body = environ["wsgi.input"].read(length)
        if fault in ("500", "503"):
            return answer(start_response, f"{fault} Failed", "SlowDown")
        if fault == "slow":
            time.sleep(0.5)
        wrong = self.check(environ, body)
        if wrong:
            status, code = wrong
            with self.mutex:
                self.refused.append((code, environ["REQUEST_METHOD"], environ["PATH_INFO"]))
            return answer(start_response, status, code)
        with self.mutex:
            self.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
        environ["wsgi.input"] = io.BytesIO(body)
        if fault == "lost":
            list(self.app(environ, lambda *_: None))
            return hang_up(environ, start_response)
        return self.app(environ, start_response)

    def fault(self, environ):
        if "Boto3" in environ.get("HTTP_USER_AGENT", "") or self.random.random() >= self.faults:
            return None
        kind = self.random.choice(["500", "503", "slow", "lost", "half"])
        self.failed[kind] = self.failed.get(kind, 0) + 1
        return kind

    def check(self, environ, body):
        """What a store refuses: (status, code)."""
        headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items()
                   if name.startswith("HTTP_")}
        given = headers.get("authorization", "")
        fields = dict(part.strip().split("=", 1) for part in given.partition(" ")[2].split(",")
                      if "=" in part)
        key = fields.get("Credential", "").split("/")
        if key[0] in self.expired:
            return "400 Bad Request", "ExpiredToken"
        if key[0] not in self.keys:
            return "403 Forbidden", "InvalidAccessKeyId"
        if key[2:] != [REGION, "s3", "aws4_request"]:
            return "400 Bad Request", "AuthorizationHeaderMalformed"
        secret, token = self.keys[key[0]]
        if headers.get("x-amz-security-token") != token:
            return "403 Forbidden", "InvalidToken"
        when = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
        if abs((datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - when)
               .total_seconds()) > 900:
            return "403 Forbidden", "RequestTimeTooSkewed"
        request = botocore.awsrequest.AWSRequest(
            method=environ["REQUEST_METHOD"],
            url=f"http://{headers['host']}{environ['RAW_URI'].split('?')[0]}"
                + (f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""),
            headers={name: headers.get(name, environ.get("CONTENT_TYPE", ""))
                     for name in fields["SignedHeaders"].split(";")})
        request.context["timestamp"] = headers["x-amz-date"]
        auth = botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(key[0], secret), "s3",
                                         REGION)
        text = auth.string_to_sign(request, auth.canonical_request(request))
        if auth.signature(text, request) != fields["Signature"]:
            return "403 Forbidden", "SignatureDoesNotMatch"
        digest = headers["x-amz-content-sha256"]
        if "Boto3" not in headers.get("user-agent", "") and \
                digest != hashlib.sha256(body).hexdigest():
            return "400 Bad Request", "XAmzContentSHA256Mismatch"
        return None


def hang_up(environ, start_response):
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    start_response("200 OK", [])
    return []


def answer(start_response, status, code):
    body = f"<Error><Code>{code}</Code><Message>as the test wants it</Message></Error>".encode()
    start_response(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]
