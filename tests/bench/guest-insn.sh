#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# In a guest: two IPoIB interfaces on the HCAs at the ends of a veth pair, the second in
# a network namespace, and insn-probe between them. Used by tests/bench/insn.
# usage: guest-insn.sh up | mode datagram|connected | probe PROBE udp|tcp BYTES COUNT BATCHES
#        guest-insn.sh crowd | crowd-probe PROBE NEIGHBOURS BYTES COUNT BATCHES | slab
set -euo pipefail

source "$(dirname "$0")/guest-lib.sh"

HERE=10.13.0.1 THERE=10.13.0.2
CROWD=10.14.0.0

# netdev HCA: its IPoIB interface, whatever the order in which they were made
netdev() {
	local guid path
	guid=$(cut -d: -f5-8 "/sys/class/infiniband/$1/ports/1/gids/0" | tr -d : |
		sed 's/..\B/&:/g')
	for path in /sys/class/net/ib*; do
		[[ $(<"$path/address") != *"$guid" ]] || basename "$path"
	done
}

has_netdev() {
	[[ -n $(netdev "$1") ]]
}

there() {
	ip netns exec there "$@"
}

reached() {
	ping -q -c 1 -W 1 $THERE
}

up() {
	veth_up
	rdma link add sib8 type sib netdev va
	rdma link add sib9 type sib netdev vb
	"$(dirname "$0")/../../scripts/lablib/lab-sm" start 8
	ip netns add there
	wait_for 20 has_netdev sib8
	wait_for 20 has_netdev sib9
	ip link set "$(netdev sib8)" name here
	ip link set "$(netdev sib9)" name there
	address
}

address() {
	ip link set there netns there
	ip address add $HERE/24 dev here
	ip link set here up
	there ip address add $THERE/24 dev there
	there ip link set lo up
	there ip link set there up
	wait_for 60 reached
}

# In datagram mode, the MTU is the group's.
mode() {
	ip netns exec there ip link set there netns 1
	for netdev in here there; do
		echo "$1" >/sys/class/net/$netdev/mode
		[[ $1 == datagram ]] || ip link set $netdev mtu 65520
	done
	ip address flush dev here
	address
}

probe() {
	"$1" "$2" there $THERE "${@:3}"
}

# The other interface answers for all addresses of a network: each is a neighbour, and
# none of them is asked again while it is counted.
crowd() {
	local limit
	for limit in 1 2 3; do
		echo 100000 >/proc/sys/net/ipv4/neigh/default/gc_thresh$limit
	done
	echo 36000 >/proc/sys/net/ipv4/neigh/here/base_reachable_time
	there ip route add local $CROWD/16 dev lo
	ip route add $CROWD/16 dev here
}

crowd-probe() {
	"$1" udp there $CROWD "${@:3}" "$2"
}

# Neighbours of the interface, and octets of the kernel's small objects
slab() {
	echo "$(ip -4 neigh show dev here nud reachable | wc -l)" \
		"$(awk '/^Slab:/ {print $2 * 1024}' /proc/meminfo)"
}

case ${1:-} in
up | mode | probe | crowd | crowd-probe | slab) "$@" ;;
*) die "no such word: ${1:-}" ;;
esac
