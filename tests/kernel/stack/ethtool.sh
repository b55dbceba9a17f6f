# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# ethtool: rings of other sizes while packets flow, what is refused and how it is
# said, moderation and channels; what survives the HCA.
source "$STACK/lib.sh"

# Rings that the HCA has, to receive and to transmit: see drivers/sib/profile.c
case $HCA in
mlx5) LONGEST='8192 4096' ;;
hostile) LONGEST='1024 512' ;;
*) LONGEST='8192 8192' ;;
esac

# rings: receive and transmit ring now
rings() {
	ethtool -g ib0 | awk '/Current/ { now = 1 } now && /^[RT]X:/ { printf "%s ", $2 }'
}

rings_are() {
	[[ $(rings) == "$1 $2 " ]] || fail "rings: $(rings), not $1 $2"
}

# known: whether the peer has the hardware address that ib0 has now
known() {
	[[ $("${N[@]}" ip neigh show 10.0.0.1) == *"$(cat /sys/class/net/ib0/address)"* ]]
}

# Groups that an interface always has: broadcast, all hosts, its own solicited-node group
GROUPS_WANTED="ff12:401b:ffff:0:0:0:ffff:ffff ff12:401b:ffff:0:0:0:0:1 ff12:601b:ffff:0:0:1:ff00:1"

joined() {
	local group
	awk '/^GID/ { gid = $2 } /complete: *yes/ { print gid }' \
		/sys/kernel/debug/ipoib/ib0_mcg >/run/groups
	for group in $GROUPS_WANTED; do
		grep -qx "$group" /run/groups || return 1
	done
}

# resized RX TX: the rings change, the address with them, and the peer hears of it
resized() {
	local before
	before=$(cat /sys/class/net/ib0/address)
	step "rings of $1 and $2"
	ethtool -G ib0 rx $1 tx $2 || fail "ethtool -G: status $?"
	rings_are $1 $2
	[[ $(cat /sys/class/net/ib0/address) != "$before" ]] || fail "a queue pair of the old number"
	wait_for 20 known
	"${N[@]}" ping -q -c 10 -i 0.02 -W 5 -s 1000 10.0.0.1 >/run/ping || fail "$(cat /run/ping)"
	ping -q -c 10 -i 0.02 -W 5 -s 4000 10.0.0.2 >/run/ping || fail "$(cat /run/ping)"
	wait_for 20 joined
}

step "parameters out of range"
for wrong in send_queue_size=32:64 send_queue_size=-1:64 recv_queue_size=9000:8192 \
	max_nonsrq_conn_qp=5000:4096; do
	insmod "$IPOIB_KO" "${wrong%:*}" || fail "refused: ${wrong%:*}"
	dmesg | grep -q "ib_ipoib: .*${wrong%:*}: must be between .*, taken as ${wrong#*:}" ||
		fail "no message: $wrong"
	[[ $(cat "/sys/module/ib_ipoib/parameters/${wrong%%=*}") == "${wrong#*:}" ]] || fail "not taken: $wrong"
	rmmod ib_ipoib
done
! insmod "$IPOIB_KO" send_queue_size=many 2>/dev/null || fail "taken: no number"

stack_up
wait_for 20 joined
rings_are 1024 512

step "refused"
refused 'rings take 64 packets or more' ethtool -G ib0 rx 32
refused 'rings take 64 packets or more' ethtool -G ib0 tx 0
refused 'ring size exceeds maximum' ethtool -G ib0 rx 8193
refused 'ring size exceeds maximum' ethtool -G ib0 rx-mini 64
refused 'cannot moderate completions' ethtool -C ib0 rx-usecs 5 rx-frames 10
refused 'frames need usecs' ethtool -C ib0 rx-frames 10
refused 'frames need usecs' ethtool -C ib0 tx-usecs 65536
refused 'cannot moderate completions' ethtool -C ib0 adaptive-rx on
refused 'unsupported parameter' ethtool -C ib0 adaptive-tx on
refused 'exceeds maximum' ethtool -L ib0 combined 2
ethtool -l ib0 | grep -q '^TX:.*1$' || fail "$(ethtool -l ib0)"
ethtool -c ib0 | grep -q '^Adaptive RX: off  TX: n/a$' || fail "$(ethtool -c ib0)"
ethtool -c ib0 | grep -q '^rx-usecs:.*0$' || fail "$(ethtool -c ib0)"
rings_are 1024 512
before=$(cat /sys/class/net/ib0/address)
ethtool -G ib0 rx 1000 tx 500 # rounded up to what they are
[[ $(cat /sys/class/net/ib0/address) == "$before" ]] || fail "the address has changed though the rings have not"

ping -q -i 0.1 10.0.0.2 >/run/ping.traffic 2>&1 &
PINGER=$!
routes=$(ip route show; ip -6 route show dev ib0)
resized 64 64
resized $LONGEST
resized 256 128
[[ $(ip route show; ip -6 route show dev ib0) == "$routes" ]] || fail "routes: $(ip route show; ip -6 route show dev ib0)"
kill -INT $PINGER
wait $PINGER || fail "nothing came back: $(cat /run/ping.traffic)"
! dmesg | grep 'never completed\|stalled' || fail "the queue pair was not drained"

# announced: ARP of the peer's interface has had the three announcements of an address
announced() {
	(($(grep -c "who-has 10.0.0.1 .*tell 10.0.0.1" /run/arp) >= 3))
}

step "an announcement may be lost: there are three"
"${N[@]}" tcpdump -i ib1 -nn -l --immediate-mode arp >/run/arp 2>/run/tcpdump &
LISTENER=$!
wait_for 10 grep -q "listening on" /run/tcpdump
resized 128 128
wait_for 20 announced
kill $LISTENER
wait $LISTENER 2>/dev/null || true

step "in connected mode"
echo connected >/sys/class/net/ib0/mode
"${N[@]}" bash -c 'echo connected >/sys/class/net/ib1/mode'
resized 512 256
[[ $(cat /sys/class/net/ib0/mode) == connected ]] || fail "the mode has changed"

step "while it is down, and over down and up"
ip link set ib0 down
ethtool -G ib0 rx 128
rings_are 128 256
ip link set ib0 up
rings_are 128 256
wait_for 30 ping -c 1 -W 1 10.0.0.2
wait_for 20 known

step "in a bond"
if ip link add bond0 type bond mode active-backup fail_over_mac active 2>/dev/null; then
	ip link set ib0 down
	ip link set ib0 master bond0
	refused 'in a bond' ethtool -G ib0 rx 256
	ip link set ib0 nomaster
	ip link delete bond0
fi

step "the HCA comes back"
stop_sm
rdma link delete sib0
rdma link add sib0 type sib netdev va
wait_for 20 test -e /sys/class/net/ib0
rings_are 128 256
[[ $(cat /sys/class/net/ib0/mode) == connected ]] || fail "the mode is forgotten"
stack_down
