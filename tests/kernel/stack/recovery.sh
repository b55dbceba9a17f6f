# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154,SC2317
# shellcheck shell=bash
# How soon a fabric of two switches, two links between them and two subnet managers carries
# IP again: each recovery has a bound (within, in fabric-lib.sh).
#
# clock: jump
source "$STACK/handover-lib.sh"

reached() {
	ping -q -c 1 -i 0.1 -w 60 10.0.0.3 && ping -q -c 1 -i 0.1 -w 60 fd00::3
}

# found: and its hardware address is asked for
found() {
	ip neigh flush all
	reached
}

# carrying: the port of leaf1 by which h0 reaches h2
carrying() {
	local port before=()
	for port in 7 8; do
		before[port]=$(sent $port)
	done
	ping -q -c 20 -i 0.1 10.0.0.3 >/run/ping
	for port in 7 8; do
		(($(sent $port) - before[port] < 20)) || { echo $port && return; }
	done
	return 1
}

# sent PORT: what that port of leaf1 has sent
sent() {
	"${CTL[@]}" counters "leaf1:$1" | awk '$1 == "PortUnicastXmitPkts" {print $2}'
}

step "a fabric"
wires
fabric_up
hosts_up
sm_on 0 9
hosts_active
hosts_addresses
hosts_ping 30
sm_on 1 5

for round in 1 2; do
	port=$(carrying) || fail "neither link carries what h2 gets: $(cat /run/ping)"
	fails "link $port between the switches fails, which carries what h2 gets"
	"${CTL[@]}" fault link "leaf1:$port" down
	within 700 reached
	within 700 found
	"${CTL[@]}" fault link "leaf1:$port" up
	wait_for 30 port_of leaf1 "$port" active
done

fails "a cable is pulled"
ip link set s2 down
within 300 port_not sib2 ACTIVE
fails "and plugged"
ip link set s2 up
within 3300 reached

fails "an HCA stops sending"
echo 1 >/sys/kernel/debug/sib/sib0/hang_sends
within 17000 reached
(($(ethtool -S ib0 | sed -n 's/^ *tx_stalls: //p') > 0)) || fail "ib0 has not stopped"

fails "an HCA goes, and comes back"
rdma link delete sib2
ip netns delete n2
rdma link add sib2 type sib netdev h2
address 2
within 700 reached

fails "the master is killed"
sm_killed 0
within 15000 is_master 1
within 15000 found
fails "it comes back, with the higher priority"
sm_on 0 9
within 3000 is_master 0
within 3000 found

step "the end"
kill "${SMS[1]}"
wait "${SMS[1]}" || true
hosts_down
