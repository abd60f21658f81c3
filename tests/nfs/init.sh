#!/bin/busybox sh
# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Process 1 of the machine that scripts/nfs-check boots: runs guest.sh on the file system of the
# host, of which only some folders can be changed, in memory.
export PATH=/bin
busybox mount -t proc proc /proc
busybox --install -s /bin
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*.ko; do insmod "$module"; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /host
mount -t proc proc /host/proc
mount -t sysfs sys /host/sys
mount --bind /dev /host/dev
for folder in mnt run var/lib/nfs; do mount -t tmpfs none "/host/$folder"; done
mkdir -p /host/run/rpcbind /host/var/lib/nfs/rpc_pipefs /host/var/lib/nfs/v4recovery
touch /host/var/lib/nfs/etab /host/var/lib/nfs/rmtab
ip link set lo up
hostname server
root=$(sed 's/.*crochet.root=\([^ ]*\).*/\1/' /proc/cmdline)
chroot /host /bin/bash "$root/tests/nfs/guest.sh" "$root"
poweroff -f
