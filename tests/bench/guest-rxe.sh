#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# In a guest: two HCAs of a kind at the ends of one veth pair, and programs of
# perftest between them. Used by tests/bench/rxe.
# usage: guest-rxe.sh up sib|rxe | down sib|rxe | run|typical sib|rxe PROGRAM ARGS...
# run prints how many nanoseconds the client took, typical what it says of a typical
# message, in cycles.
set -euo pipefail

source "$(dirname "$0")/guest-lib.sh"

PORT=18600

port_is() {
	[[ $(<"/sys/class/infiniband/$1/ports/1/state") == *"$2" ]]
}

# RoCE goes by IP: have what one end sends to the other leave through the veth,
# although both addresses are those of this host.
route_through_veth() {
	ip addr replace 10.12.0.1/32 dev va
	ip addr replace 10.12.0.2/32 dev vb
	ip rule list | grep -q 'lookup 100' && return
	sysctl -q -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.va.rp_filter=0 \
		net.ipv4.conf.vb.rp_filter=0 net.ipv4.conf.va.accept_local=1 \
		net.ipv4.conf.vb.accept_local=1
	ip route add 10.12.0.2 dev va src 10.12.0.1 table 100
	ip route add 10.12.0.1 dev vb src 10.12.0.2 table 100
	ip neigh replace 10.12.0.2 dev va lladdr "$(</sys/class/net/vb/address)"
	ip neigh replace 10.12.0.1 dev vb lladdr "$(</sys/class/net/va/address)"
	ip rule add pref 1 dev va lookup local
	ip rule add pref 2 dev vb lookup local
	ip rule add pref 3 to 10.12.0.0/24 lookup 100
	ip rule add pref 4 lookup local
	ip rule del pref 0
}

up() {
	if [[ ! -e /sys/class/net/va ]]; then
		veth_up
		route_through_veth
	fi
	rdma link add "${1}8" type "$1" netdev va
	rdma link add "${1}9" type "$1" netdev vb
	[[ $1 != sib ]] || "$(dirname "$0")/../../scripts/lablib/lab-sm" start 8
	wait_for 40 port_is "${1}8" ACTIVE
	wait_for 40 port_is "${1}9" ACTIVE
}

down() {
	[[ $1 != sib ]] || "$(dirname "$0")/../../scripts/lablib/lab-sm" stop 8
	rdma link delete "${1}8"
	rdma link delete "${1}9"
}

listening() {
	ss -Hltn "sport = $PORT" | grep -q .
}

# What perftest says of seconds it works out from the processor's frequency, which an
# emulated processor does not have: the clock on the wall is right.
run() {
	local kind=$1 gid=() start end
	shift
	[[ $kind != rxe ]] || gid=(-x 1)
	timeout 100 "$@" -F -p $PORT "${gid[@]}" -d "${kind}8" >/tmp/server 2>&1 &
	wait_for 20 listening
	start=$(date +%s%N)
	timeout 100 "$@" -F -p $PORT "${gid[@]}" -d "${kind}9" 127.0.0.1 >/tmp/client 2>&1 ||
		die "client: status $?: $(tail -n 5 /tmp/client /tmp/server)"
	end=$(date +%s%N)
	wait $! || die "server: $(tail -n 5 /tmp/server)"
	echo $((end - start))
}

# The median of all messages, half of the way there and back: cycles need no frequency.
typical() {
	run "$@" -C >/dev/null
	awk 'seen && $5 + 0 > 0 { print $5; exit } /#bytes/ { seen = 1 }' /tmp/client
}

[[ ${2:-} == sib || ${2:-} == rxe ]] || die "usage: up|down|run|typical sib|rxe ..."
case $1 in
up | down | run | typical) "$@" ;;
*) die "unknown command $1" ;;
esac
