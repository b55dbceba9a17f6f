# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Two hosts with two ports each, port with port on a cable of its own, and
# ipoib-ha on both: the cable goes under ping and TCP, the daemon is killed in the
# middle, the primary comes back. IPOIB_HA names the program.
source "$STACK/lib.sh"

declare -A SMS DAEMON

# As everywhere, and what the daemons have said
fail() {
	echo "FAILED: $*"
	head -n 50 /run/ha1.log /run/ha2.log
	dmesg | tail -n 15
	exit 1
}

# a second pair of HCAs, on a cable of its own
second_cable() {
	ip link add vc mtu 9000 type veth peer name vd mtu 9000
	ip link set vc up
	ip link set vd up
	rdma link add sib2 type sib netdev vc
	rdma link add sib3 type sib netdev vd
	wait_for 60 port_is sib2 INIT
	wait_for 60 port_is sib3 INIT
}

# sm HCA: a subnet manager on its port, with files of its own
sm() {
	mkdir -p "/run/sm-$1"
	gid_tail "$1"
	OSM_TMP_DIR=/run/sm-$1 OSM_CACHE_DIR=/run/sm-$1 opensm -s 2 \
		-g "0x${TAIL//:/}" -f "/run/sm-$1/log" -P /run/partitions.conf \
		>"/run/sm-$1/out" 2>&1 &
	SMS[$1]=$!
}

# interface HCA NAME [netns]: name its interface, set it up
interface() {
	local in=()
	wait_for 60 netdev_of "$1"
	[[ $NETDEV == "$2" ]] || ip link set "$NETDEV" name "$2"
	[[ -z ${3-} ]] || { ip link set "$2" netns "$3"; in=("${N[@]}"); }
	"${in[@]}" ip link set "$2" up
}

HA1=("$IPOIB_HA" --run-folder /run/ha1)
HA2=("${N[@]}" "$IPOIB_HA" --run-folder /run/ha2)

# ha HOST ARGUMENT...: its program
ha() {
	local -n program=HA$1
	shift
	"${program[@]}" "$@"
}

# daemon HOST [OPTION...]: start it
daemon() {
	local -n program=HA$1
	local host=$1 names=(-p ib0 -s ib2)
	shift
	[[ $host == 1 ]] || names=(-p ib1 -s ib3)
	"${program[@]}" "${names[@]}" --with-arping --with-multicast -v "$@" \
		>>"/run/ha$host.log" 2>&1 &
	DAEMON[$host]=$!
	wait_for 60 healthy_or_degraded "$host"
}

healthy_or_degraded() {
	local status=0
	ha "$1" status || status=$?
	((status == 0 || status == 2))
}

healthy() {
	ha "$1" status
}

# kill_daemon HOST SIGNAL
kill_daemon() {
	kill "-$2" "${DAEMON[$1]}" 2>/dev/null || true
	wait "${DAEMON[$1]}" 2>/dev/null || true
}

# active_is HOST INTERFACE; with a port down the status is "degraded"
active_is() {
	{ ha "$1" status -j || true; } |
		python3 -c 'import json, sys
for one in json.load(sys.stdin)["pairs"][0]["interfaces"]:
    if one["active"]: sys.exit(one["name"] != sys.argv[1])' "$2"
}

# holders HOST ADDRESS: the interfaces that have it
holders() {
	local in=()
	[[ $1 == 1 ]] || in=("${N[@]}")
	"${in[@]}" ip -o address show to "$2" | awk '{print $2}' | xargs
}

holds() {
	[[ $(holders "$1" "$2") == "$3" ]]
}

everything_on() {
	holds 1 10.0.0.1 "$1" && holds 1 10.0.0.11 "$1" && holds 1 fd00::1 "$1" &&
		[[ $(ip route show 10.9.0.0/24 table 77) == *"dev $1"* &&
			$(ip rule show pref 500) == *"iif $1 "* &&
			$(ip neighbour show 10.0.0.99) == "10.0.0.99 dev $1 "*PERMANENT* ]]
}

