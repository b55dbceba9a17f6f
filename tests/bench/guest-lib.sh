# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# What the benchmarks' scripts share that run in a guest.

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# wait_for SECONDS COMMAND...: until COMMAND succeeds, or end with an error
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || die "waited in vain for: $*"
		sleep 0.05
	done
}

# veth_up: the cable, va and vb its ends
veth_up() {
	ip link add va mtu 9000 type veth peer name vb mtu 9000
	ip link set va up
	ip link set vb up
}
