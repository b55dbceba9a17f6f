# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# clock: jump
# A HCA that accelerates IPoIB at one end, one that does not at the other: traffic both
# ways, what is refused, a queue that stalls, children, a P_Key that comes later, the HCA
# unplugged under traffic.
source "$STACK/accel-lib.sh"

MAKE=/sys/class/net/ib0/create_child

sent_more_than() {
	(($(cat /sys/class/net/ib0/statistics/tx_bytes) > $1))
}

# send_to ADDRESS: packets that nobody answers, some of them in two pieces. (A ping that
# waits for answers reads the clock all the time, which then stands still.)
send_to() {
	while sleep 0.01; do
		printf %1000s x >"/dev/udp/$1/9"
		printf %3000s x >"/dev/udp/$1/9"
	done 2>/dev/null
}

stalled() {
	dmesg | grep -q "ib0: the HCA's transmit queue . stalled"
}

mkdir /run/served
partitions blue=0x1 red=0x2
stack_up

step "whose queues"
accelerated ib0 || fail "not the HCA's: $(ethtool -l ib0)"
! accelerated "${N[@]}" ib1 || fail "the other end is accelerated"

step "traffic both ways"
for size in 0 56 1400 2016 20000; do
	pings 10.0.0.2 $size
	"${N[@]}" ping -q -c 20 -i 0.05 -W 5 -s $size fd00::1 >/run/ping || fail "$(cat /run/ping)"
done
head -c 3000000 /dev/urandom >/run/served/numbers
"${N[@]}" python3 -m http.server -d /run/served 8000 >/dev/null 2>&1 &
SERVER=$!
wait_for 60 "${N[@]}" bash -c 'ss -Hltn | grep -q :8000'
exec {conn}<>/dev/tcp/10.0.0.2/8000
printf 'GET /numbers HTTP/1.0\r\n\r\n' >&$conn
tail -c 3000000 <&$conn | cmp - /run/served/numbers || fail "not what was sent"
exec {conn}>&-
kill $SERVER
wait $SERVER || true

# The limit in octets would have the stack give one packet at a time.
step "a packet that waits for its address keeps none that was sent before it"
for file in /sys/class/net/ib0/queues/tx-*/byte_queue_limits/limit_min; do
	into "$file" 100000
done
tc qdisc replace dev ib0 root netem delay 50ms
"$STACK/doorbell.py" ib0 n1 "$("${N[@]}" cat /sys/class/net/ib1/address)" || fail "a packet waits"
tc qdisc delete dev ib0 root
for file in /sys/class/net/ib0/queues/tx-*/byte_queue_limits/limit_min; do
	into "$file" 0
done

step "MTU"
ip link set ib0 mtu 1500
pings 10.0.0.2 4000
ip link set ib0 mtu 2044

step "refused"
refused "queues cannot be chosen" ip link add link ib0 name ib0.8001 numtxqueues 4 type ipoib pkey 0x8001
refused "no connected mode" ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001 mode connected
refused "no connected mode" ip link set ib0 type ipoib mode connected
refused "" into /sys/class/net/ib0/mode connected
refused "queues are not to be set" ethtool -C ib0 rx-usecs 10 rx-frames 10
refused "maximum" ethtool -G ib0 rx 256
refused "maximum" ethtool -L ib0 tx 9

step "a queue that stalls"
into /sys/kernel/debug/sib/sib0/hang_sends 1
for ((n = 0; n < 400; n++)); do
	echo more than the queue takes >/dev/udp/10.0.0.2/9
done
wait_for 60 stalled
wait_for 30 ping -c 1 -W 1 10.0.0.2
pings 10.0.0.2 1400

