#!/usr/bin/env bash
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# guest.sh ROOT, within the machine of scripts/nfs-check: a server, and two clients at /mnt/a
# and /mnt/b, each in a network namespace of its own, with caches of its own. Prints a line that
# begins with "NFS" for each check, and at last "NFS: all held".
set -euo pipefail

cd "$1"
export HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/mnt
build=build/dev
crochet=$build/tools/crochet
trap 'echo "NFS: failed in line $LINENO"' ERR

mkdir -p /mnt/srv /mnt/a /mnt/b
mount -t ext4 /dev/vda /mnt/srv
mount -t nfsd nfsd /proc/fs/nfsd
mount -t rpc_pipefs rpc /var/lib/nfs/rpc_pipefs
rpcbind -w
exportfs -o rw,sync,no_root_squash,no_subtree_check,insecure,fsid=0 '*:/mnt/srv'
rpc.mountd
echo 10 >/proc/fs/nfsd/nfsv4gracetime
rpc.nfsd 4
sleep 12

number=1
for client in a b; do
  ip netns add $client
  ip link add to_$client type veth peer name eth0 netns $client
  ip addr add 10.0.$number.1/24 dev to_$client
  ip link set to_$client up
  ip -n $client addr add 10.0.$number.2/24 dev eth0
  ip -n $client link set eth0 up
  ip -n $client link set lo up
  nsenter --net=/run/netns/$client bash -c "
    mount -t sysfs none /sys
    echo $client >/sys/fs/nfs/net/nfs_client/identifier
    mount -t nfs -o vers=4.2 10.0.$number.1:/ /mnt/$client"
  number=$((number + 1))
done
mkdir /mnt/a/runs

# Requests from the other machine: each is answered within the 10 s that a command waits.
start() {
  $build/tests/control/endless_trainer "/mnt/$1/runs/train" >"/mnt/log" 2>&1 &
  trainer=$!
  until grep -sq "\"life\":$2" "/mnt/$1/runs/train/events.jsonl"; do sleep 0.2; done
}
start a 1
slowest=0
for request in status save status save save status status save status stop; do
  begin=$(date +%s%N)
  answer=$($crochet $request /mnt/b/runs/train)
  took=$((($(date +%s%N) - begin) / 1000000))
  if ((took > slowest)); then slowest=$took; fi
done
wait $trainer
echo "NFS: 10 requests answered, the slowest after $slowest ms; the last: $answer"

# A run that was killed on one machine continues on the other, which sees what it left.
start a 2
$crochet save /mnt/b/runs/train >/dev/null
kill -9 $trainer
wait $trainer || true
why=$($crochet why /mnt/b/runs/train || true)
grep -q "^why: *kill -9" <<<"$why" || { echo "$why"; false; }
start b 3
until grep -q "^continues: *life 3, which is running now, continued from step [1-9]" <<<"$($crochet why /mnt/a/runs/train)"; do sleep 1; done
$crochet stop /mnt/a/runs/train >/dev/null
wait $trainer
echo "NFS: killed on one machine, continued on the other"

export TMPDIR=/mnt/a/runs
python3 tests/crash/crash.py kills --trainer $build/tests/crash/crash_trainer --number 10 >/mnt/log 2>&1 ||
  { cat /mnt/log; false; }
echo "NFS: $(tail -n 1 /mnt/log)"
python3 tests/outputs/check_kills.py csv $build/tests/outputs/output_writer --dir /mnt/a/runs/csv --kills 30 >/mnt/log 2>&1 ||
  { cat /mnt/log; false; }
echo "NFS: $(tail -n 1 /mnt/log)"
echo "NFS: all held"
