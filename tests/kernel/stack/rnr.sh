# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2317
# shellcheck shell=bash
# A receiver in connected mode whose HCA tells it of packets a tenth of a second late runs out of
# receive buffers again and again: its peer waits and loses nothing, neither a packet nor the
# connection.
export HCA=mlx5
source "$STACK/lib.sh"

FLOWS=8
COUNT=250
PORT=9

# stat NAME: a counter of ib0, which sends
stat() {
	ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

# naks: how often ib1's HCA has said that it has no buffer
naks() {
	counter sib1 rc_tx_rnr
}

listens() {
	"${N[@]}" ss -Huln | grep -q ":$PORT "
}

# all_received: as many datagrams have been read as were sent
all_received() {
	(($("${N[@]}" nstat -asz UdpInDatagrams | awk '/^Udp/ {print $2}') - before >= FLOWS * COUNT))
}

stack_up
echo connected >/sys/class/net/ib0/mode
"${N[@]}" bash -c 'echo connected >/sys/class/net/ib1/mode'
wait_for 30 ping -c 1 -W 1 -s 4000 -M "do" 10.0.0.2

step "completions are 100 ms late"
echo 100000 >/sys/kernel/debug/sib/sib1/event_us
costs="$(stat cm_connects) $(stat cm_lost) $(stat cm_refused)"
missed=$(naks)
before=$("${N[@]}" nstat -asz UdpInDatagrams | awk '/^Udp/ {print $2}')
"${N[@]}" "$STACK/flows.py" hear $PORT /run/heard &
ear=$!
wait_for 10 listens
"$STACK/flows.py" send 10.0.0.2 $PORT $FLOWS $COUNT || fail "datagrams have not been sent"
wait_for 200 all_received
kill $ear
wait $ear || true
cat /run/heard
awk -v n=$COUNT '$2 != n || $3 {bad = 1} END {exit bad || NR == 0}' /run/heard || fail "lost, or out of order"
echo "$(($(naks) - missed)) times there was no buffer"
(($(naks) > missed)) || fail "there was a buffer each time"
[[ "$(stat cm_connects) $(stat cm_lost) $(stat cm_refused)" == "$costs" ]] ||
	fail "connections, broken, refused: $costs before, $(stat cm_connects) $(stat cm_lost) $(stat cm_refused) now"
echo 0 >/sys/kernel/debug/sib/sib1/event_us
stack_down
