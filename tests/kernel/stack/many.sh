# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# As many partitions as a port has P_Keys for, with a child on each, and as many groups
# as a program may want.
source "$STACK/lib.sh"

CHILDREN=126
GROUPS_WANTED=4096

# The buffers of so many would not fit into this kernel's memory.
load_ipoib() {
	insmod "$IPOIB_KO" recv_queue_size=64
}

# children DEVICE HOST: on all partitions, with an address each, up
children() {
	local number
	for ((number = 1; number <= CHILDREN; number++)); do
		echo "link add link $1 name c$number type ipoib pkey $((0x8000 + number))"
		echo "address add 10.1.$number.$2/24 dev c$number"
		echo "link set c$number up"
	done
}

all_ready() {
	(($("$@" ip -br link show type ipoib | grep -c '^c.*LOWER_UP') == CHILDREN))
}

# How many of 239.1.0.0/16 ib1 is in
count_groups() {
	grep -c '^GID: .*:f01:' /sys/kernel/debug/ipoib/ib1_mcg || true
}

is_in_all() {
	[[ $(count_groups) == "$GROUPS_WANTED" ]]
}

is_in_none() {
	[[ $(count_groups) == 0 ]]
}

declare -a names
for ((number = 1; number <= CHILDREN; number++)); do
	names+=("p$number=$number")
done
partitions "${names[@]}"
stack_up

step "$CHILDREN children at each port"
children ib0 1 >/run/here
children ib1 2 >/run/there
ip -batch /run/here
"${N[@]}" ip -batch /run/there
wait_for 120 all_ready
wait_for 120 all_ready "${N[@]}"
for ((number = 1; number <= CHILDREN; number++)); do
	wait_for 60 ping -c 1 -W 1 "10.1.$number.2"
done

step "the port is pulled and plugged"
ip link set va down
none_ready() { [[ $(ip -br link show type ipoib) != *LOWER_UP* ]]; }
wait_for 30 none_ready
ip link set va up
wait_for 120 all_ready
wait_for 60 ping -c 1 -W 1 10.1.$CHILDREN.2
for ((number = 1; number <= CHILDREN; number++)); do
	echo "link delete c$number"
done >/run/here
ip -batch /run/here
"${N[@]}" ip -batch /run/here
wait_for 30 ping -c 1 -W 1 10.0.0.2

step "$GROUPS_WANTED groups"
mkfifo /run/leave
"${N[@]}" "$STACK/member_of_many.py" 10.0.0.2 $GROUPS_WANTED 5000 </run/leave >/run/heard 2>&1 &
member=$!
exec 7>/run/leave
start=$SECONDS
wait_for 300 is_in_all
echo "$GROUPS_WANTED groups joined within $((SECONDS - start)) s"
sent_to=(0 1 255 256 2047 $((GROUPS_WANTED - 1)))
for number in "${sent_to[@]}"; do
	heard() {
		echo "group $number" | socat -u - \
			UDP4-DATAGRAM:239.1.$((number >> 8)).$((number & 255)):5000,ip-multicast-if=10.0.0.1
		grep -qx "group $number" /run/heard
	}
	wait_for 30 heard
done
exec 7>&-
wait $member || fail "$(tail -n 3 /run/heard)"
wait_for 120 is_in_none
# The kernel tells the SA of each, no more than 16 at a time since Linux 6.16, and a HCA cannot go
# before; without an SA that would take minutes. ib0 stays a member of those that it has sent to.
all_ended() {
	kill -USR1 $SM # opens its log once more, and so writes what it has kept back
	(($(grep -c 'Mcast group deleted.*:f01:' /run/opensm.log) >= GROUPS_WANTED - ${#sent_to[@]}))
}
wait_for 300 all_ended
stack_down