# goes_by INTERFACE: packets to the peer, always from the same address
goes_by() {
	[[ $(ip route get 10.0.0.2) == "10.0.0.2 dev $1 src 10.0.0.1 "* ]]
}

# Whatever the daemon needed only for itself
nothing_left() {
	[[ -z $(ip route show proto 157 table all) ]] &&
		! grep -q 1 /proc/sys/net/ipv4/conf/ib[02]/ignore_routes_with_linkdown
}

# joined INTERFACE...: the group of the scenario's own member
joined() {
	local each
	for each in "$@"; do
		ip maddress show dev "$each" | grep -q 239.7.1.2 || return 1
	done
}

down() {
	local end
	for end in "$@"; do
		ip link set "$end" down
	done
}

up() {
	local end
	for end in "$@"; do
		ip link set "$end" up
	done
}

# cut_off FROM TO HCA: the target cannot be reached by FROM any more, as the daemon finds
cut_off() {
	echo 1000000 >"/sys/kernel/debug/sib/$3/drop_ppm"
	wait_for 60 active_is 1 "$2"
	wait_for 60 everything_on "$2"
	wait_for 60 grep -q "moving from $1 to $2: $1: its target does not answer" /run/ha1.log
	echo 0 >"/sys/kernel/debug/sib/$3/drop_ppm"
	wait_for 60 healthy 1
	kill_daemon 1 TERM
}

step "two hosts, two cables"
cable
load_sib
load_ipoib
hcas
second_cable
echo "Default=0x7fff,ipoib,mtu=$IB_MTU:ALL=full;" >/run/partitions.conf
sm sib0
sm sib2
for hca in sib0 sib1 sib2 sib3; do
	wait_for 60 port_is $hca ACTIVE
done
ip netns add n1
"${N[@]}" ip link set lo up
# Names that the kernel has given must not be in the way.
for hca in sib0 sib1 sib2 sib3; do
	wait_for 60 netdev_of $hca
	ip link set "$NETDEV" name "x$hca"
