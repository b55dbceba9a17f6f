# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154
# shellcheck shell=bash
# An interface in connected mode at a switch with another one, and with a port that asks it for
# thousands of connections, each for an interface that there is not, and says nothing to the
# answers. As many are taken as a port may have, the others are counted and refused; the honest
# interface keeps its connection, and gets a new one; in the end nothing of it is left.
# REQUESTS: how many at a time.
#
# run: by name
source "$STACK/fabric-lib.sh"

COUNT=${REQUESTS:-2000}
MOST=2048		# of a port, IPOIB_CONNS_PORT_MAX
HOSTS=(0 1)
# The first member of the crowd: flags, QPN, GID
MEMBER=80:00:01:00:fe:80:00:00:00:00:00:00:02:00:00:ff:fe:00:f4:a4

# stat HOST NAME: a counter of its interface
stat() {
	at "$1" ethtool -S "${DEV[$1]}" | sed -n "s/^ *$2: //p"
}

# slab: octets of the kernel's small objects
slab() {
	awk '/^Slab:/ {print $2 * 1024}' /proc/meminfo
}

# queue_pairs: those of connections
queue_pairs() {
	rdma resource show qp | grep -c 'type RC' || true
}

# Longer than a datagram: through a connection, or not at all
connected() {
	at 1 ping -c 1 -W 1 -s 60000 -M "do" 10.0.0.1
}

# tell LINE: to ib-peers, which says that it has understood
tell() {
	echo "$1" >&"${CROWD[1]}"
	read -rt 120 <&"${CROWD[0]}" || fail "ib-peers has not answered to '$1'"
}

# flooded: once more, and whether the port has as many connections now as it may have
flooded() {
	local now
	tell "flood $COUNT"
	now=$(stat 0 cm_rx_connections)
	((now <= most)) || most=$now
	(($(stat 0 cm_rx_full) > 0))
}

few_are_left() {
	(($(stat 0 cm_rx_connections) < 8 && $(queue_pairs) < 16))
}

# change_mode MODE: of the honest host
change_mode() {
	at 1 ip link set "${DEV[1]}" type ipoib mode "$1"
}

step "two hosts and a crowd at a switch"
cat >/run/topology <<-END
	Switch 4 "S-1"	# "leaf"
	[1] "h0"[1]
	[2] "h1"[1]
	[3] "crowd"[1]
	Ca 1 "h0"
	Ca 1 "h1"
	Ca 1 "crowd"
END
wires
ip link add hc mtu 9000 type veth peer name sc mtu 9000
ip link set hc up
ip link set sc up
fabric_up --port crowd:1=netdev:sc
hosts_up
coproc CROWD { exec "$IB_PEERS" --netdev hc --addresses 10.9.0.1-10.9.0.9; }
crowd=$CROWD_PID
opensm_on sib0
hosts_active
hosts_addresses
ip address add 10.9.255.254/16 dev ib0
ip link set ib0 type ipoib mode connected
ip link set ib0 mtu 65520
change_mode connected
at 1 ip link set "${DEV[1]}" mtu 65520
wait_for 60 connected
# It floods whoever has asked it last; it is in no group, so its address has to be told.
ip neigh add 10.9.0.1 lladdr $MEMBER dev ib0
wait_for 60 ping -c 1 -W 1 10.9.0.1
before=$(queue_pairs)
memory=$(slab)

step "$COUNT requests at a time, $before queue pairs before"
most=0
lost=$(stat 1 cm_lost)
nsenter --net=/run/netns/n1 ping -q -i 0.5 -s 60000 -M "do" 10.0.0.1 >/run/ping &
pinger=$!
wait_for 300 flooded
is_alive $pinger || fail "the honest host's ping: $(cat /run/ping)"
kill -INT $pinger
wait $pinger || fail "an honest host: $(cat /run/ping)"
tail -n 2 /run/ping
(($(stat 1 cm_lost) == lost)) || fail "the honest host has lost connections"

step "the honest host has to ask as well"
change_mode datagram
tell "flood $COUNT"
connects=$(stat 1 cm_connects)
change_mode connected
at 1 ip link set "${DEV[1]}" mtu 65520
wait_for 60 connected
(($(stat 1 cm_connects) > connects)) || fail "it has not"
# What comes while the port's queue for management is full is lost before anybody sees it.
echo "$(stat 0 cm_accepts) accepted, $(stat 0 cm_rx_full) refused, at most $most incoming connections seen," \
	"$(queue_pairs) queue pairs; $(($(slab) - memory)) octets of slab"
# One more of each honest interface.
((most <= MOST + 4)) || fail "$most connections"

step "they are forgotten"
wait_for 600 few_are_left
wait_for 60 connected
echo "$(queue_pairs) queue pairs, $(($(slab) - memory)) octets of slab"

step "the end"
input=${CROWD[1]}
exec {input}>&-
wait "$crowd" || fail "ib-peers ended with $?"
hosts_down
ip link delete hc
