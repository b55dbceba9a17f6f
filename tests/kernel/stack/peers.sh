# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2154
# shellcheck shell=bash
# A host and an emulated one with thousands of addresses on a switch of ibfabric: each
# address is a neighbour of its own, and answers. NEIGHBOURS says how many.
source "$STACK/lib.sh"

COUNT=${NEIGHBOURS:-10000}
CTL=("$IBFABRIC-ctl" --socket /run/fabric.socket)

# slab: octets of the kernel's small objects
slab() {
	awk '/^Slab:/ {print $2 * 1024}' /proc/meminfo
}

# has_joined COUNT: the peer, so many groups
has_joined() {
	"${CTL[@]}" status -j | grep -q "\"joined\": $1"
}

# is_duplicate ADDRESS: somebody else has it
is_duplicate() {
	ip -6 address show dev ib0 dadfailed | grep -qw "$1"
}

is_up() {
	grep -q 'SUBNET UP' /run/opensm.log
}

step "ibfabric up"
cat >/run/topology <<-END
	Switch 4 "S-1"	# "leaf"
	[1] "h0"[1]
	[2] "crowd"[1]
	Ca 1 "h0"
	Ca 1 "crowd"
END
ip link add h0 mtu 9000 type veth peer name s0 mtu 9000
ip link set h0 up
ip link set s0 up
"$IBFABRIC" --topology /run/topology --control /run/fabric.socket --port h0:1=netdev:s0 \
	--peer crowd:1=10.1.0.1-10.1.255.254 >/run/ibfabric.log 2>&1 &
fabric=$!
load_sib
load_ipoib
rdma link add sib0 type sib netdev h0
wait_for 20 port_is sib0 INIT
opensm_on sib0
wait_for 60 port_is sib0 ACTIVE
wait_for 10 netdev_of sib0
ip address replace 10.1.255.255/15 dev ib0
ip link set ib0 up
wait_for 30 is_running ib0

step "ping"
for address in 10.1.0.1 10.1.0.2 10.1.255.254; do
	wait_for 30 ping -c 1 -W 1 $address
done
for size in 0 1 56 1000 2000; do
	ping -q -c 3 -i 0.02 -W 2 -s $size 10.1.0.1 >/run/ping || fail "ping $size: $(cat /run/ping)"
done
! ping -q -c 1 -W 1 10.0.0.7 >/run/ping || fail "an address nobody has answers"
ip neigh show dev ib0

step "$COUNT neighbours"
LIMITS=$(cat /proc/sys/net/ipv4/neigh/default/gc_thresh[123])
neighbour_limits $((COUNT * 2 + 1000)) $((COUNT * 2 + 1000)) $((COUNT * 2 + 1000))
ip neigh flush dev ib0
before=$(slab)
"$STACK/neighbours.py" 10.1.0.1 "$COUNT" || fail "not all neighbours answer"
found=$(ip -4 neigh show dev ib0 | awk '/lladdr/ {print $3}' | sort -u | wc -l)
((found >= COUNT)) || fail "$found hardware addresses, not $COUNT"
echo "$((($(slab) - before) / COUNT)) octets of slab a neighbour, on a kernel with KASAN"

step "more addresses while it runs"
"${CTL[@]}" peer add crowd:1 fd00::1-fd00::28
ip -6 address replace fd00::ffff/64 dev ib0 nodad
wait_for 60 has_joined 42	# all nodes, forty of solicited nodes, and the broadcast group
wait_for 30 ping -c 1 -W 1 fd00::1
for size in 0 56 2000; do
	ping -q -c 2 -i 0.5 -W 5 -s $size fd00::1 >/run/ping || fail "ping $size: $(cat /run/ping)"
done
# The first packet to each waits for its neighbour.
all_answer() {
	ip -6 neigh flush dev ib0
	"$STACK/neighbours.py" fd00::1 40
}
wait_for 120 all_answer
! ping -q -c 1 -W 1 fd00::29 >/run/ping || fail "an address nobody has answers"
# One that it has is found out by duplicate address detection.
sysctl -qw net.ipv6.conf.ib0.dad_transmits=5 # the first solicitation may be lost
ip -6 address add fd00::7/64 dev ib0
wait_for 30 is_duplicate fd00::7
ip -6 address delete fd00::7/64 dev ib0

step "the SM is another one: the groups are joined again"
stop_sm
rm /run/opensm.log
opensm_on sib0
wait_for 60 is_up
ip neigh flush dev ib0
wait_for 30 ping -c 1 -W 1 10.1.0.9
wait_for 30 ping -c 1 -W 1 fd00::9
"${CTL[@]}" status
"${CTL[@]}" peer remove crowd:1
! ping -q -c 1 -W 1 10.1.0.9 >/run/ping || fail "a peer that has gone answers"

step "the end"
rmmod ib_ipoib
stop_sm
kill "$fabric"
wait "$fabric" || fail "ibfabric ended with $?: $(cat /run/ibfabric.log)"
rdma link delete sib0
rmmod sib
ip link delete h0
# shellcheck disable=SC2086  # three numbers
neighbour_limits $LIMITS