step "a child"
"${N[@]}" ip link add link ib1 name ib1.8001 type ipoib pkey 0x8001
"${N[@]}" ip address add 10.1.0.2/24 dev ib1.8001
"${N[@]}" ip link set ib1.8001 up
into $MAKE 0x8001
accelerated ib0.8001 || fail "the child is not the HCA's"
ip address add 10.1.0.1/24 dev ib0.8001
ip link set ib0.8001 up
wait_for 30 ping -c 1 -W 1 10.1.0.2
pings 10.1.0.2 1400
into /sys/class/net/ib0/delete_child 0x8001

step "a child by netlink"
ip link add link ib0 name ib0.8001 type ipoib pkey 0x8001 umcast 1
accelerated ib0.8001 || fail "the child is not the HCA's"
[[ $(cat /sys/class/net/ib0.8001/umcast) == 1 ]] || fail "umcast is not set"
ip address add 10.1.0.1/24 dev ib0.8001
ip link set ib0.8001 up
wait_for 30 ping -c 1 -W 1 10.1.0.2
pings 10.1.0.2 1400
ip link delete ib0.8001

step "a child whose parent is down hears nothing, and has no carrier"
ip link set ib0 down
into $MAKE 0x8001
ip address add 10.1.0.1/24 dev ib0.8001
ip link set ib0.8001 up
"${N[@]}" ip neigh replace 10.1.0.1 lladdr "$(</sys/class/net/ib0.8001/address)" dev ib1.8001
heard=$(</sys/class/net/ib0.8001/statistics/rx_packets)
! "${N[@]}" ping -q -c 3 -i 0.1 -W 1 10.1.0.1 >/dev/null || fail "an answer without the parent"
(($(</sys/class/net/ib0.8001/statistics/rx_packets) == heard)) || fail "a child hears without its parent"
! is_running ib0.8001 || fail "carrier, and it hears nothing"
"${N[@]}" ip neigh delete 10.1.0.1 dev ib1.8001
logged 1 "ib0.8001: no carrier before the HCA has opened ib0" || fail "not said why"
ip link set ib0 up
wait_for 30 is_running ib0.8001
wait_for 30 ping -c 1 -W 1 10.1.0.2
into /sys/class/net/ib0/delete_child 0x8001
ip -6 address replace fd00::1/64 dev ib0 nodad
wait_for 30 ping -c 1 -W 1 10.0.0.2

step "a container's interface, as a plugin of Kubernetes makes it"
ip netns add n2
"$STACK/cni.py" ib0 n2 eth0
accelerated ip netns exec n2 eth0 || fail "the container's interface is not the HCA's"
ip -n n2 address add 10.0.0.3/24 dev eth0
wait_for 30 ip netns exec n2 ping -c 1 -W 1 10.0.0.2
wait_for 30 ping -c 1 -W 1 10.0.0.2
ip -n n2 link delete eth0
into $MAKE 0x8001
ip link set ib0.8001 netns n2
ip netns exec n2 ip address add 10.1.0.1/24 dev ib0.8001
ip netns exec n2 ip link set ib0.8001 up
wait_for 30 ip netns exec n2 ping -c 1 -W 1 10.1.0.2

later_pkey

step "unplugged under traffic"
send_to 10.0.0.2 &
SENDERS=($!)
"${N[@]}" bash -c "$(declare -f send_to); send_to 10.0.0.1" &
SENDERS+=($!)
before=$(cat /sys/class/net/ib0/statistics/tx_bytes)
wait_for 10 sent_more_than $((before + 50000))
timeout 60 rdma link delete sib0 || fail "rdma link delete: status $?"
kill "${SENDERS[@]}" 2>/dev/null || true # one ends with its interface
wait "${SENDERS[@]}" || true
gone /sys/class/net/ib0 || fail "ib0 survives its HCA"
! ip -n n2 link show ib0.8001 2>/dev/null || fail "a child survives its HCA in another namespace"
ip netns delete n2
stop_sm
hcas
start_sm
ip address add 10.0.0.1/24 dev ib0
ip link set ib0 up
accelerated ib0 || fail "not the HCA's when it is back"
wait_for 40 ping -c 1 -W 1 10.0.0.2
stack_down
