# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2317
# shellcheck shell=bash
# In connected mode, pings from thousands of queue pairs that a port does not have: to answer, the
# host asks that port for a connection to each, and is refused. It has few queue pairs for that at
# any time, forgets them all, and the port's real interface notices nothing. IMPOSTORS: how many.
#
# run: by name
source "$STACK/lib.sh"

COUNT=${IMPOSTORS:-3000}
ROUNDS=10

# stat NAME: a counter of ib0
stat() {
	ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

# slab: octets of the kernel's small objects
slab() {
	awk '/^Slab:/ {print $2 * 1024}' /proc/meminfo
}

# queue_pairs: those of connections
queue_pairs() {
	rdma resource show qp | grep -c 'type RC' || true
}

connected_again() {
	ping -c 1 -W 1 -s 60000 -M "do" 10.0.0.2
}

none_is_known() {
	(($(stat cm_tx_connections) < 20 && $(stat pending_bytes) == 0))
}

none_is_asked() {
	(($(stat cm_connects_under_way) == 0))
}

LIMITS=$(cat /proc/sys/net/ipv4/neigh/default/gc_thresh[123])
neighbour_limits $((COUNT * 4)) $((COUNT * 4)) $((COUNT * 4))
stack_up
ip address add 10.1.0.1/16 dev ib0
ip link set ib0 type ipoib mode connected
ip link set ib0 mtu 65520
"${N[@]}" ip link set ib1 type ipoib mode connected
"${N[@]}" ip link set ib1 mtu 65520
wait_for 60 connected_again
before=$(queue_pairs)
memory=$(slab)
refused=$(stat cm_refused)
lost=$(stat cm_lost)
address=$(</sys/class/net/ib0/address)

step "pings from $COUNT queue pairs that there are not, $before queue pairs before"
most=0
for ((round = 0; round < ROUNDS; round++)); do
	"${N[@]}" "$STACK/strangers.py" ib1 10.1.0.1 $((COUNT / ROUNDS)) $((round * COUNT / ROUNDS)) "$address" &
	flood=$!
	# Longer than a datagram: through its connection, or not at all
	ping -q -c 5 -i 0.2 -W 10 -s 60000 -M "do" 10.0.0.2 >/run/ping || fail "an honest peer: $(cat /run/ping)"
	wait $flood || fail "the pings have not been sent"
	now=$(queue_pairs)
	((now <= most)) || most=$now
done
wait_for 120 none_is_asked
refused=$(($(stat cm_refused) - refused))
echo "$refused refused, $(stat cm_tx_connections) connections known, $(queue_pairs) queue pairs, at most $most;" \
	"$(($(slab) - memory)) octets of slab, $(stat pending_bytes) octets waiting"
((refused > COUNT / 2)) || fail "few were asked for: $(ethtool -S ib0)"
# So many are set up at a time (SETUPS_MAX of cm_turn.c), and as many taken down.
((most <= before + 2 * 64)) || fail "$most queue pairs"
(($(stat cm_lost) == lost)) || fail "connections were lost: $(ethtool -S ib0)"

step "they are forgotten"
wait_for 600 none_is_known
echo "$(($(slab) - memory)) octets of slab"
wait_for 60 connected_again
stack_down
# shellcheck disable=SC2086  # three numbers
neighbour_limits $LIMITS
