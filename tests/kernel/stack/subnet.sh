# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2317  # called by wait_for
# shellcheck shell=bash
# A subnet manager gives the subnet another prefix: the ports' GIDs change and with them
# the hardware addresses, under a TCP connection; the peers are told.
source "$STACK/lib.sh"

PREFIX=fe:c0:00:00:00:00:00:07

# has_prefix INTERFACE [COMMAND...]: its hardware address has the new one
has_prefix() {
	[[ $("${@:2}" cat "/sys/class/net/$1/address") == ??:??:??:??:"$PREFIX":* ]]
}

# announced: the three announcements of an address have left
announced() {
	(($(grep -c "who-has 10.0.0.1 .*tell 10.0.0.1" /run/arp) >= 3))
}

# known: both have the hardware address that the other has now
known() {
	[[ $("${N[@]}" ip neigh show 10.0.0.1) == *"$(cat /sys/class/net/ib0/address)"* &&
		$(ip neigh show 10.0.0.2) == *"$("${N[@]}" cat /sys/class/net/ib1/address)"* ]]
}

stack_up
numbers_start
tcpdump -i ib0 -nn -l --immediate-mode -Q out arp >/run/arp 2>/run/tcpdump &
LISTENER=$!
wait_for 10 grep -q "listening on" /run/tcpdump

step "another subnet prefix"
! has_prefix ib0 || fail "it has that prefix already"
stop_sm
opensm_on sib0 --subnet_prefix "0x${PREFIX//:/}"
wait_for 60 has_prefix ib0
wait_for 60 has_prefix ib1 "${N[@]}"
wait_for 60 announced
cat /run/arp
wait_for 60 known
wait_for 30 ping -c 1 -W 1 10.0.0.2
kill $LISTENER
wait $LISTENER 2>/dev/null || true

step "the connection has survived"
numbers_end
stack_down
