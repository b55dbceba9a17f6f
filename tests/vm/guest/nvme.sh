#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# NVMe over RDMA, both ends of which are the kernel's own: a consumer of fast
# registration (host) and of SEND with invalidation (target).
# usage: nvme.sh export ADDRESS MIB | unexport
#        nvme.sh use ADDRESS MIB
# use connects, writes random bytes to the whole disk, reads them back and
# disconnects.
set -euo pipefail
# shellcheck source=tests/vm/guest/disk-lib.sh
source "${BASH_SOURCE%/*}/disk-lib.sh"

NQN=nqn.2014-08.org.nvmexpress:uuid:8a1d4c9e-0c52-4be5-9a59-5a4f3a2c1b00
NVMET=/sys/kernel/config/nvmet
SUBSYSTEM=$NVMET/subsystems/$NQN
PORT=$NVMET/ports/1
IMAGE=/run/nvme.img

export_() {
	modprobe nvmet-rdma
	[[ -d $NVMET ]] || mount -t configfs none /sys/kernel/config
	truncate -s "$2M" $IMAGE
	mkdir $SUBSYSTEM
	echo 1 >$SUBSYSTEM/attr_allow_any_host
	mkdir $SUBSYSTEM/namespaces/1
	echo 1 >$SUBSYSTEM/namespaces/1/buffered_io	# a tmpfs has no other
	echo $IMAGE >$SUBSYSTEM/namespaces/1/device_path
	echo 1 >$SUBSYSTEM/namespaces/1/enable
	mkdir $PORT
	echo rdma >$PORT/addr_trtype
	echo ipv4 >$PORT/addr_adrfam
	echo "$1" >$PORT/addr_traddr
	echo 4420 >$PORT/addr_trsvcid
	ln -s $SUBSYSTEM $PORT/subsystems/
}

unexport() {
	rm -f "$PORT/subsystems/$NQN"
	rmdir $PORT $SUBSYSTEM/namespaces/1 $SUBSYSTEM
	rm $IMAGE
	modprobe -r nvmet-rdma nvmet
}

# The one disk of the connection; its name stays in $disk.
disk_of() {
	local path
	for path in "/sys/class/nvme/$1/$1"n*/size; do
		[[ -e $path && $(<"$path") -gt 0 ]] || continue
		disk=/dev/$(basename "$(dirname "$path")")
		[[ -b $disk ]] && return
	done
	return 1
}

use() {
	local answer controller
	modprobe nvme-core multipath=N	# a disk of its own for each connection
	modprobe nvme-rdma
	exec 3<>/dev/nvme-fabrics
	echo -n "transport=rdma,traddr=$1,trsvcid=4420,nqn=$NQN,nr_io_queues=1,queue_size=32" >&3
	read -r answer <&3
	exec 3>&-
	[[ $answer =~ instance=([0-9]+) ]] || die "no connection: $answer"
	controller=nvme${BASH_REMATCH[1]}
	wait_for 20 disk_of "$controller"
	fill "$disk" "$2"
	echo 1 >"/sys/class/nvme/$controller/delete_controller"
	modprobe -r nvme-rdma nvme-fabrics nvme-core
}

case ${1:-} in
export) export_ "$2" "$3" ;;
unexport) unexport ;;
use) use "$2" "$3" ;;
*) die "usage: nvme.sh export ADDRESS MIB | unexport | use ADDRESS MIB" ;;
esac
