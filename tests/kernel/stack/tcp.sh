# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Bulk data arrives whole, both ways, and through MTU changes, and the stack knows how much
# of it is under way (byte queue limits).
source "$STACK/lib.sh"

# is_on FEATURE: of ib0, as ethtool -k names it
is_on() {
	ethtool -k ib0 >/run/features
	grep -q "^$1: on" /run/features || fail "$(cat /run/features)"
}

# counts NAME...: of the other end's IP, the sum
counts() {
	"${N[@]}" nstat -asz "$@" | awk '!/^#/ { sum += $2 } END { print sum }'
}

# received: packets and segments that IP has been given at the other end. GRO gives it several
# segments as one packet; those of ECN count segments, whether or not there is any ECN.
received() {
	PACKETS=$(counts IpInReceives)
	SEGMENTS=$(counts IpExtInNoECTPkts IpExtInECT0Pkts IpExtInECT1Pkts IpExtInCEPkts)
}

# limits WHAT: the sum of it in the byte queue limits of all transmit queues
limits() {
	local file
	SUM=0
	for file in /sys/class/net/ib0/queues/tx-*/byte_queue_limits/"$1"; do
		first_line "$file"
		SUM=$((SUM + LINE))
	done
}

all_completed() {
	limits inflight
	((SUM == 0))
}

stack_up
limits limit
first=$SUM
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
received
segments=$SEGMENTS packets=$PACKETS
"${N[@]}" iperf3 -s -1 >/dev/null &
wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :5201'
iperf3 -c 10.0.0.2 -n 16M -P 4 | tail -n 3
received
((segments = SEGMENTS - segments, packets = PACKETS - packets))
echo "segments received: $segments, packets: $packets"
# An HCA that accelerates decides itself.
if [[ $HCA != mlx5-enhanced ]]; then
	is_on scatter-gather
	is_on generic-receive-offload
	((segments > packets + 10)) || fail "no segments are put together"
fi
step "byte queue limits"
wait_for 10 all_completed
limits limit
((SUM > first)) || fail "the limit is still $first"
echo "limit first $first, now $SUM"
stack_down
