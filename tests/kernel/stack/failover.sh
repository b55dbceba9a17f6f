# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154,SC2317
# shellcheck shell=bash
# Two hosts with two ports each, bonded, on a switch: the cables of both active ports
# go at the same time, so both hardware addresses change, and what the bonds announce is
# lost at one host, or at both. Each then sends to an address whose port is gone, until
# it looks its neighbour up again: that has to be enough, in both modes. A kernel whose own
# address changes forgets its neighbours, so what a host knew is put back: it may have
# asked again before its peer moved.
#
# clock: jump
source "$STACK/fabric-lib.sh"
source "$STACK/crowd-lib.sh"

# h0 and h1 are those of one host, h2 and h3 of the other; h4 has the subnet manager.
HOSTS=(0 1 2 3 4)
# seconds: reachable for 1.5, one more, three questions, then one to everybody; and four
# pings take a second each to find out
LIMIT=10
CROWD=4

cat >/run/topology <<-END
	Switch 8 "S-1"	# "leaf"
	[1] "h0"[1]
	[2] "h1"[1]
	[3] "h2"[1]
	[4] "h3"[1]
	[5] "h4"[1]
	Ca 1 "h0"
	Ca 1 "h1"
	Ca 1 "h2"
	Ca 1 "h3"
	Ca 1 "h4"
END

# bond HOST HCA HCA: their interfaces as one, that looks its neighbours up soon again
bond() {
	local host=$1 hca name
	at "$host" ip link add bond0 type bond mode active-backup miimon 50 fail_over_mac active
	for hca in "${@:2}"; do
		netdev_of "$hca"
		name=$NETDEV
		((host == 0)) || ip link set "$name" netns "n$host"
		at "$host" ip link set "$name" name "x$hca"
		at "$host" ip link set "x$hca" master bond0
	done
	at "$host" ip address add "10.0.0.$((host + 1))/24" dev bond0
	at "$host" ip -6 address add "fd00::$((host + 1))/64" dev bond0 nodad
	at "$host" ip link set bond0 up
	for family in ipv4 ipv6; do
		at "$host" sysctl -qw "net.$family.neigh.bond0.base_reachable_time_ms=1000" \
			"net.$family.neigh.bond0.delay_first_probe_time=1" \
			"net.$family.neigh.bond0.retrans_time_ms=200"
	done
}

# deaf HOST 0|1: whether it gets no announcement
deaf() {
	at "$1" sysctl -qw net.ipv4.conf.bond0.drop_gratuitous_arp="$2" \
		net.ipv6.conf.bond0.drop_unsolicited_na="$2"
}

# active HOST: the HCA of its bond
active() {
	at "$1" ip -d -j link show bond0 | grep -o '"active_slave":"xsib[0-9]"' | grep -o 'sib[0-9]'
}

# moved HOST HCA: its bond has another one
moved() {
	local now
	now=$(active "$1") && [[ $now != "$2" ]]
}

# peer HOST: the hardware address that it knows of the other one
peer() {
	at "$1" ip neigh show "10.0.0.$((2 - $1))" | sed -n 's/.* lladdr \([^ ]*\).*/\1/p'
}

# believe HOST ADDRESS: that of the other one is this
believe() {
	at "$1" ip neigh replace "10.0.0.$((2 - $1))" lladdr "$2" dev bond0 nud reachable
	at "$1" ip neigh replace "fd00::$((2 - $1))" lladdr "$2" dev bond0 nud reachable
}

# confirmed HOST: it has just heard from the other one
confirmed() {
	at "$1" ping -c 1 -W 1 "10.0.0.$((2 - $1))" >/dev/null
	at "$1" ip neigh show "10.0.0.$((2 - $1))" | grep REACHABLE
}

# everybody WHEN: every connection answers within the limit
everybody() {
	local host answers start took
	start=$(now_ms)
	for host in 0 1; do
		echo >&"${ASK[host]}"
	done
	for host in 0 1; do
		read -r -t $((LIMIT * 3)) answers <&"${ANSWER[host]}" ||
			fail "no answer to host $host $1: $(cat "/run/asker$host")"
	done
	took=$(($(now_ms) - start))
	((took <= LIMIT * 1000)) || fail "answers $1 after $took ms, and $LIMIT s are the most"
}

