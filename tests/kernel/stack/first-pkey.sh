# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# The subnet manager puts another P_Key at the head of the ports' tables while they are in
# use: their interfaces move to that partition with their groups, addresses and neighbours.
source "$STACK/lib.sh"

# first_pkey VALUE: the head of both tables
first_pkey() {
	first_line /sys/class/infiniband/sib0/ports/1/pkeys/0 && [[ $LINE == "$1" ]] &&
		first_line /sys/class/infiniband/sib1/ports/1/pkeys/0 && [[ $LINE == "$1" ]]
}

# has_pkey VALUE [WHERE...]: the interface is in that partition, its broadcast address too
has_pkey() {
	[[ $("${@:2}" ip -d link show type ipoib) == *"brd 00:ff:ff:ff:ff:12:40:1b:${1:2:2}:${1:4:2}:"*"pkey "*"$1 "* ]]
}

# groups_of VALUE: the addresses of all its groups have that P_Key, and there are some
groups_of() {
	local all
	all=$(ip -br maddress show dev ib0 | sed -n 's/.*00:ff:ff:ff:ff:1[0-9a-f]:[46]0:1b:\(..\):\(..\):.*/0x\1\2/p' | sort -u)
	[[ $all == "$1" ]]
}

rewrite() {
	printf '%s\n' "$@" >/run/partitions.conf
	kill -HUP $SM
}

stack_up
has_pkey 0xffff || fail "not in the default partition: $(ip -d link show type ipoib)"
ip link set ib0 mtu 2000
for pkey in 0x8015 0x8021; do
	step "P_Key $pkey comes first"
	rewrite "Default=0x7fff,ipoib,mtu=$IB_MTU:ALL=full;" "first=$pkey,indx0,ipoib,mtu=$IB_MTU:ALL=full;"
	wait_for 60 first_pkey $pkey
	wait_for 30 has_pkey $pkey
	wait_for 30 has_pkey $pkey "${N[@]}"
	wait_for 30 ping -c 1 -W 1 10.0.0.2
	wait_for 30 ping -c 1 -W 1 fd00::2
	wait_for 10 groups_of $pkey
	[[ $(ip -br link show ib0) == *LOWER_UP* ]] || fail "$(ip link show ib0)"
	[[ $(cat /sys/class/net/ib0/mtu) == 2000 ]] || fail "MTU $(cat /sys/class/net/ib0/mtu)"
done
stack_down
