# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Bulk data arrives whole, both ways, and through MTU changes, and the stack knows how much
# of it is under way (byte queue limits).
source "$STACK/lib.sh"

LIMITS=/sys/class/net/ib0/queues/tx-0/byte_queue_limits

all_completed() {
	(($(cat $LIMITS/inflight) == 0))
}

stack_up
limit=$(cat $LIMITS/limit)
head -c 8M /dev/urandom >/run/sent
sum=$(sha256sum </run/sent)
for mtu in $UD_MTU 2044 1500 1280 $UD_MTU; do
	step "transfer at MTU $mtu"
	ip link set ib0 mtu $mtu
	"${N[@]}" ip link set ib1 mtu $mtu
	"${N[@]}" socat -u TCP6-LISTEN:7,ipv6only=0,reuseaddr CREATE:/run/got &
	receiver=$!
	wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :7'
	timeout 60 socat -u OPEN:/run/sent TCP:10.0.0.2:7 || fail "send at $mtu"
	wait $receiver || fail "receive at $mtu"
	[[ $(sha256sum </run/got) == "$sum" ]] || fail "data differ at MTU $mtu"
done
step "iperf3"
"${N[@]}" iperf3 -s -1 >/dev/null &
wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :5201'
iperf3 -c 10.0.0.2 -t 2 -P 4 | tail -n 3
if [[ $HCA == mlx5-enhanced ]]; then
	echo "byte queue limits: sib's own netdev has none"
else
	step "byte queue limits"
	wait_for 10 all_completed
	(($(cat $LIMITS/limit) > limit)) || fail "the limit is still $limit"
	echo "limit first $limit, now $(cat $LIMITS/limit)"
fi
stack_down
