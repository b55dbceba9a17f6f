# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Several transmit queues: their number changes under traffic, the flows to one peer
# spread over them and each keeps its order, also when they stop, in both modes; what
# survives the HCA.
source "$STACK/lib.sh"

FLOWS=48

# stat NAME: a counter of ib0
stat() {
	ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

# queues: transmit queues now
queues() {
	ethtool -l ib0 | awk '/^Current/ { now = 1 } now && /^TX:/ { print $2 }'
}

# set_queues COUNT: and the hardware address stays as it is
set_queues() {
	local before
	before=$(cat /sys/class/net/ib0/address)
	ethtool -L ib0 tx $1 || fail "ethtool -L: status $?"
	[[ $(queues) == "$1" ]] || fail "$(queues) queues, not $1"
	[[ $(cat /sys/class/net/ib0/address) == "$before" ]] || fail "another hardware address"
	[[ $(find /sys/class/net/ib0/queues -name 'tx-*' | wc -l) == "$1" ]] || fail "queues in sysfs"
	[[ $(ethtool -S ib0 | grep -c 'tx[0-9]*_packets') == "$1" ]] || fail "$(ethtool -S ib0)"
}

# mode MODE: of both interfaces
mode() {
	echo $1 >/sys/class/net/ib0/mode
	"${N[@]}" bash -c "echo $1 >/sys/class/net/ib1/mode"
}

hears() {
	"${N[@]}" ss -Hlun "sport = :4000" | grep -q .
}

sent() {
	local queue
	for ((queue = 0; queue < $(queues); queue++)); do
		stat tx${queue}_packets
	done
}

# The driver is to wait for an address again, and for a connection.
forget() {
	ip link set ib0 down
	ip link set ib0 up
	ip neigh replace 10.0.0.2 lladdr "$("${N[@]}" cat /sys/class/net/ib1/address)" dev ib0 nud permanent
	wait_for 30 is_running ib0
}

# Datagrams that programs at the other end have read so far
read_so_far() {
	"${N[@]}" nstat -asz UdpInDatagrams | awk '/^Udp/ { print $2 }'
}

# flows COUNT: of each flow; every one arrives, none overtakes another of its flow
flows() {
	local ear had queue tries
	local -a before after
	forget
	had=$(read_so_far)
	"${N[@]}" "$STACK/flows.py" hear 4000 /run/flows &
	ear=$!
	wait_for 20 hears
	mapfile -t before < <(sent)
	"$STACK/flows.py" send 10.0.0.2 4000 $FLOWS $1
	for ((tries = 0; tries < 600; tries++)); do
		(($(read_so_far) < had + FLOWS * $1)) || break
		pause
	done
	mapfile -t after < <(sent)
	kill $ear
	wait $ear
	awk -v want=$1 '$2 != want || $3 { bad = 1 } END { exit bad || NR != '$FLOWS' }' /run/flows ||
		fail "flows: port, of $1, late: $(cat /run/flows)"
	echo "packets of each queue before: ${before[*]}, after: ${after[*]}"
	for queue in "${!after[@]}"; do
		((after[queue] > before[queue])) || fail "queue $queue has sent nothing"
	done
}

# dropped QUEUE: by its queueing discipline
dropped() {
	tc -s qdisc show dev ib0 | sed -n "/ parent :$(($1 + 1)) /{n; s/.*(dropped \([0-9]*\),.*/\1/p}"
}

# Of queues that have more to send than they can, each sends more than a third of what the
# busiest one sends. They take turns at the room for connections, and how much room a turn
# finds is chance. Without turns, a queue sends little more than what waits in it when the
# flood ends.
fair() {
	local queue most=0
	local -a lost before after
	mapfile -t before < <(sent)
	for queue in "${!before[@]}"; do
		lost[queue]=$(dropped $queue)
	done
	"$STACK/flows.py" flood 10.0.0.2 4001 $FLOWS 800
	mapfile -t after < <(sent)
	for queue in "${!after[@]}"; do
		((after[queue] -= before[queue], lost[queue] = $(dropped $queue) - lost[queue])) || true
		((after[queue] <= most)) || most=${after[queue]}
	done
	echo "packets of each queue: ${after[*]}, dropped: ${lost[*]}"
	for queue in "${!after[@]}"; do
		((!lost[queue] || after[queue] > most / 3)) || fail "queue $queue starves"
	done
}

stack_up
step "refused"
[[ $(queues) == 1 ]] || fail "$(queues) queues by default"
refused 'exceeds maximum' ethtool -L ib0 tx 9
refused 'exceeds maximum' ethtool -L ib0 rx 2
refused 'exceeds maximum' ethtool -L ib0 combined 1
refused 'no RX or TX channel' ethtool -L ib0 tx 0
for kind in datagram connected; do
	step "four queues, $kind"
	mode $kind
	set_queues 4
	flows 160
	step "a long cable, $kind"
	tc qdisc add dev va root netem delay 40ms limit 10000
	flows 160
	[[ $kind == datagram ]] || fair
	tc qdisc del dev va root
	step "the number changes under traffic, $kind"
	traffic_start
	for count in 1 8 2 3 1 4; do
		set_queues $count
		ping -q -c 5 -i 0.02 -W 5 10.0.0.2 >/run/ping || fail "$count queues: $(cat /run/ping)"
	done
	traffic_stop
done
step "rings of another size"
ethtool -G ib0 tx 64
wait_for 30 ping -c 1 -W 1 10.0.0.2
set_queues 4
flows 100
! dmesg | grep 'never completed\|stalled' || fail "a queue was not drained"

step "while it is down"
ip link set ib0 down
set_queues 2
set_queues 4
ip link set ib0 up
wait_for 30 ping -c 1 -W 1 10.0.0.2

step "the HCA goes under traffic, and comes back"
ip neigh flush dev ib0 nud permanent
traffic_start
timeout 60 rdma link delete sib0 || fail "rdma link delete: status $?"
traffic_stop
stop_sm
rdma link add sib0 type sib netdev va
wait_for 20 test -e /sys/class/net/ib0
[[ $(queues) == 4 ]] || fail "$(queues) queues are left of 4"
stack_down