reached() {
	ping -c 1 -W 1 10.0.0.2 && at 1 ping -c 1 -W 1 10.0.0.1 &&
		ping -c 1 -W 1 fd00::2 && at 1 ping -c 1 -W 1 fd00::1
}

# both_fail_over DEAF...: at once, and these hosts are not told
both_fail_over() {
	local host old=() knew=() start took
	for host in "$@"; do
		deaf "$host" 1
	done
	for host in 0 1; do
		wait_for 20 confirmed "$host"
		old[host]=$(active "$host")
	done
	for host in "$@"; do
		knew[host]=$(peer "$host")
	done
	start=$(now_ms)
	for host in 0 1; do
		ip link set "h${old[host]#sib}" down
	done
	for host in 0 1; do
		wait_for 5 moved "$host" "${old[host]}"
	done
	for host in "$@"; do
		believe "$host" "${knew[host]}"
	done
	for host in "$@"; do
		[[ $(peer "$host") == "${knew[host]}" ]] || fail "host $host was told: $(peer "$host")"
	done
	wait_for "$LIMIT" reached
	took=$(($(now_ms) - start))
	for host in "$@"; do
		[[ $(peer "$host") != "${knew[host]}" ]] || fail "the address of host $host's peer is an old one"
	done
	everybody "after $took ms"
	echo "both moved, and at host $* it was lost: reached again after $took ms, TCP after $(($(now_ms) - start)) ms"
	for host in 0 1; do
		deaf "$host" 0
		ip link set "h${old[host]#sib}" up
		wait_for 30 port_is "${old[host]}" ACTIVE
	done
	wait_for 30 all_links
}

# what there is to see of connections, and what has been dropped
connections() {
	cat /sys/kernel/debug/ipoib/xsib?_connections
	for i in 0 1 2 3; do
		echo "xsib$i: $(at $((i / 2)) ethtool -S "xsib$i" | grep -v ': 0$')"
	done
	for i in 0 1; do
		echo "host $i: $(at "$i" ip -s link) $(at "$i" ip neigh) $(at "$i" nstat -as)"
	done
	cat /sys/class/infiniband/sib?/ports/1/hw_counters/* /proc/meminfo
}

# Each interface of the bonds has its carrier
all_links() {
	local host
	for host in 0 1; do
		[[ $(at "$host" ip -o link show master bond0 | grep -c LOWER_UP) == 2 ]] || return
	done
}

failovers() {
	both_fail_over 0
	both_fail_over 0 1
}

step "a fabric"
wires
fabric_up
hosts_up
opensm_on sib4 -s 10
hosts_active
for i in "${HOSTS[@]}"; do
	wait_for 10 netdev_of "sib$i"
done
ip netns add n1
at 1 ip link set lo up
bond 0 sib0 sib1
bond 1 sib2 sib3
wait_for 30 all_links
wait_for 30 reached
crowd 0 1 10.0.0.2 "$CROWD"
crowd 1 0 10.0.0.1 "$CROWD"
talk 0
talk 1
everybody "at first"

step "datagram mode"
failovers

step "connected mode"
for i in 0 1 2 3; do
	at $((i / 2)) ip link set "xsib$i" type ipoib mode connected
done
for host in 0 1; do
	at "$host" ip link set bond0 mtu 65520
done
wait_for 30 ping -c 1 -W 1 -s 60000 -M "do" 10.0.0.2
failovers
ping -c 3 -i 0.1 -W 5 -s 60000 -M "do" 10.0.0.2 ||
	fail "no long packets after all: $(connections)"

step "the end"
for host in 0 1; do
	ask=${ASK[host]}
	exec {ask}>&-
done
wait "${ASKERS[@]}" || fail "a connection was lost: $(cat /run/asker0 /run/asker1)"
kill "${SERVERS[@]}"
ip link delete bond0
at 1 ip link delete bond0
hosts_down
