#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=dash
# /init of the guests: reach the host's root, put the lab's layer and memory over
# it, and start the agent there.
B=/bin/busybox
die() { echo "openipoib-init: $*" > /dev/kmsg; echo "openipoib-init: $*"; $B poweroff -f; }
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t devtmpfs dev /dev
host=unnamed has_modules=no sources=
for word in $($B cat /proc/cmdline); do
	case $word in
	lab.probe) echo "openipoib-probe: booted"; $B poweroff -f ;;
	lab.host=*) host=${word#lab.host=} ;;
	lab.modules) has_modules=yes ;;
	lab.sources=*) sources=${word#lab.sources=} ;;
	esac
done
for module in $($B cat /modules); do
	$B insmod "$module" || die "cannot load $module"
done
share() {
	$B mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,cache=loose,ro "$1" "$2" ||
		die "cannot mount $3"
}
share hostroot /host "the root file system"
share lablayer /layer "the lab's layer"
$B mount -t tmpfs -o size=75% tmpfs /rw
$B mkdir -p /rw/upper /rw/work
$B mount -t overlay -o lowerdir=/layer:/host,upperdir=/rw/upper,workdir=/rw/work overlay /root ||
	die "cannot mount the overlay"
[ $has_modules = no ] ||
	share labmodules "/root/usr/lib/modules/$($B uname -r)/kernel" "the kernel's modules"
if [ -n "$sources" ]; then
	$B mkdir -p "/root$sources"
	share labsources "/root$sources" "the sources"
fi
for dir in proc sys dev; do
	$B mkdir -p /root/$dir
	$B mount --move /$dir /root/$dir
done
$B mkdir -p /root/run
$B mount -t tmpfs -o mode=755 tmpfs /root/run
$B mkdir -p /root/run/lab /root/run/lock /root/dev/pts /root/dev/shm /root/root
$B mount -t devpts -o mode=620,ptmxmode=666 devpts /root/dev/pts
$B mount -t tmpfs -o mode=1777 tmpfs /root/dev/shm
$B mount -t debugfs debugfs /root/sys/kernel/debug 2>/dev/null
$B hostname "$host"
echo "$host" > /root/etc/hostname
: > /root/etc/resolv.conf
exec $B switch_root /root /usr/bin/python3 -I -S /usr/lib/openipoib-lab/agent.py
