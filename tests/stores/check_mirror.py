#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Trainings whose checkpoints are copied to a store that fails, while they are killed, lose their
disk, their credentials and their place:

    check_mirror.py mirrored_trainer crochet --dir DIR [--kills N] [--seed N]

After every kill each manifest must name only what is there, and at the end the result must be that of
a run in one life.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import store_server

LAST_STEP = 400
PART_BYTES = 64 << 20


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


class Training:
    """`program` with its arguments, and a store."""

    def __init__(self, arguments, store, directory, place="run", values=2000, step_ms=2,
                 save_steps=20, environment=None):
        self.command = [str(arguments.trainer), str(directory), f"s3://{store.bucket}/{place}",
                        str(LAST_STEP), str(step_ms), str(save_steps), str(values)]
        self.environment = {**os.environ, **store.environment(), **(environment or {})}
        self.directory = pathlib.Path(directory)

    def start(self):
        return subprocess.Popen(self.command, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self):
        """(the step it began from, its last line, its log)"""
        process = self.start()
        out, err = process.communicate(timeout=300)
        check(process.returncode == 0, "exit code", process.returncode, err)
        lines = out.splitlines()
        return int(lines[0].split()[1]) if len(lines) > 1 else None, lines[-1], err


def command(arguments, store, *words):
    return subprocess.run([arguments.crochet, *words], capture_output=True, text=True, check=False,
                          env={**os.environ, **store.environment()})


def manifests(store, place="run"):
    """The complete copies: {key of the manifest: manifest}. Each must be whole."""
    objects = store.objects(place + "/")
    found = {}
    for key, text in objects.items():
        if not key.endswith("/manifest.json") or not text:
            continue
        manifest = json.loads(text)
        folder = key.rsplit("/", 1)[0]
        for file in manifest["files"]:
            parts = [objects.get(f"{folder}/{file['name']}.{i}") for i in range(len(file["crc32c"]))]
            if None in parts:
                check(key not in store.objects(place + "/"), key, "names", file["name"],
                      "which is not there")
                break
            check(sum(map(len, parts)) == file["size"], key, file["name"], "has another size")
        else:
            found[key] = manifest
    return found


def newest_step(store):
    steps = [int(one["checkpoint"].rsplit("-", 1)[1]) for one in manifests(store).values()]
    return max(steps, default=0)


def expected(arguments):
    """What a run without a store's faults ends with."""
    store = store_server.Store("plain")
    training = Training(arguments, store, arguments.dir / "plain")
    start, last, log = training.run()
    check(start == 0, "it began from", start)
    check(not store.refused, "refused:", store.refused)
    check(newest_step(store) == LAST_STEP, "the newest copy is of", newest_step(store), log)
    check(len(manifests(store)) == 3, "copies:", list(manifests(store)))
    check_bits(arguments, store, training)
    check_commands(arguments, store, training)
    store.close()
    return last


def check_bits(arguments, store, training):
    for key, manifest in manifests(store).items():
        folder = key.rsplit("/", 1)[0]
        objects = store.objects(folder)
        for file in manifest["files"]:
            here = (training.directory / file["name"]).read_bytes()
            there = b"".join(objects[f"{folder}/{file['name']}.{i}"]
                             for i in range(len(file["crc32c"])))
            check(here == there, file["name"], "differs")


