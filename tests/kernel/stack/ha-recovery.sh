# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# How soon a peer reaches a host with ipoib-ha again whose active port fails: its cable is
# pulled, the switch has it down, or the HCA goes. Each failover has a bound (within, in
# fabric-lib.sh).
#
# clock: jump
source "$STACK/ha-lib.sh"

heard() {
	"${N[@]}" ping -q -c 1 -i 0.1 -w 60 10.0.0.1
}

# switch_port SWITCH:PORT up|down
switch_port() {
	"${CTL[@]}" fault link "$1" "$2"
}

# fail_over BOUND ACTIVE OTHER COMMAND...: ACTIVE fails by it
fail_over() {
	active_is "$2" || fail "$(active) is active, not $2"
	fails "${*:4}"
	"${@:4}"
	within "$1" heard
	active_is "$3" || fail "$(active) is active, not $3"
}

step "a host with two ports"
a_fabric
addresses
"${HA[@]}" -p ib0 -s ib1 --with-arping >/run/ha.log 2>&1 &
DAEMON=$!
wait_for 60 healthy
wait_for 60 heard

fail_over 300 ib0 ib1 ip link set h0 down
ip link set h0 up
wait_for 60 healthy
fail_over 300 ib1 ib0 switch_port leaf2:1 down
"${CTL[@]}" fault clear
wait_for 60 healthy
fail_over 300 ib0 ib1 rdma link delete sib0
cat /run/ha.log

step "stack down"
kill $DAEMON
wait $DAEMON || fail "the daemon: $(tail -n 5 /run/ha.log)"
rdma link add sib0 type sib netdev h0
hosts_down
