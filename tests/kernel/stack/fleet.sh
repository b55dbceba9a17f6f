# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154
# shellcheck shell=bash
# memory: 2048M
# run: by name
# A host and FLEET others, each a port of its own on the switches of ibfabric, which answers
# pings. All are in use; then the subnet manager is another one, and then the cable is pulled
# for a moment. How many path records are asked for, and how long until each is reached again.
# DRIVER=in-tree has the kernel's own driver do the same.
source "$STACK/sweep-lib.sh"

FLEET=${FLEET:-200}
DRIVER=${DRIVER:-ours}
LEAF=20		# hosts of a leaf switch

# asked: as ours counts them; the kernel's driver does not
asked() {
	[[ $DRIVER != ours ]] || ethtool -S ib0 | sed -n 's/^ *path_queries: //p'
}

# reached WHAT: all of them, and what it took
reached() {
	local start before
	start=$(now)
	before=$(asked)
	until "$STACK/neighbours.py" 10.1.0.1 "$FLEET" >/run/answers; do
		echo "again: $(cat /run/answers)"
		(($(since "$start" | cut -d. -f1) < 300)) || fail "$1: $(cat /run/answers)"
	done
	echo "$DRIVER: $1: $FLEET hosts after $(since "$start") s${before:+, $(($(asked) - before)) path queries}"
}

# joined: every host is in the broadcast group
joined() {
	[[ $("${CTL[@]}" status -j | grep -c '"joined": 1') == "$FLEET" ]]
}

load() {
	if [[ $DRIVER == ours ]]; then
		load_ipoib
	else
		modprobe ib_ipoib
	fi
}

LIMITS=$(cat /proc/sys/net/ipv4/neigh/default/gc_thresh[123])
neighbour_limits $((FLEET * 2 + 1000)) $((FLEET * 2 + 1000)) $((FLEET * 2 + 1000))
partitions ''
step "$FLEET hosts"
"$STACK/fat_tree.py" 1 $((FLEET / LEAF + 1)) $LEAF 2 1 >/run/topology
real_port
PEERS=()
for ((host = 1; host <= FLEET; host++)); do
	PEERS+=(--peer "h$host:1=10.1.$((host / 256)).$((host % 256))")
done
fabric_up "${PEERS[@]}"
wait_for 20 port_is sib0 INIT
opensm_on sib0 -t "$TIMEOUT"
wait_for 900 is_up
wait_for 60 port_is sib0 ACTIVE
load
wait_for 10 netdev_of sib0
ip address replace 10.1.255.254/16 dev ib0
ip link set ib0 up
wait_for 60 is_running ib0
wait_for 300 joined
reached "first"

step "the subnet manager is another one"
stop_sm
rm /run/opensm.log
opensm_on sib0 -t "$TIMEOUT"
wait_for 900 is_up
reached "another subnet manager"

step "the cable is pulled"
ip link set s0 down
wait_for 20 port_is sib0 DOWN
ip link set s0 up
wait_for 900 port_is sib0 ACTIVE
wait_for 60 is_running ib0
reached "the cable is back"

rmmod ib_ipoib
stop_sm
fabric_down
rdma link delete sib0
rmmod sib
ip link delete h0
# shellcheck disable=SC2086  # three numbers
neighbour_limits $LIMITS