def check_commands(arguments, store, training):
    """What the command says of a store, it says of the directory."""
    url = f"s3://{store.bucket}/run"
    listed = json.loads(command(arguments, store, "list", "--json", url).stdout)
    own = json.loads(command(arguments, store, "list", "--json", training.directory).stdout)
    copied = {one["step"] for one in listed["checkpoints"]}
    check(copied == {one["step"] for one in own["checkpoints"] if one["step"] in copied})
    check(listed["newest"] == f"{url}/model.ckpt-{LAST_STEP}", listed["newest"])
    for words in (["show", "{}/model.ckpt-400"], ["verify", "{}"], ["verify", "{}/model.ckpt-400"],
                  ["diff", "{}/model.ckpt-380", "{}/model.ckpt-400"], ["list", "--verify", "{}"]):
        done = command(arguments, store, *[word.format(url) for word in words])
        # A difference is the answer of diff.
        check(done.returncode == (1 if words[0] == "diff" else 0), words, done.returncode,
              done.stdout, done.stderr)
    target = training.directory / "converted.safetensors"
    done = command(arguments, store, "convert", f"{url}/model.ckpt-400", target)
    check(done.returncode == 0 and target.exists(), done.stderr)
    done = command(arguments, store, "diff", target, training.directory / "model.ckpt-400")
    check(done.returncode == 0, done.stdout)
    done = command(arguments, store, "diff", f"{url}/model.ckpt-400",
                   training.directory / "model.ckpt-400")
    check(done.returncode == 0, done.stdout)
    for words in (["list", f"s3://{store.bucket}/nothing"], ["list", "s3://no-such-bucket/x"],
                  ["verify", f"{url}/model.ckpt-7"], ["pin", f"{url}/model.ckpt-400"],
                  ["convert", target, f"{url}/model.ckpt-1"]):
        done = command(arguments, store, *words)
        check(done.returncode == 2 and done.stderr.startswith("crochet: "), words, done.returncode,
              done.stdout, done.stderr)
    before = len(store.requests)
    done = command(arguments, store, "rehearse", "--", arguments.trainer.resolve(), "run", url, "60",
                   "1", "20", "100")
    check(done.returncode == 0, done.stdout, done.stderr)
    check(len(store.requests) == before, "a rehearsal asked the store", store.requests[before:])
    print("commands: as of the directory")


def check_lost_disk(arguments, last):
    """Another machine continues."""
    store = store_server.Store("lost")
    directory = arguments.dir / "lost"
    process = Training(arguments, store, directory, step_ms=10).start()
    while newest_step(store) < 100:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    step = newest_step(store)
    shutil.rmtree(directory)
    start, end, log = Training(arguments, store, directory).run()
    check(start == step, "it began from", start, "the newest copy was of", step, log)
    check(end == last, end, last)
    journal = (directory / "events.jsonl").read_text()
    check('"event":"brought_back"' in journal, "the journal has no brought_back")
    check('"event":"mirrored"' in journal, "the journal has no mirrored")
    # Without the store, a run in an empty directory must not start afresh.
    shutil.rmtree(directory)
    store.close()
    training = Training(arguments, store, directory)
    process = training.start()
    out, err = process.communicate(timeout=300)
    check(process.returncode != 0 and "from" not in out, out, err)
    print(f"lost disk: continued from step {step}; without the store: {err.strip().splitlines()[-1]}")


def check_credentials(arguments, last):
    """They expire while a run copies, and are replaced in their file."""
    store = store_server.Store("expiring")
    store.keys["KEY2"] = ("SECRET2", "TOKEN2")
    file = arguments.dir / "credentials"

    def write(key, secret, token):
        temporary = file.with_suffix(".new")
        temporary.write_text(f"[default]\naws_access_key_id={key}\naws_secret_access_key={secret}\n"
                             + (f"aws_session_token={token}\n" if token else ""))
        temporary.rename(file)

    write("KEY1", "SECRET1", None)
    training = Training(arguments, store, arguments.dir / "expiring", step_ms=10, environment={
        "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
        "AWS_SHARED_CREDENTIALS_FILE": str(file)})
    process = training.start()
    while newest_step(store) < 60:
        time.sleep(0.02)
    write("KEY2", "SECRET2", "TOKEN2")
    store.client = store.client_of("KEY2")
    store.expired.add("KEY1")
    out, err = process.communicate(timeout=300)
    check(process.returncode == 0 and out.splitlines()[-1] == last, out, err)
    check(newest_step(store) == LAST_STEP, newest_step(store), err)
    check(any(code == "ExpiredToken" for code, _, _ in store.refused), store.refused)
    check(all(code == "ExpiredToken" for code, _, _ in store.refused), store.refused)
    # And are not replaced: training does not mind.
    store.expired.add("KEY2")
    shutil.rmtree(arguments.dir / "expiring")
    store.keys["KEY3"] = ("SECRET3", None)
    store.client = store.client_of("KEY3")
    process = training.start()
    out, err = process.communicate(timeout=300)
    check(process.returncode != 0 and "ExpiredToken" in err, out, err)
    print("credentials: renewed when they expired")
    store.close()


