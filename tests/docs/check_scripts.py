#!/usr/bin/env python3
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The shell scripts of docs/recipes.md end with the status of the training that they start, and pass
a provider's notice on. The commands that they call are stand-ins here.

    check_scripts.py docs/recipes.md
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT_SECS = 60
# Tokens are good for one request; there is a notice from the third question on, if any.
CURL = """#!/bin/bash
asked=$(cat asked 2>/dev/null || echo 0)
if [[ $* == *"X PUT"* ]]; then
  echo "token-$asked" | tee token
  exit 0
fi
[[ $* == *"token: $(cat token)"* ]] || exit 22
echo $((asked + 1)) >asked
[[ -e notice && $asked -ge 2 ]] || exit 22
[[ $* == *"-o /dev/null"* || $* == *"-sfo /dev/null"* ]] || echo '{"action": "terminate"}'
"""
# Ends by itself with the status of the file `status` after the fifth question, or at SIGTERM.
TRAIN = """#!/bin/bash
trap 'exit 143' TERM
until [[ $(cat asked 2>/dev/null || echo 0) -ge ${QUESTIONS:-5} ]]; do /bin/sleep 0.01; done
exit "$(cat status)"
"""
SRUN = '#!/bin/bash\n[[ $* == ./train ]] && QUESTIONS=0 ./train\n'
CROCHET = '#!/bin/bash\n[[ $* == "why runs/slurm" ]]\n'
SCONTROL = '#!/bin/bash\necho "$*" >>requeued\n'


def script_of(page, heading):
    section = page[page.index(f"\n## {heading}\n") + 1:]
    section = section[:section.index("\n## ")]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1, f"{heading}: {len(blocks)} scripts"
    return blocks[0]


def write(folder, name, text):
    path = pathlib.Path(folder, name)
    path.write_text(text)
    path.chmod(0o755)


def run(script, status, notice=False):
    """Returns the script's status, and the jobs that it put back into Slurm's queue."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("curl", CURL), ("train", TRAIN), ("srun", SRUN), ("scontrol", SCONTROL),
                           ("crochet", CROCHET),
                           ("sleep", "#!/bin/bash\n/bin/sleep 0.01\n"), ("status", str(status))):
            write(folder, name, text)
        if notice:
            write(folder, "notice", "")
        environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, check=False,
                              capture_output=True, text=True, timeout=LIMIT_SECS)
        assert not done.stdout, done.stdout
        requeued = pathlib.Path(folder, "requeued")
        return done.returncode, requeued.read_text() if requeued.exists() else ""


def check(found, expected, what):
    assert found == expected, f"{what}: found {found}, expected {expected}"


def main():
    page = pathlib.Path(sys.argv[1]).read_text()
    spot, slurm = script_of(page, "Spot machines"), script_of(page, "Slurm")
    check(run(spot, 0), (0, ""), "spot: training ends well")
    check(run(spot, 3), (3, ""), "spot: training fails")
    check(run(spot, 0, notice=True), (143, ""), "spot: a notice")
    check(run(slurm, 0), (0, ""), "Slurm: training ends well")
    check(run(slurm, 3), (3, ""), "Slurm: training fails")
    check(run(slurm, 143), (143, "requeue 7\n"), "Slurm: training was ended by a signal")


main()
