# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# A HCA that accelerates IPoIB and does not do so for every interface: it fails, it does not find
# a child's parent, it wants many queues.
source "$STACK/accel-lib.sh"

FAIL=/sys/kernel/debug/sib/sib0/fail_commands
MAKE=/sys/class/net/ib0/create_child

# again QUEUES: the first HCA comes back, with so many
again() {
	QUEUES=$1
	stop_sm
	echo "$QUEUES" >$PARAMETERS/ipoib_netdev_queues
	hcas
	start_sm
}

# settled: ib0 is a member of every group that it has and of the broadcast group, so no join that
# is still under way takes the failure that is meant for another command
settled() {
	local groups members
	groups=$(ip maddress show dev ib0 | grep -c '^[[:space:]]*link') || return 1
	members=$(awk '/complete:/ { complete = $2 } /send_only: *no/ && complete == "yes"' \
		/sys/kernel/debug/ipoib/ib0_mcg | wc -l)
	((members == groups + 1))
}

partitions blue=0x1 red=0x2
stack_up
"${N[@]}" ip link add link ib1 name ib1.8001 type ipoib pkey 0x8001
"${N[@]}" ip address add 10.1.0.2/24 dev ib1.8001
"${N[@]}" ip link set ib1.8001 up

step "a HCA that does not open its netdev"
ip link set ib0 down
into $FAIL 1
refused "Input/output error" ip link set ib0 up
logged 1 "ib0: the HCA does not open its netdev: error -5; with own_queues=sib0/1" || fail "not said why"
ip link set ib0 up
ip -6 address replace fd00::1/64 dev ib0 nodad
wait_for 30 ping -c 1 -W 1 10.0.0.2
wait_for 30 settled

step "a HCA that does not initialise the netdev of a child"
into $FAIL 1
ip link add link ib0 name ib0.8001 txqueuelen 77 type ipoib pkey 0x8001 2>/run/warning
grep -q "not accelerated: the HCA has refused" /run/warning || fail "no warning: $(cat /run/warning)"
logged 1 "sib0 port 1: P_Key 0x8001 has queue pairs of this driver: the HCA does not accelerate it, error -5" ||
	fail "not said why"
own_queues ib0.8001 || fail "a netdev of a HCA that has refused it"
[[ $(cat /sys/class/net/ib0.8001/tx_queue_len) == 77 ]] || fail "txqueuelen"
ethtool -L ib0.8001 tx 8
ip address add 10.1.0.1/24 dev ib0.8001
ip link set ib0.8001 up
wait_for 30 ping -c 1 -W 1 10.1.0.2
pings 10.1.0.2 1400

step "and one with its own queues hears without its parent"
ip link set ib0 down
ip link set ib0.8001 up
wait_for 30 ping -c 1 -W 1 10.1.0.2
ip link delete ib0.8001
ip link set ib0 up
ip -6 address replace fd00::1/64 dev ib0 nodad
wait_for 30 ping -c 1 -W 1 10.0.0.2
wait_for 30 settled
into $FAIL 1
into $MAKE 0x8001
own_queues ib0.8001 || fail "a netdev of a HCA that has refused it, by create_child"
into /sys/class/net/ib0/delete_child 0x8001

step "a child in another namespace, where the HCA does not find its parent"
ip netns add n2
ip link add link ib0 name x netns n2 type ipoib pkey 0x8001 2>/run/warning
grep -q "made in the parent's network namespace" /run/warning || fail "no warning: $(cat /run/warning)"
own_queues ip netns exec n2 x || fail "accelerated"
ip -n n2 link delete x
ip netns delete n2

step "a HCA with many queues"
timeout 60 rdma link delete sib0 || fail "rdma link delete: status $?"
again 100
ip address add 10.0.0.1/24 dev ib0
ip link set ib0 up
accelerated ib0 || fail "not the HCA's when it is back: $(ethtool -l ib0)"
wait_for 40 ping -c 1 -W 1 10.0.0.2
pings 10.0.0.2 1400

step "a HCA with more queues than can be had"
timeout 60 rdma link delete sib0 || fail "rdma link delete: status $?"
again 300
own_queues ib0 || fail "accelerated: $(ethtool -l ib0)"
logged 1 "P_Key 0xffff has queue pairs of this driver: the HCA does not accelerate it, error -22" ||
	fail "not said why"
logged 1 "sib0 port 1: the HCA asks for 2400 transmit queues and was given 192" || fail "not said how many"
stack_down
