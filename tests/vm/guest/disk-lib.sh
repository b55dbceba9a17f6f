# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# For scripts that use a disk of the other host.

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# wait_for SECONDS COMMAND...: until COMMAND succeeds, or end with an error
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || die "waited in vain for: $*"
		sleep 0.1
	done
}

# fill DISK MIB: write random bytes to the whole disk and read them back
fill() {
	local data=/run/disk.data back=/run/disk.back
	head -c "$2M" /dev/urandom >$data
	dd if=$data of="$1" bs=512K oflag=direct status=none
	dd if="$1" of=$back bs=64K iflag=direct status=none
	cmp $data $back || die "other data than were written"
	rm $data $back
}
