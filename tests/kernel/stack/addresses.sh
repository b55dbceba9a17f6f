# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Addresses that users have got wrong: two subnets on one partition, of which a host has an
# interface each, and an address that an Ethernet interface has as well.
source "$STACK/lib.sh"

ALL=net.ipv4.conf.all

hwaddr() {
	cat "/sys/class/net/$1/address"
}

# ask for 10.1.0.1 in its subnet; who has answered is in $ANSWERS
ask() {
	rm -f /run/tcpdump	# the one before has listened, too
	"${N[@]}" tcpdump -i ib1 -nn -l --immediate-mode arp >/run/arp 2>/run/tcpdump &
	local pid=$!
	wait_for 10 grep -q "listening on" /run/tcpdump
	"${N[@]}" arping -q -f -w 5 -I ib1 -s 10.1.0.2 10.1.0.1 || fail "10.1.0.1 is silent"
	# Answers to this come after all answers to the former.
	"${N[@]}" arping -q -f -w 5 -I ib1 10.0.0.1 || fail "10.0.0.1 is silent"
	wait_for 10 grep -q 'Reply 10.0.0.1 ' /run/arp
	kill $pid
	wait $pid 2>/dev/null || true
	ANSWERS=$(grep -o 'Reply 10.1.0.1 is-at [0-9a-f:]*' /run/arp | cut -d' ' -f4 | sort -u) ||
		fail "no answer: $(cat /run/arp)"
}

# answers_alone SETTING: with it, only the interface that has the address answers
answers_alone() {
	sysctl -qw "$1"
	ask
	[[ $ANSWERS == "$(hwaddr other)" ]] || fail "$1: $ANSWERS"
	"${N[@]}" ip neighbour flush dev ib1
	"${N[@]}" ping -q -c 1 -W 5 10.1.0.1 >/dev/null || fail "10.1.0.1 is silent"
	[[ $("${N[@]}" ip neighbour show 10.1.0.1) == *"$(hwaddr other)"* ]] ||
		fail "$1: $("${N[@]}" ip neighbour show 10.1.0.1)"
	echo "$1: $ANSWERS alone"
}

# IPv6's address of the link, which nobody else has
has_link_local() {
	ip -6 address show dev $1 scope link -tentative -dadfailed | grep -q inet6
}

stack_up

step "two subnets on one partition"
ip link add link ib0 name other type ipoib
ip link set other addrgenmode random
ip link set other up
ip address add 10.1.0.1/24 dev other
"${N[@]}" ip address add 10.1.0.2/24 dev ib1
wait_for 30 is_running other
wait_for 30 "${N[@]}" ping -c 1 -W 1 10.1.0.1
ask
[[ $ANSWERS == "$(printf '%s\n' "$(hwaddr ib0)" "$(hwaddr other)" | sort)" ]] ||
	fail "without a setting both are to answer: $ANSWERS"
answers_alone $ALL.arp_ignore=1
answers_alone $ALL.arp_ignore=2
sysctl -qw $ALL.arp_ignore=0
answers_alone $ALL.arp_filter=1
sysctl -qw $ALL.arp_filter=0
wait_for 30 has_link_local other
ip link delete other

step "an address that an Ethernet interface has, too"
ip link add eth9 type dummy
ip link set eth9 up
ip address add 10.2.0.1/24 dev ib0
ip address add 10.2.0.1/24 dev eth9 metric 20
"${N[@]}" ip address add 10.2.0.2/24 dev ib1
"${N[@]}" ping -q -c 1 -W 5 10.2.0.1 >/dev/null || fail "the route by ib0 is not taken"
refused "No such device" timeout 20 rping -s -a 10.2.0.1 -C 1
pair 7174 rping -s -a 0.0.0.0 -C 1 -- "${N[@]}" rping -c -a 10.2.0.1 -C 1
ip link delete eth9
pair 7174 rping -s -a 10.2.0.1 -C 1 -- "${N[@]}" rping -c -a 10.2.0.1 -C 1

stack_down
