# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Interface down and up under traffic, MTU and cable changes meanwhile.
source "$STACK/lib.sh"
stack_up
traffic_start
for round in {1..10}; do
	step "down and up, $round"
	ip link set ib0 down
	ip link set ib0 up
	wait_for 60 ping -c 1 -W 1 10.0.0.2
done
for round in 1 2 3; do
	step "cable pulled, $round"
	ip link set va down
	wait_for 10 port_is sib0 DOWN
	ip link set va up
	wait_for 60 port_is sib0 ACTIVE
	wait_for 60 ping -c 1 -W 1 10.0.0.2
done
traffic_stop
stack_down
