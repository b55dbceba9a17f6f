# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# A broadcast group that the subnet manager does not have: the interface asks again and
# again, and what the RDMA CM joins on the same port does not wait for it. (On that
# partition it joins nothing: it takes what a group is like from the broadcast group.) When
# that is there at last, the interface runs.
source "$STACK/lib.sh"

RED=ib0.8001

# joins INTERFACE: requests so far
joins() {
	ethtool -S $1 | sed -n 's/^ *multicast_joins: //p'
}

asked() {
	(($(joins $RED) >= $1))
}

# red [FLAG]: the partition, without a broadcast group or with one
red() {
	printf '%s\n' "Default=0x7fff,ipoib,mtu=$IB_MTU:ALL=full;" "red=0x1${1-},mtu=$IB_MTU:ALL=full;" \
		>/run/partitions.conf
}

joined() {
	grep -qs 'joined dgid' /run/mckey
}

# rdma_cm_joins GROUP
rdma_cm_joins() {
	local begin=${EPOCHREALTIME/./} member
	rm -f /run/mckey
	stdbuf -oL mckey -b 10.0.0.1 -m $1 -C 1 >/run/mckey 2>&1 &
	member=$!
	wait_for 10 joined
	echo "joined after $(((${EPOCHREALTIME/./} - begin) / 1000)) ms: $(grep joined /run/mckey)"
	kill $member
	wait $member || true
}

red
stack_up
step "no broadcast group"
ip link add link ib0 name $RED type ipoib pkey 0x8001
ip address add 10.1.0.1/24 dev $RED
ip link set $RED up
wait_for 30 asked 4
! is_running $RED || fail "$RED runs"
for round in 1 2 3; do
	step "the RDMA CM joins groups meanwhile, $round"
	rdma_cm_joins 239.7.7.$round
done
! is_running $RED || fail "$RED runs"

step "the group appears"
red ,ipoib
kill -HUP $SM
wait_for 60 is_running $RED
stack_down
