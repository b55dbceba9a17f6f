# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# HCAs go away under traffic: by rdma link del, and with the lower netdev.
source "$STACK/lib.sh"
stack_up
for round in 1 2 3; do
	traffic_start
	step "rdma link del under traffic, $round"
	timeout 60 rdma link delete sib0 || fail "rdma link delete: status $?"
	gone /sys/class/net/ib0 || fail "ib0 survives its HCA"
	traffic_stop
	stop_sm
	rdma link add sib0 type sib netdev va
	"${N[@]}" ip link set ib1 down
	"${N[@]}" ip address flush dev ib1
	wait_for 20 port_is sib0 INIT
	start_sm
	"${N[@]}" ip link set ib1 netns 1
	addresses
done
traffic_start
step "lower netdev deleted under traffic"
ip link delete va
wait_for 10 gone /sys/class/infiniband/sib0
wait_for 10 gone /sys/class/infiniband/sib1
traffic_stop
stack_down
