#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# SCSI over RDMA, both ends of which are the kernel's own: the initiator is a consumer
# of fast registration and local invalidation. The target warns at each end of a
# connection (ib_srpt of 6.1) if it has a shared receive queue, so it has none.
# usage: srp.sh export GUID MIB | unexport
#        srp.sh use GUID MIB
# GUID is that of the other end's port, four groups of digits. use connects,
# writes random bytes to the whole disk, reads them back and disconnects.
set -euo pipefail
# shellcheck source=tests/vm/guest/disk-lib.sh
source "${BASH_SOURCE%/*}/disk-lib.sh"

TARGET=/sys/kernel/config/target
DISK=$TARGET/core/fileio_0/disk
IMAGE=/run/srp.img
GUID=$(cut -d: -f5-8 /sys/class/infiniband/sib0/ports/1/gids/0)
GROUP=$TARGET/srpt/$GUID/$GUID

export_() {
	modprobe -a target_core_mod target_core_file ib_srpt
	[[ -d $TARGET ]] || mount -t configfs none /sys/kernel/config
	mkdir -p $DISK
	truncate -s "$2M" $IMAGE
	echo "fd_dev_name=$IMAGE,fd_dev_size=$(($2 << 20))" >$DISK/control
	echo 1 >$DISK/enable
	mkdir -p "$GROUP/lun/lun_0" "$GROUP/acls/$1"
	ln -s $DISK "$GROUP/lun/lun_0/disk"
	mkdir -p "$GROUP/acls/$1/lun_0"
	ln -s "$GROUP/lun/lun_0" "$GROUP/acls/$1/lun_0/lun"
	echo 1 >"$GROUP/enable"
}

unexport() {
	echo 0 >"$GROUP/enable"
	rm -f "$GROUP"/acls/*/lun_0/lun "$GROUP/lun/lun_0/disk"
	rmdir "$GROUP"/acls/*/lun_0 "$GROUP"/acls/* "$GROUP/lun/lun_0" "$GROUP" "${GROUP%/*}" \
		$TARGET/srpt $DISK "${DISK%/*}"
	rm $IMAGE
	wait_for 20 modprobe -q -r ib_srpt	# connections are taken down in the background
}

# The only SCSI disk there is; its name stays in $disk.
a_disk() {
	local path
	for path in /sys/block/sd*/size; do
		[[ -e $path && $(<"$path") -gt 0 ]] || continue
		path=${path%/size}
		disk=/dev/${path##*/}
		[[ -b $disk ]] && return
	done
	return 1
}

use() {
	local guid=${1//:/}
	modprobe -a sd_mod ib_srp
	echo "id_ext=$guid,ioc_guid=$guid,dgid=fe80000000000000$guid,pkey=ffff,service_id=$guid" \
		>/sys/class/infiniband_srp/srp-sib0-1/add_target
	wait_for 20 a_disk
	fill "$disk" "$2"
	modprobe -r ib_srp
	modprobe -r sd_mod
}

case ${1:-} in
export) export_ "$2" "$3" ;;
unexport) unexport ;;
use) use "$2" "$3" ;;
*) die "usage: srp.sh export GUID MIB | unexport | use GUID MIB" ;;
esac
