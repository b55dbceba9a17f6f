# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# A host with three ports and one identity: two cables are pulled, one after the other, the daemon
# is killed, the cables come back, and the identity is always on one port that works.
source "$STACK/ha-lib.sh"

HOSTS=(0 1 2 3)
PORTS=(ib0 ib1 ib2)

# As everywhere, and what the daemon says
fail() {
	echo "FAILED: $*"
	cat /run/differs /run/ha.log || true
	"${HA[@]}" status || true
	dmesg | tail -n 15
	exit 1
}

daemon() {
	"${HA[@]}" -p ib0 -s ib1:ib2 --with-arping >>/run/ha.log 2>&1 &
	DAEMON=$!
	wait_for 60 healthy_or_degraded
}

identity() {
	ip -6 address add fd00::1/64 dev ib0 nodad
	ip address add 10.0.0.11/24 dev ib0
	ip route add 10.7.0.0/24 via 10.0.0.2 dev ib0 src 10.0.0.11 metric 7 table 77
	"${N[@]}" ip -6 address add fd00::2/64 dev ib0 nodad
}

# identity_of PORT: all that belongs to it, the port's name as PORT
identity_of() {
	{
		ip -o address show dev "$1" scope global | awk '{print $2, $3, $4}'
		ip route show table 77 dev "$1" proto boot
	} | sed -E "s/\b$1\b/PORT/g; s/ (linkdown|dead)\b//g; s/ +/ /g; s/ $//"
}

on_port() {
	diff <(echo "$IDENTITY") <(identity_of "$1") >/run/differs
}

# parts: the ports as status has them, as ib0:active
parts() {
	{ "${HA[@]}" status || true; } | awk '/^ib/ { printf "%s%s:%s", sep, $1, $2; sep = " " }'
}

parts_are() {
	[[ $(parts) == "$*" ]]
}

# setting PORT NAME: its value
setting() {
	cat "/proc/sys/net/ipv4/conf/$1/$2"
}

# at_rest ACTIVE STANDBY SPARE: each has what it needs, and nothing else
at_rest() {
	wait_for 60 on_port "$1"
	wait_for 20 stands_in "$2"
	wait_for 20 nothing_else "$@"
	wait_for 60 "${N[@]}" ping -c 1 -W 1 10.0.0.1
	wait_for 60 "${N[@]}" ping -c 1 -W 1 fd00::1
}

stands_in() {
	[[ -n $(ip route show table all dev "$1" proto 157) ]]
}

# nothing_else ACTIVE STANDBY SPARE: no identity, stand-in or setting is left where it was
nothing_else() {
	local port
	[[ -z $(identity_of "$2")$(identity_of "$3") ]] || return 1
	if stands_in "$1" || stands_in "$3"; then
		return 1
	fi
	for port; do
		[[ $(setting "$port" arp_ignore) == 1 ]] || return 1
	done
	[[ $(setting "$2" ignore_routes_with_linkdown)$(setting "$3" ignore_routes_with_linkdown) == 00 ]]
}

step "a host with three ports"
a_fabric
addresses
ip link set x3 name ib2
identity
IDENTITY=$(identity_of ib0)
daemon
wait_for 60 healthy
wait_for 60 parts_are ib0:active ib1:standby ib2:spare
at_rest ib0 ib1 ib2

step "the cable of ib0 is pulled"
ip link set h0 down
wait_for 60 parts_are ib1:active ib2:standby ib0:spare
at_rest ib1 ib2 ib0

step "the daemon is killed, and the next one goes on"
kill -9 $DAEMON
wait $DAEMON || true
daemon
wait_for 60 parts_are ib1:active ib2:standby ib0:spare
at_rest ib1 ib2 ib0

step "the cable of ib1 is pulled as well"
ip link set h1 down
wait_for 60 active_is ib2
wait_for 60 on_port ib2
wait_for 60 "${N[@]}" ping -c 1 -W 1 10.0.0.1

step "both cables come back, and the identity stays"
ip link set h0 up
ip link set h1 up
wait_for 60 healthy
wait_for 60 parts_are ib0:standby ib2:active ib1:spare
at_rest ib2 ib0 ib1

step "by hand to the standby"
"${HA[@]}" switch ib1 >/run/switch || healthy_or_degraded || fail "$(cat /run/switch)"
wait_for 60 active_is ib0
wait_for 60 parts_are ib0:active ib1:standby ib2:spare
at_rest ib0 ib1 ib2
cat /run/ha.log

step "the daemon ends, and nothing is left"
kill $DAEMON
wait $DAEMON || fail "the daemon ended with $?"
for port in "${PORTS[@]}"; do
	for name in arp_ignore promote_secondaries ignore_routes_with_linkdown; do
		[[ $(setting "$port" $name) == 0 ]] || fail "$port has $name"
	done
	! stands_in "$port" || fail "$port stands in"
done
on_port ib0 || fail "the identity is gone"

step "stack down"
hosts_down
