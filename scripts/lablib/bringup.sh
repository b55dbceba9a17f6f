#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Bring up the network of a guest; runs in the guest, started by `lab up`.
# usage: bringup.sh devices NUMBER PORTS IB_MTU MAC
#        bringup.sh address NUMBER PORTS SECONDS
#        bringup.sh reach PORTS SECONDS
set -u

die() { echo "$*" >&2; exit 1; }

# wait_for SECONDS CONDITION...: until the condition holds, at most so long
wait_for() {
	deadline=$(($(uptime_ms) + $1 * 1000))
	shift
	until "$@"; do
		[ "$(uptime_ms)" -lt "$deadline" ] || return 1
		sleep 0.1
	done
}

uptime_ms() {
	read -r up _ < /proc/uptime
	echo "$((${up%.*} * 1000 + 1${up#*.}0 - 1000))"
}

# name_cables MAC: the lower devices. The cable of port p is eth<p+1>, found by its address,
# of which the last byte is p; MAC is any of them.
name_cables() {
	for path in /sys/class/net/*; do
		[ -e "$path/device" ] || continue
		read -r mac < "$path/address"
		[ "${mac%:*}" = "${1%:*}" ] || continue
		port=$((0x${mac##*:}))
		name=eth$((port + 1))
		[ "${path##*/}" = "$name" ] || ip link set "${path##*/}" name "cable$port" || return 1
	done
	for path in /sys/class/net/cable*; do
		[ -e "$path" ] || continue
		ip link set "${path##*/}" name "eth$((${path##*/cable} + 1))" || return 1
	done
}

devices() {
	number=$1 ports=$2 ib_mtu=$3 mac=$4
	echo "$ib_mtu" > /run/lab/ib-mtu
	ip link set lo up
	{
		echo "127.0.0.1 localhost"
		echo "::1 localhost"
		for host in $(seq 1 16); do
			echo "10.10.0.$host h$host"
			echo "fd10::$host h$host"
		done
	} > /etc/hosts
	name_cables "$mac" || die "cannot name the cables"
	for module in ib_umad ib_uverbs rdma_ucm ib_ipoib; do
		modprobe "$module" || die "modprobe $module failed"
	done
	for port in $(seq 0 $((ports - 1))); do
		lower=eth$((port + 1))
		ip link set "$lower" mtu 65535 up || die "cannot set $lower up"
		rdma link add "sib$port" type sib netdev "$lower" ||
			die "rdma link add sib$port type sib netdev $lower failed"
		printf %s "$(hostname) sib$port" > "/sys/class/infiniband/sib$port/node_desc"
		[ -d "/sys/class/net/ib$port" ] || wait_for 60 test -d "/sys/class/net/ib$port" ||
			die "no ib$port appeared for sib$port"
	done
}

has_carrier() { [ "$(cat "/sys/class/net/$1/carrier" 2> /dev/null)" = 1 ]; }

address() {
	number=$1 ports=$2 seconds=$3
	# Ports may share a subnet: each is to answer for its own addresses alone.
	if [ "$ports" -gt 1 ]; then
		echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore
		echo 2 > /proc/sys/net/ipv4/conf/all/arp_announce
	fi
	for port in $(seq 0 $((ports - 1))); do
		if [ "$port" = 0 ]; then prefix=fd10::; else prefix=fd10:$port::; fi
		ip link set "ib$port" up || die "cannot set ib$port up"
		ip addr replace "10.10.$port.$number/24" dev "ib$port" || die "no address on ib$port"
		ip addr replace "$prefix$number/64" dev "ib$port" nodad || die "no address on ib$port"
	done
	[ "$seconds" -gt 0 ] || return 0
	for port in $(seq 0 $((ports - 1))); do
		wait_for "$seconds" has_carrier "ib$port" || {
			ip link show "ib$port" >&2
			rdma link show >&2
			die "ib$port has no carrier after $seconds s"
		}
	done
}

reach() {
	ports=$1 seconds=$2
	for port in $(seq 0 $((ports - 1))); do
		if [ "$port" = 0 ]; then prefix=fd10::; else prefix=fd10:$port::; fi
		for target in "10.10.$port.1" "${prefix}1"; do
			wait_for "$seconds" ping -q -c 1 -i 0.1 -w 1 "$target" > /run/lab/ping 2>&1 || {
				cat /run/lab/ping >&2
				ip neigh show dev "ib$port" >&2
				die "no answer from $target on ib$port within $seconds s"
			}
		done
	done
}

phase=$1
shift
"$phase" "$@"
