# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Connected mode between two interfaces of ours: long packets unfragmented, a mixed
# pair, path MTU, and mode switches under TCP that lose no connection.
source "$STACK/lib.sh"

# what BQL leaves a queue of an interface in any case
bytes_min() {
	cat "/sys/class/net/$1/queues/tx-0/byte_queue_limits/limit_min"
}

# mode 1|2 MODE
mode() {
	if [[ $1 == 1 ]]; then
		echo "$2" >/sys/class/net/ib0/mode
	else
		"${N[@]}" bash -c "echo $2 >/sys/class/net/ib1/mode"
	fi
}

# stat NAME: a counter of ib0
stat() {
	ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

# traced EVENT PATTERN
traced() {
	grep -q "ipoib_$1: ib0 $2" $TRACING/trace || fail "no event: ipoib_$1 $2"
}

# hears_of NETDEV: what watches netlink has begun to
hears_of() {
	ip link set "$1" alias $RANDOM
	grep -q " $1:" /run/monitor
}

TRACING=/sys/kernel/tracing
mount -t tracefs tracefs $TRACING
# checksums: left to the peer, and computed when it forwards
checksums() {
	local before bad receiver
	(($(stat cm_tx_partial) > 0)) || fail "none was left: $(ethtool -S ib0)"
	ip netns add n2
	"${N[@]}" ip link add w1 type veth peer name w2 netns n2
	"${N[@]}" ip address add 10.1.0.1/24 dev w1
	"${N[@]}" ip link set w1 up
	"${N[@]}" ethtool -K w1 tx off >/dev/null
	"${N[@]}" sysctl -qw net.ipv4.ip_forward=1
	ip -n n2 address add 10.1.0.2/24 dev w2
	ip -n n2 link set w2 up
	ip -n n2 route add default via 10.1.0.1
	ip route add 10.1.0.0/24 via 10.0.0.2
	head -c 1000003 /dev/urandom >/run/sent
	before=$(stat cm_tx_partial)
	ip netns exec n2 socat -u TCP4-LISTEN:7 CREATE:/run/got &
	receiver=$!
	wait_for 10 ip netns exec n2 bash -c 'ss -Hltn | grep -q :7'
	timeout 60 socat -u OPEN:/run/sent TCP4:10.1.0.2:7 || fail "nothing is forwarded"
	wait $receiver
	cmp /run/sent /run/got || fail "forwarded with errors"
	(($(stat cm_tx_partial) > before)) || fail "no checksum was left to the peer"
	bad=$(ip netns exec n2 nstat -asz TcpInCsumErrors | awk '/Err/ { print $2 }')
	((bad == 0)) || fail "$bad wrong checksums"
	ip netns delete n2
}

stack_up
echo 1 >$TRACING/events/ipoib/enable
[[ $(cat /sys/class/net/ib0/mode) == datagram ]] || fail "mode at the start"
! ip link set ib0 mtu 10237 2>/dev/null || fail "MTU 10237 in datagram mode"
[[ $(bytes_min ib0) == 0 ]] || fail "limit_min at the start"
mode 1 connected
[[ $(bytes_min ib0) == 1048576 ]] || fail "limit_min in connected mode"
[[ $(cat /sys/class/net/ib0/mtu) == "$UD_MTU" ]] || fail "the mode has changed the MTU"
mode 2 connected
ip link set ib0 mtu 65520
"${N[@]}" ip link set ib1 mtu 65520
for size in 1 1532 1533 4064 20000 65492; do
	step "ping $size"
	# ping waits for the last answer no longer than between two packets, or twice a round trip.
	ping -q -c 3 -i 0.5 -W 5 -M "do" -s $size 10.0.0.2 >/run/ping ||
		fail "ping $size: $(cat /run/ping)"
	grep -q ' 0% packet loss' /run/ping || fail "ping $size: $(cat /run/ping)"
done
(($(stat cm_connects) == 1 && $(stat cm_accepts) == 1)) || fail "connections: $(ethtool -S ib0)"

step "debugfs"
peer=$("${N[@]}" cat /sys/class/net/ib1/address | cut -d: -f2-4 | tr -d :)
connections=/sys/kernel/debug/ipoib/ib0_connections
[[ $(grep -c "QPN: *0x$peer\$" $connections) == 2 ]] || fail "not one each way: $(cat $connections)"
for direction in out in; do
	awk -v from="direction: $direction" 'index($0, from) { on = 1 } on && !NF { exit } on' $connections >/run/connection
	grep -q 'MTU: *65520$' /run/connection || fail "$direction: $(cat /run/connection)"
	grep -q 'state: *\(UP\|LIVE\)$' /run/connection || fail "$direction: $(cat /run/connection)"
	idle=$(awk '/idle:/ { print $2 }' /run/connection)
	((idle < 60000)) || fail "$direction: idle for $idle ms"
done
grep -q 'ring: *[0-9]*/128$' $connections || fail "$(cat $connections)"

step "tracepoints"
traced connection '.*REQ -> UP event=REP$'
ip link set ib0 down
ip link set ib0 up
wait_for 30 ping -c 1 -W 1 10.0.0.2
traced join 'gid=ff12:401b:ffff:.* status=0 lid=0xc'
traced path 'gid=fe80:.* status=0 lid=0x'
echo 0 >$TRACING/events/ipoib/enable

step "reason of a drop"
echo 1 >$TRACING/events/skb/kfree_skb/enable
ping -q -c 1 -W 1 -s 9000 -I ib0 239.1.2.3 >/dev/null || true
wait_for 10 grep -q 'kfree_skb:.*reason: PKT_TOO_BIG' $TRACING/trace
echo 0 >$TRACING/events/skb/kfree_skb/enable

step "datagrams where the mode says so: the path MTU is learnt"
# Of the notifiers of the kernel, which RDMA CM's users hear as well, netlink is one.
ip -o monitor link >/run/monitor &
MONITOR=$!
wait_for 10 hears_of lo
mode 1 datagram
wait_for 10 grep -q "ib0.*mtu $UD_MTU" /run/monitor
kill $MONITOR
wait $MONITOR || true
[[ $(bytes_min ib0) == 0 ]] || fail "limit_min in datagram mode"
[[ $(cat /sys/class/net/ib0/mtu) == "$UD_MTU" ]] || fail "MTU in datagram mode"
ping -q -c 3 -i 0.02 -W 5 -s 20000 10.0.0.2 >/run/ping || fail "mixed: $(cat /run/ping)"
mode 1 connected
[[ $(cat /sys/class/net/ib0/mtu) == 65520 ]] || fail "the MTU set by hand is lost"

step "iperf3 through mode switches"
"${N[@]}" iperf3 -s -1 >/dev/null &
wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :5201'
iperf3 -c 10.0.0.2 -t 5 -P 2 --json >/run/iperf.json 2>&1 &
client=$!
for turn in 1 2 3 4; do
	mode $((turn % 2 + 1)) datagram
	ping -q -c 2 -i 0.1 -W 5 10.0.0.2 >/dev/null || fail "no answer in turn $turn"
	mode $((turn % 2 + 1)) connected
	ping -q -c 2 -i 0.1 -W 5 10.0.0.2 >/dev/null || fail "no answer in turn $turn"
done
wait $client || fail "iperf3: $(tail -n 5 /run/iperf.json)"

step "checksums left to the peer, and computed when it forwards"
if [[ $(ethtool -k ib0) == *tx-checksumming:\ on* ]]; then
	checksums
else
	echo "the HCA computes none, so the stack leaves none"
fi

step "an HCA that comes back: mode and MTU are what they were"
rdma link delete sib1
rdma link add sib1 type sib netdev vb
wait_for 10 netdev_of sib1
back=$NETDEV
[[ $(cat "/sys/class/net/$back/mode") == connected ]] || fail "the mode is lost"
[[ $(bytes_min "$back") == 1048576 ]] || fail "limit_min of the one that came back"
[[ $(cat "/sys/class/net/$back/mtu") == 65520 ]] || fail "the MTU is lost"

step "the mode of an interface that is down"
ip link set ib0 down
mode 1 connected
mode 1 datagram
ip link set lo alias ""
stack_down