def check_two_writers(arguments, last):
    """Two runs by mistake copy to one place, which fails as well."""
    store = store_server.Store("shared", seed=arguments.seed, faults=0.02)
    directories = [arguments.dir / f"shared{i}" for i in range(2)]
    rand = random.Random(arguments.seed)
    ends = []
    num_checks = 0
    processes = [Training(arguments, store, each, step_ms=10).start() for each in directories]
    while any(process.poll() is None for process in processes):
        manifests(store)
        num_checks += 1
        if len(ends) < 4 and rand.random() < 0.3:
            victim = rand.randrange(2)
            if processes[victim].poll() is None:
                processes[victim].kill()
                processes[victim].communicate()
                ends.append(victim)
                processes[victim] = Training(arguments, store, directories[victim], step_ms=10).start()
    for process in processes:
        out, err = process.communicate()
        check(process.returncode == 0 and out.splitlines()[-1] == last, out, err)
    manifests(store)
    check(not store.refused, "refused:", store.refused)
    print(f"two writers: {num_checks} looks, {len(ends)} kills, every manifest whole")
    store.close()


def check_kills(arguments, last):
    """Kills at random moments; in a third of them the disk is lost as well."""
    rand = random.Random(arguments.seed)
    store = store_server.Store("killed", seed=arguments.seed, faults=0.1)
    directory = arguments.dir / "killed"
    num_kills = num_lost = num_ends = 0
    while num_kills < arguments.kills:
        training = Training(arguments, store, directory, step_ms=3)
        process = training.start()
        try:
            process.wait(timeout=rand.uniform(0.05, 1.6))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        manifests(store)
        if process.returncode == -signal.SIGKILL:
            num_kills += 1
            step = newest_step(store)
            if rand.random() < 1 / 3 and directory.exists():
                num_lost += 1
                shutil.rmtree(directory)
                if step:
                    store.faults = 0
                    start, _, log = until_started(training)
                    store.faults = 0.1
                    check(start >= step, "it began from", start, "the newest copy was of", step, log)
            continue
        check(process.returncode == 0, process.returncode, err)
        check(out.splitlines()[-1] == last, out, last)
        num_ends += 1
        # Another run, in another place.
        shutil.rmtree(directory)
        for key in store.objects("run/"):
            store.client.delete_object(Bucket=store.bucket, Key=key)
    store.faults = 0
    _, end, log = Training(arguments, store, directory).run()
    check(end == last, end, last, log)
    left = [key for key, body in store.objects("run/").items()
            if not any(key.startswith(one.rsplit("/", 1)[0] + "/") for one in manifests(store))
            and body]
    check(not left, "left over:", left)
    check(not store.refused, "refused:", store.refused)
    print(f"kills: {num_kills}, with the disk {num_lost}, ends {num_ends}; "
          f"faults of the store: {dict(sorted(store.failed.items()))}; none lost, nothing left over")
    store.close()


def until_started(training):
    """Starts it, reads the step from which it begins, and kills it."""
    process = training.start()
    line = process.stdout.readline()
    process.kill()
    _, err = process.communicate()
    check(line.startswith("from ") or line.startswith("at "), line, err)
    return int(line.split()[1]), line, err


def check_large(arguments):
    """Several parts, several at once."""
    store = store_server.Store("large")
    values = (PART_BYTES * 2 + 80_000) // 8
    directory = arguments.dir / "large"
    training = Training(arguments, store, directory, values=values, step_ms=1, save_steps=400)
    training.command[3] = "2"
    _, end, _ = training.run()
    data = [one for one in manifests(store).values()][0]["files"][0]
    check(len(data["crc32c"]) == 3, data)
    check_bits(arguments, store, training)
    url = f"s3://{store.bucket}/run"
    done = command(arguments, store, "verify", url)
    check(done.returncode == 0, done.stderr)
    shutil.rmtree(directory)
    training.command[3] = "3"
    start, _, log = training.run()
    check(start == 2, start, log)
    check(not store.refused, "refused:", store.refused)
    print("large: 3 parts")
    store.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("trainer", type=pathlib.Path)
    parser.add_argument("crochet", type=pathlib.Path)
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one of the checks")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.dir, ignore_errors=True)
    arguments.dir.mkdir(parents=True)
    last = expected(arguments)
    for one in (check_lost_disk, check_credentials, check_two_writers, check_kills):
        if arguments.only in (None, one.__name__):
            one(arguments, last)
    if arguments.only in (None, "check_large"):
        check_large(arguments)
    shutil.rmtree(arguments.dir)


if __name__ == "__main__":
    sys.exit(main())
