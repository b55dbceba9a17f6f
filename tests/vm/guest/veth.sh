#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Two more HCAs in this host, at the ends of one veth pair, with a subnet manager
# of their own: sib8 with IPoIB 10.11.0.1, and sib9 with 10.11.0.2 in the network
# namespace n1.
# usage: veth.sh up | down
set -euo pipefail

sm=$(dirname "$(realpath "$0")")/../../../scripts/lablib/lab-sm

# wait_for SECONDS COMMAND...: until COMMAND succeeds, or end with an error
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || { echo "veth.sh: waited in vain for: $*" >&2; exit 1; }
		sleep 0.1
	done
}

port_is() {
	[[ $(< "/sys/class/infiniband/$1/ports/1/state") == *"$2" ]]
}

# The IPoIB interface of an HCA: its hardware address ends with the port's GUID.
netdev_of() {
	local guid path
	guid=$(cut -d: -f5-8 "/sys/class/infiniband/$1/ports/1/gids/0" | tr -d : | sed 's/..\B/&:/g')
	for path in /sys/class/net/ib*; do
		[[ $(< "$path/address") != *"$guid" ]] || { netdev=${path##*/}; return; }
	done
	return 1
}

up() {
	ip link add va mtu 9000 type veth peer name vb mtu 9000
	ip link set va up
	ip link set vb up
	rdma link add sib8 type sib netdev va
	rdma link add sib9 type sib netdev vb
	wait_for 20 port_is sib8 INIT
	wait_for 20 port_is sib9 INIT
	"$sm" start 8
	wait_for 40 port_is sib8 ACTIVE
	wait_for 40 port_is sib9 ACTIVE
	wait_for 20 netdev_of sib8
	ip address add 10.11.0.1/24 dev "$netdev"
	ip link set "$netdev" up
	ip netns add n1
	wait_for 20 netdev_of sib9
	ip link set "$netdev" netns n1
	ip -n n1 link set lo up
	ip -n n1 address add 10.11.0.2/24 dev "$netdev"
	ip -n n1 link set "$netdev" up
	wait_for 40 ping -q -c 1 -W 1 10.11.0.2 > /dev/null
}

down() {
	# First what asks the subnet manager to let it leave its groups.
	rdma link delete sib9
	rdma link delete sib8
	"$sm" stop 8
	ip netns delete n1
	ip link delete va
}

case ${1:-} in
up | down) "$1" ;;
*)
	echo "usage: veth.sh up | down" >&2
	exit 2
	;;
esac
