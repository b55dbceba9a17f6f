# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# A HCA that completes no more of a queue's sends, under traffic: the log says which
# transmit queue is stuck and with how much, the stall is counted and traced, the queue
# pairs are restarted, and traffic goes on within seconds.
source "$STACK/lib.sh"

TRACING=/sys/kernel/tracing

# stat NAME: a counter of ib0
stat() {
	ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

# Of each stall that the log tells of: queue, packets filled, posted, completed
stalls() {
	dmesg | sed -n 's/.* ib0: transmit queue \([0-9]*\) stalled: \([0-9]*\) filled, \([0-9]*\) posted, \([0-9]*\) completed; restarting.*/\1 \2 \3 \4/p'
}

stalls_are() {
	(($(stalls | wc -l) >= $1))
}

received() {
	"${N[@]}" cat /sys/class/net/ib1/statistics/rx_packets
}

# more_received THAN: the peer has got more packets by now
more_received() {
	(($(received) > $1))
}

# since TIME: what has passed of it, in ms
since() {
	echo $(((${EPOCHREALTIME/./} - $1) / 1000))
}

flood() {
	"${N[@]}" iperf3 -s -1 >/dev/null 2>&1 &
	SERVER=$!
	wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :5201'
	iperf3 -c 10.0.0.2 -u -b 20M -l 1400 -P 8 -t 600 >/dev/null 2>&1 &
	CLIENT=$!
	wait_for 20 more_received $(($(received) + 200))
}

# hang QUEUES: so many transmit queues stand still; all traffic goes on without help
hang() {
	local begin before
	step "$1 of the queues complete nothing"
	echo $1 >/sys/kernel/debug/sib/sib0/hang_sends
	begin=${EPOCHREALTIME/./}
	wait_for 40 stalls_are $(($(stat tx_stalls) + 1))
	echo "noticed after $(since $begin) ms"
	begin=${EPOCHREALTIME/./}
	wait_for 20 ping -c 1 -W 1 10.0.0.2
	before=$(received)
	wait_for 20 more_received $((before + 500))
	echo "goes on after $(since $begin) ms"
	[[ $(cat /sys/kernel/debug/sib/sib0/hang_sends) == 0 ]] || fail "no more queues than that send"
}

stack_up
mount -t tracefs tracefs $TRACING
ethtool -L ib0 tx 2
wait_for 30 ping -c 1 -W 1 10.0.0.2
echo 1 >$TRACING/events/ipoib/ipoib_tx_stall/enable
flood
(($(stat tx_stalls) == 0)) || fail "stalls before: $(ethtool -S ib0)"
hang 1
hang 2
kill -9 $CLIENT $SERVER
wait $CLIENT $SERVER || true

step "what is said of it"
while read -r queue filled posted completed; do
	echo "queue $queue: $filled filled, $posted posted, $completed completed"
	((filled > completed)) || fail "nothing was stuck"
	(($(stat "tx${queue}_stalls") > 0)) || fail "not counted: $(ethtool -S ib0)"
	grep -q "ipoib_tx_stall: ib0 queue=$queue filled=$filled" $TRACING/trace ||
		fail "$(grep stall $TRACING/trace)"
done < <(stalls)
(($(stat tx_stalls) == $(stalls | wc -l))) || fail "$(ethtool -S ib0)"
! dmesg | grep 'never completed' || fail "a queue pair was not drained"
stack_down
