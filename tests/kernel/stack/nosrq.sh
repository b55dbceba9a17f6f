# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Connected mode on HCAs without shared receive queues: each connection has buffers of
# its own, so there may be so many and no more; who is refused sends datagrams, and
# takes the place of the next that ends.
export HCA=mthca
source "$STACK/lib.sh"

load_ipoib() {
	insmod "$IPOIB_KO" max_nonsrq_conn_qp=2
}

# stat NAME: a counter of ib0
stat() {
	ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

# has NAME VALUE: the counter is at least that
has() {
	(($(stat "$1") >= $2))
}

# live COUNT: so many incoming connections of ib0
live() {
	(($(grep -A3 'direction: in' /sys/kernel/debug/ipoib/ib0_connections | grep -c LIVE) == $1))
}

# another NUMBER: an interface at the other end, in a namespace of its own
another() {
	ip netns add m$1
	"${N[@]}" ip link add link ib1 name y$1 type ipoib pkey 0xffff
	"${N[@]}" ip link set y$1 netns m$1
	ip netns exec m$1 bash -c "echo connected >/sys/class/net/y$1/mode"
	ip -n m$1 link set y$1 mtu 65520
	ip -n m$1 address add 10.0.0.$1/24 dev y$1
	ip -n m$1 link set y$1 up
	wait_for 30 ip netns exec m$1 ping -c 1 -W 1 10.0.0.1
}

# long_packets NUMBER: they go in one piece from that interface
long_packets() {
	ip -n m$1 route flush cache
	ip netns exec m$1 ping -c 1 -W 1 -M "do" -s 60000 10.0.0.1
}

stack_up
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null || true
echo connected >/sys/class/net/ib0/mode
"${N[@]}" bash -c 'echo connected >/sys/class/net/ib1/mode'
ip link set ib0 mtu 65520
"${N[@]}" ip link set ib1 mtu 65520
for size in 1 1532 1533 20000 65492; do
	step "ping $size"
	# ping waits for the last answer as long as between two packets if it measures no times
	ping -q -c 5 -i 0.5 -W 5 -M "do" -s $size 10.0.0.2 >/run/ping || fail "$(cat /run/ping)"
	grep -q ' 0% packet loss' /run/ping || fail "ping $size: $(cat /run/ping)"
done
(($(stat cm_connects) == 1 && $(stat cm_accepts) == 1)) || fail "connections: $(ethtool -S ib0)"

step "TCP while the mode changes: buffers come and go with connections"
"${N[@]}" iperf3 -s -1 >/dev/null &
wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :5201'
iperf3 -c 10.0.0.2 -t 3 --bidir --json >/run/iperf.json 2>&1 &
client=$!
for turn in 1 2 3; do
	"${N[@]}" bash -c 'echo datagram >/sys/class/net/ib1/mode'
	ping -q -c 2 -i 0.1 -W 5 10.0.0.2 >/dev/null || fail "no answer in turn $turn"
	"${N[@]}" bash -c 'echo connected >/sys/class/net/ib1/mode'
	ping -q -c 2 -i 0.1 -W 5 10.0.0.2 >/dev/null || fail "no answer in turn $turn"
done
wait $client || fail "iperf3: $(tail -n 5 /run/iperf.json)"

step "a third connection is refused"
wait_for 10 live 1
another 3
wait_for 10 live 2
another 4
wait_for 10 has cm_rejects 1
live 2 || fail "more than allowed: $(cat /sys/kernel/debug/ipoib/ib0_connections)"
ip netns exec m4 ping -q -c 3 -i 0.05 -W 5 -s 20000 10.0.0.1 >/run/ping ||
	ip netns exec m4 ping -q -c 3 -i 0.05 -W 5 -s 20000 10.0.0.1 >/run/ping || fail "$(cat /run/ping)"

step "its turn comes when another ends"
ip netns exec m3 bash -c 'echo datagram >/sys/class/net/y3/mode'
wait_for 40 long_packets 4
wait_for 10 live 2

step "all of them go"
ip netns delete m3
ip netns delete m4
stack_down
