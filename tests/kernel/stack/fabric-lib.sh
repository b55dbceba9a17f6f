# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154
# shellcheck shell=bash
# What scenarios share that have several hosts on the switches of ibfabric: h0 to
# hN in /run/topology, each with an HCA, sib0 to sibN. Host 0 is here, host I is in
# the namespace nI; its interface is DEV[I], its addresses 10.0.0.(I+1) and
# fd00::(I+1). The scenario sets HOSTS.
source "$STACK/lib.sh"

CTL=("$IBFABRIC-ctl" --socket /run/fabric.socket)
DEV=()
FABRIC=

# wires: the end hI of a cable has the HCA, the end sI the switch
wires() {
	local i
	for i in "${HOSTS[@]}"; do
		ip link add "h$i" mtu 9000 type veth peer name "s$i" mtu 9000
		ip link set "h$i" up
		ip link set "s$i" up
	done
}

# fabric_up [OPTION...]: ibfabric on /run/topology and these wires
fabric_up() {
	local i ports=()
	for i in "${HOSTS[@]}"; do
		ports+=(--port "h$i:1=netdev:s$i")
	done
	"$IBFABRIC" --topology /run/topology --control /run/fabric.socket "${ports[@]}" \
		"$@" >/run/ibfabric.log 2>&1 &
	FABRIC=$!
}

fabric_down() {
	kill "$FABRIC"
	wait "$FABRIC" || fail "ibfabric ended with $?: $(cat /run/ibfabric.log)"
	FABRIC=
}

hosts_up() {
	local i
	load_sib
	load_ipoib
	for i in "${HOSTS[@]}"; do
		rdma link add "sib$i" type sib netdev "h$i"
	done
	for i in "${HOSTS[@]}"; do
		wait_for 20 port_is "sib$i" INIT
	done
}

hosts_active() {
	local i
	for i in "${HOSTS[@]}"; do
		wait_for 60 port_is "sib$i" ACTIVE
	done
}

# at HOST COMMAND...: the command, there. ip netns exec would mount /sys each time.
at() {
	local host=$1
	shift
	if ((host > 0)); then
		nsenter --net="/run/netns/n$host" "$@"
	else
		"$@"
	fi
}

# address HOST: that host's interface gets its addresses and comes up
address() {
	local host=$1
	wait_for 10 netdev_of "sib$host"
	DEV[host]=$NETDEV
	if ((host > 0)); then
		ip netns add "n$host"
		ip link set "${DEV[host]}" netns "n$host"
	fi
	at "$host" ip -batch - <<-END
		link set lo up
		address add 10.0.0.$((host + 1))/24 dev ${DEV[host]}
		address add fd00::$((host + 1))/64 dev ${DEV[host]} nodad
		link set ${DEV[host]} up
	END
}

hosts_addresses() {
	local i
	for i in "${HOSTS[@]}"; do
		address "$i"
	done
}

# hosts_ping SECONDS: each host reaches each other one within that time, IPv4 and IPv6
hosts_ping() {
	local from to
	for from in "${HOSTS[@]}"; do
		for to in "${HOSTS[@]}"; do
			((from != to)) || continue
			wait_for "$1" at "$from" ping -c 1 -W 1 "10.0.0.$((to + 1))"
			wait_for "$1" at "$from" ping -c 1 -W 1 "fd00::$((to + 1))"
		done
	done
}

# fails WHAT: something does, from now on
fails() {
	step "$*"
	start=$(now_ms)
}

# within MS COMMAND...: it succeeds so soon after what has failed. A bound is about three times
# what the recovery took when it was written (300 ms where it took none), so that one that
# comes to take ten times as long is found. Bounds are for scenarios whose clock jumps: there
# work takes no time, and what is measured is timers, retries and sweeps, however loaded the
# machine is.
within() {
	local took
	wait_for 60 "${@:2}"
	took=$(($(now_ms) - start))
	echo "${*:2}: after $took ms, of $1"
	((took <= $1)) || fail "${*:2}: after $took ms, and $1 are the most"
}

# port_of SWITCH PORT STATE: whether it is in that state
port_of() {
	"${CTL[@]}" status | sed -n "/^$1 /,/^[^ ]/p" | grep -q "^ *$2  $3"
}

# everything down again, in the order of stack_down: what is left is a leak
hosts_down() {
	local i
	rmmod ib_ipoib
	stop_sm
	[[ -z $FABRIC ]] || fabric_down
	for i in "${HOSTS[@]}"; do
		rdma link delete "sib$i"
	done
	rmmod sib
	for i in "${HOSTS[@]}"; do
		ip link delete "h$i"
		[[ ! -e /run/netns/n$i ]] || ip netns delete "n$i"
	done
}
