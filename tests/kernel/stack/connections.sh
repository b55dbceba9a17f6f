# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# One interface in connected mode with more than a thousand peers, which ib-peers emulates
# at the other end of the cable: a connection each way with all of them. They are made,
# used, lost by the peers, cut off, made again, and go with the mode. PEERS: how many.
#
# memory: 2048M
# run: by name
source "$STACK/lib.sh"

PEERS=${PEERS:-1100}
FIRST=10.9.0.1
CONNECTIONS=/sys/kernel/debug/ipoib/ib0_connections

# in_use out|in STATE: connections of ib0
in_use() {
	grep -A3 "direction: $1" $CONNECTIONS | grep -c "state: *$2" || true
}

# queue_pairs: those of connections
queue_pairs() {
	rdma resource show qp | grep -c 'type RC' || true
}

# stat NAME: a counter of ib0
stat() {
	ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

peers_start() {
	coproc CROWD { exec "$IB_PEERS" --netdev vb --addresses $FIRST-10.9.255.253; }
	crowd=$CROWD_PID
}

# peers_say LINE: what ib-peers answers
peers_say() {
	echo "$1" >&"${CROWD[1]}"
	read -r -t 60 answer <&"${CROWD[0]}" || fail "ib-peers does not answer"
	echo "$answer"
}

# A ping to every peer; peers answer only what came through a connection, through another.
all_answer() {
	"$STACK/neighbours.py" $FIRST "$PEERS" >/run/answers
}

# counts OUT IN: connections of ib0
counts() {
	[[ $(in_use out UP) == "$1" && $(in_use in LIVE) == "$2" &&
		$(queue_pairs) == $(($1 + $2)) ]]
}

# After a while: connections that are no longer used go a few seconds later.
all_connected() {
	all_answer && counts "$PEERS" "$PEERS"
}

none_out() {
	[[ $(in_use out UP) == 0 ]]
}

not_running() {
	! is_running ib0
}

start() {
	step "$1"
	since=$SECONDS
}

say() {
	echo "$1: $(in_use out UP) connections out, $(in_use in LIVE) in, $(queue_pairs) queue pairs," \
		"after $((SECONDS - since)) s; $(cat /run/answers)"
}

LIMITS=$(cat /proc/sys/net/ipv4/neigh/default/gc_thresh[123])
start "one HCA, ib-peers at the other end of its cable"
neighbour_limits $((PEERS * 2 + 1000)) $((PEERS * 2 + 1000)) $((PEERS * 2 + 1000))
cable
load_sib
rdma link add sib0 type sib netdev va
peers_start
wait_for 20 port_is sib0 INIT
opensm_on sib0
wait_for 60 port_is sib0 ACTIVE
note_resources
load_ipoib
wait_for 10 netdev_of sib0
ip address add 10.9.255.254/16 dev ib0
ip link set ib0 up
wait_for 30 is_running ib0
echo connected >/sys/class/net/ib0/mode

start "a connection each way with $PEERS peers"
wait_for 300 all_connected
say connected
[[ $(peers_say count) == *"\"in\":$PEERS,\"out\":$PEERS"* ]] || fail "$(peers_say count)"
# However many: they share one receive queue, and its memory.
(($(rdma resource show srq | wc -l) == 1)) || fail "$(rdma resource show srq)"

start "the peers forget them all, and tell nobody"
# Who is not asked meanwhile is given up for want of use.
peers_say forget
wait_for 300 all_connected
(($(stat cm_lost) > 0 && $(stat tx_stalls) == 0)) || fail "$(ethtool -S ib0)"
say "made again"

start "the peers are killed and come back"
kill -9 "$crowd"
wait "$crowd" || true
wait_for 60 not_running
wait_for 30 none_out
peers_start
wait_for 60 is_running ib0
wait_for 300 all_connected
say "made again"

start "the mode is datagram for a while"
echo datagram >/sys/class/net/ib0/mode
wait_for 60 none_out
say "given up"
echo connected >/sys/class/net/ib0/mode
wait_for 300 all_connected
say "made again"

start "the end"
rmmod ib_ipoib
wait_for 20 as_before
input=${CROWD[1]}
exec {input}>&-
wait "$crowd" || fail "ib-peers ended with $?"
stop_sm
rdma link delete sib0
rmmod sib
ip link delete va
# shellcheck disable=SC2086  # three numbers
neighbour_limits $LIMITS
echo "stack: $PEERS peers, a connection each way"
