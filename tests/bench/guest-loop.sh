#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086  # a figure's parameters are words
# In UML: two IPoIB interfaces on one cable, the second in a network namespace, of this
# driver and the kernel's in turns; and a veth pair alone. Used by tests/bench/loop.
# usage: guest-loop.sh LOADS ROUNDS MODE:PARAMETER,...
#   LOADS    of each driver
#   ROUNDS   of each figure with each load
#   MODE:... a figure: mode of the interfaces, parameters of the module packet_loop
# Prints `took DRIVER FIGURE LOST NS,...` for each figure and load. From the environment:
# STACK, SIB_KO, OURS_KO, INTREE_KO, LOOP_KO.
source "$STACK/lib.sh"

declare -A KO=([ours]=$OURS_KO [intree]=$INTREE_KO)
loads=$1 rounds=$2
figures=("${@:3}")

# measure DRIVER MODE ADDRESS: all figures of the mode
measure() {
	local figure words results=/sys/module/packet_loop/parameters
	for figure in "${figures[@]}"; do
		[[ $figure == $2:* ]] || continue
		words=${figure#*:}
		insmod "$LOOP_KO" netns=3 address="$3" rounds="$rounds" ${words//,/ } \
			3</run/netns/n1 || fail "$1, $figure"
		echo "took $1 $figure $(<$results/lost) $(<$results/took)"
		rmmod packet_loop
	done
}

# Only ours has a version: that the right one runs is not left to trust.
load_driver() {
	IPOIB_KO=${KO[$1]}
	load_ipoib
	case $1 in
	ours) [[ -e /sys/module/ib_ipoib/version ]] ;;
	intree) [[ ! -e /sys/module/ib_ipoib/version ]] ;;
	esac || fail "$IPOIB_KO is not the driver $1"
	addresses
}

connect() {
	echo connected >/sys/class/net/ib0/mode
	ip link set ib0 mtu 65520
	"${N[@]}" bash -c 'echo connected >/sys/class/net/ib1/mode && ip link set ib1 mtu 65520'
	wait_for 30 ping -c 1 -W 1 -M 'do' -s 60000 10.0.0.2
}

measure_driver() {
	step "$1"
	load_driver "$1"
	measure "$1" datagram 10.0.0.2
	connect
	measure "$1" connected 10.0.0.2
	rmmod ib_ipoib
}

reference_up() {
	ip netns add n1
	ip link add ra mtu 65520 type veth peer name rb mtu 65520 netns n1
	ip address add 10.1.0.1/24 dev ra
	"${N[@]}" ip address add 10.1.0.2/24 dev rb
	ip link set ra up
	"${N[@]}" ip link set rb up
	wait_for 10 ping -c 1 -W 1 10.1.0.2
}

[[ $(dmesg) == *"heap alloc:on"* ]] || fail "the kernel does not zero what it allocates"
reference_up
cable
load_sib
hcas
start_sm
for ((load = 0; load < loads; load++)); do
	# Neither is always the one that follows the other.
	if ((load % 2)); then
		measure_driver intree
		measure_driver ours
	else
		measure_driver ours
		measure_driver intree
	fi
	measure veth '*' 10.1.0.2
done
stop_sm