done
netdev_of() {
	local path
	gid_tail "$1"
	for path in /sys/class/net/xsib* /sys/class/net/ib*; do
		NETDEV=${path##*/}
		! first_line "$path/address" || [[ $LINE != *"$TAIL" ]] || return 0
	done
	return 1
}
interface sib0 ib0
interface sib2 ib2
interface sib1 ib1 n1
interface sib3 ib3 n1
wait_for 60 is_running ib0
wait_for 60 is_running ib2
ip address add 10.0.0.1/24 dev ib0
ip address add 10.0.0.11/24 dev ib0 label ib0:x
ip -6 address add fd00::1/64 dev ib0 nodad
ip route add 10.9.0.0/24 via 10.0.0.2 src 10.0.0.11 metric 5 table 77
ip rule add iif ib0 lookup 77 pref 500
ip neighbour add 10.0.0.99 dev ib0 nud permanent \
	lladdr 80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:00:99
"$STACK/member.py" 239.7.1.2 10.0.0.1 &
MEMBER=$!
"${N[@]}" ip address add 10.0.0.2/24 dev ib1
"${N[@]}" ip -6 address add fd00::2/64 dev ib1 nodad
wait_for 60 ping -c 1 -W 1 10.0.0.2

step "the daemons"
daemon 1
daemon 2
wait_for 60 healthy 1
wait_for 60 healthy 2
wait_for 60 joined ib0 ib2
! timeout 60 "${HA1[@]}" -p ib0 -s ib2 2>/run/second || fail "two daemons at once"
grep -q 'another one runs' /run/second || fail "$(cat /run/second)"

step "traffic"
numbers_start
ping -D -i 0.05 10.0.0.2 >/run/pings 2>&1 &
PINGER=$!

step "the cable goes; the kernel turns to the other one, whatever the daemon does"
goes_by ib0 || fail "$(ip route get 10.0.0.2)"
[[ $(ip route show table 77 proto 157) == "10.9.0.0/24 via 10.0.0.2 dev ib2 "*"metric 6"* ]] ||
	fail "nothing stands in: $(ip route show table 77)"
kill -STOP "${DAEMON[1]}"
down va
wait_for 60 goes_by ib2
kill -CONT "${DAEMON[1]}"
wait_for 60 active_is 1 ib2
wait_for 60 active_is 2 ib3
wait_for 60 everything_on ib2 || fail "not everything has moved"
wait_for 60 ping -c 1 -W 1 -I 10.0.0.1 10.0.0.2
wait_for 60 ping -c 1 -W 1 fd00::2
[[ $(ip address show dev ib2) == *ib2:x* ]] || fail "the label has not moved"
ha 1 status || true

step "it comes back; the other goes while a daemon is dead"
up va
for hca in sib0 sib1; do
	wait_for 60 port_is $hca ACTIVE
done
wait_for 60 healthy 1
wait_for 60 healthy 2
kill_daemon 1 KILL
down vc
wait_for 60 active_is 2 ib1
daemon 1
wait_for 60 active_is 1 ib0
wait_for 60 everything_on ib0 || fail "not everything has moved back"
wait_for 60 ping -c 1 -W 1 -I 10.0.0.1 10.0.0.2

step "the connection has survived"
numbers_end
kill -INT $PINGER
wait $PINGER || true
tail -n 3 /run/pings
awk -F'[][]' '/bytes from/ { if (last && $2 - last > gap) gap = $2 - last; last = $2 }
	END { printf "longest silence: %.3f s\n", gap }' /run/pings

step "failback"
up vc
for hca in sib2 sib3; do
	wait_for 60 port_is $hca ACTIVE
done
kill_daemon 1 TERM
daemon 1 --failback 1
wait_for 60 healthy 1
ha 1 switch >/dev/null || healthy_or_degraded 1
active_is 1 ib2 || fail "not switched by hand"
down vc
wait_for 60 active_is 1 ib0
up vc
kill_daemon 1 TERM
kill_daemon 2 TERM
everything_on ib0 || fail "not left behind in order"
nothing_left || fail "left behind: $(ip route show table all)"

step "by a file, watched, with a target, on a cable that loses everything"
printf 'IPOIBHA_ENABLE=yes\nPRIMARY_IPOIB_DEV=ib0\nSECONDARY_IPOIB_DEV=ib2\n' >/run/ha.conf
python3 -c '
import socket, sys
words = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
words.bind(sys.argv[1])
while True:
    print(words.recv(4096).decode(), flush=True)' /run/notify >/run/notified &
LISTENER=$!
wait_for 60 test -S /run/notify
NOTIFY_SOCKET=/run/notify WATCHDOG_USEC=1000000 "${HA1[@]}" run -c /run/ha.conf -v \
	--target 10.0.0.2 --target-every 200 >>/run/ha1.log 2>&1 &
DAEMON[1]=$!
wait_for 60 healthy 1
wait_for 60 grep -q READY=1 /run/notified
wait_for 60 grep -q WATCHDOG=1 /run/notified
kill -HUP "${DAEMON[1]}"
wait_for 60 grep -q RELOADING=1 /run/notified
wait_for 60 grep -q 'has been read again' /run/ha1.log
echo IPOIBHA_ENABLE=no >/run/ha.conf
kill -HUP "${DAEMON[1]}"
wait_for 60 grep -q 'going on as before' /run/ha1.log
healthy 1 || fail "a new configuration was not without consequences"
everything_on ib0 || fail "something has moved"
cut_off ib0 ib2 sib0
kill $LISTENER

step "an IPv6 target, and the other cable"
for each in ib1 ib3; do # it answers for what the interface has, and nothing else
	"${N[@]}" ip -6 address add fd00::99/64 dev $each nodad
done
daemon 1 --target fd00::99 --target-every 200
wait_for 60 healthy 1
cut_off ib2 ib0 sib2
cat /run/ha1.log

step "stack down"
kill $MEMBER
kill "${SMS[@]}"
wait "${SMS[@]}" 2>/dev/null || true
rmmod ib_ipoib
for hca in sib0 sib1 sib2 sib3; do
	rdma link delete $hca
done
rmmod sib
ip netns delete n1
ip link delete va
ip link delete vc
ip rule delete pref 500
