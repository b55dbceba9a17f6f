# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# ipoib-ha and what is rarer: children on a further partition, with addresses, routes,
# permanent neighbours, groups and settings of their own, and an IPv6 route of which the
# interfaces are legs beside another (this kernel has no such routes of IPv4). All of it
# goes to the other port and comes back.
source "$STACK/ha-lib.sh"

CHILD=ib0.8001

# As everywhere, and what is not where it should be
fail() {
	echo "FAILED: $*"
	cat /run/differs /run/ha.log
	dmesg | tail -n 15
	exit 1
}

# setting INTERFACE: the file of one that belongs to the identity
setting() {
	echo "/proc/sys/net/ipv4/conf/$1/arp_announce"
}

# children: of both ports and of the peer; w0 is no business of ipoib-ha
children() {
	local port
	for port in ib0 ib1; do
		ip link add link $port name $port.8001 type ipoib pkey 0x8001
		ip link set $port.8001 up
	done
	"${N[@]}" ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001
	"${N[@]}" ip link set ib0.8001 up
	"${N[@]}" ip address add 10.1.0.2/24 dev ib0.8001
	"${N[@]}" ip -6 address add fd01::2/64 dev ib0.8001 nodad
	"${N[@]}" ip -6 address add fd00::2/64 dev ib0 nodad
	"${N[@]}" ip link set lo up
	ip link add w0 type veth peer name w1 netns n1
	ip -6 address add fd02::1/64 dev w0 nodad
	ip link set w0 up
	"${N[@]}" ip link set w1 up
}

identity() {
	ip -6 address add fd00::1/64 dev ib0 nodad
	ip address add 10.1.0.1/24 dev $CHILD
	ip address add 10.1.0.11/24 dev $CHILD
	ip -6 address add fd01::1/64 dev $CHILD nodad
	ip route add 10.7.0.0/24 via 10.1.0.2 dev $CHILD src 10.1.0.11 metric 7 table 77
	ip -6 route add fd08::/64 nexthop via fd00::2 dev ib0 weight 3 \
		nexthop via fd02::2 dev w0 weight 2 nexthop via fd01::2 dev $CHILD weight 1
	ip neighbour add 10.1.0.99 dev $CHILD nud permanent \
		lladdr 80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:00:99
	echo 2 >"$(setting $CHILD)"
}

# identity_of PORT: all that belongs to it and its child, the port's name as PORT
identity_of() {
	local port=$1 device
	{
		for device in "$port" "$port.8001"; do
			ip -o address show dev "$device" scope global | awk '{print $2, $3, $4}'
			ip neighbour show dev "$device" nud permanent | sed "s/^/$device /"
			echo "$device arp_announce $(cat "$(setting "$device")")"
			ip maddress show dev "$device" | grep -o '239.7.1.2' | sed "s/^/$device /" || true
		done
		ip route show table 77 proto boot
		ip -6 route show fd08::/64 proto boot | sort
	} | sed -E "s/\b$port\b/PORT/g; s/ (linkdown|dead)\b//g; s/ +/ /g; s/ $//"
}

on_port() {
	diff <(echo "$IDENTITY") <(identity_of "$1") >/run/differs
}

# everything_on PORT
everything_on() {
	local device other=ib1
	[[ $1 == ib0 ]] || other=ib0
	wait_for 60 on_port "$1"
	for device in $other $other.8001; do
		[[ -z $(ip -o address show dev $device scope global) ]] ||
			fail "left behind: $(ip address show dev $device)"
	done
	wait_for 60 "${N[@]}" ping -c 1 -W 1 10.1.0.1
	wait_for 60 "${N[@]}" ping -c 1 -W 1 10.1.0.11
	wait_for 60 "${N[@]}" ping -c 1 -W 1 fd01::1
	wait_for 60 "${N[@]}" ping -c 1 -W 1 fd00::1
}

step "a fabric, children, an identity"
partitions blue=0x1
a_fabric
addresses
children
identity
"$STACK/member.py" 239.7.1.2 10.1.0.1 &
MEMBER=$!
wait_for 60 "${N[@]}" ping -c 1 -W 1 10.1.0.1
wait_for 60 "${N[@]}" ping -c 1 -W 1 fd01::1
IDENTITY=$(identity_of ib0)
echo "$IDENTITY"

step "the daemon"
"${HA[@]}" -p ib0 -s ib1 --with-arping --with-multicast -v >/run/ha.log 2>&1 &
DAEMON=$!
wait_for 60 healthy

step "the port fails"
ip link set h0 down
wait_for 60 active_is ib1
everything_on ib1

step "back by hand"
ip link set h0 up
wait_for 60 healthy
"${HA[@]}" switch >/dev/null || healthy_or_degraded
wait_for 60 active_is ib0
everything_on ib0

step "killed while the other port fails"
"${HA[@]}" switch >/dev/null || healthy_or_degraded
everything_on ib1
kill -KILL $DAEMON
wait $DAEMON || true
ip link set h1 down
"${HA[@]}" -p ib0 -s ib1 --with-arping --with-multicast -v >>/run/ha.log 2>&1 &
DAEMON=$!
wait_for 60 active_is ib0
everything_on ib0
ip link set h1 up
wait_for 60 healthy

step "stack down"
cat /run/ha.log
kill $DAEMON
wait $DAEMON || fail "the daemon: $(tail -n 5 /run/ha.log)"
everything_on ib0
kill $MEMBER
hosts_down
