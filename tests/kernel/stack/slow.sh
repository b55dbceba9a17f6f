# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# An HCA that takes two seconds for each command, asked for connections to many peers at once:
# a group is joined and the peer that is there is reached while most of them are still being made,
# and a carrier that is lost comes back long before the HCA could have made them.
source "$STACK/lib.sh"

STRANGERS=240      # a minute's work for the HCA, sixteen commands at a time
CONNECTIONS=/sys/kernel/debug/ipoib/ib0_connections
FAULTS=/sys/kernel/debug/sib/sib0

# being_made: connections whose peers have not answered
being_made() {
	grep -Ec 'state: *(PATH|REQ|RETRY_PATH|RETRY)$' $CONNECTIONS || true
}

at_work() {
	(($(being_made) > STRANGERS / 2))
}

# still_at_work WHAT: it is done before the connections are
still_at_work() {
	at_work || fail "$1: only $(being_made) connections are being made"
	echo "$1: $(being_made) connections are being made"
}

none_being_made() {
	(($(being_made) == 0))
}

# connected: to the peer, which alone answers
connected() {
	grep -Eq 'state: *UP$' $CONNECTIONS
}

in_group() {
	grep -A 4 "$1" /sys/kernel/debug/ipoib/ib0_mcg | grep -q "complete: *yes"
}

not_running() {
	! is_running ib0
}

stack_up
echo connected >/sys/class/net/ib0/mode
"${N[@]}" bash -c 'echo connected >/sys/class/net/ib1/mode'
wait_for 30 ping -c 1 -W 1 10.0.0.2
read -r address < <("${N[@]}" cat /sys/class/net/ib1/address)
for ((i = 1; i <= STRANGERS; i++)); do
	printf 'neigh add 10.0.1.%d lladdr 80:00:%02x:%02x:%s dev ib0\n' $i $((i / 256 + 1)) $((i % 256)) "${address:12}"
done >/run/neighbours
ip route add 10.0.1.0/24 dev ib0
ip -batch /run/neighbours

# ask: a packet to each stranger
ask() {
	local i
	for ((i = 1; i <= STRANGERS; i++)); do
		echo >"/dev/udp/10.0.1.$i/9"
	done
}

step "many connections at once"
echo 2000 >$FAULTS/command_ms
ask
ping -q -c 3 -i 0.2 -W 5 10.0.0.2 >/run/ping || fail "$(cat /run/ping)"
still_at_work "the peer was pinged"
step "a group is joined meanwhile"
socat -u UDP4-RECVFROM:7,ip-add-membership=239.1.2.3:ib0 /dev/null &
member=$!
wait_for 30 in_group "f01:203"
still_at_work "a group was joined"
step "the port goes, and comes back"
ip link set va down
wait_for 10 not_running
ip link set va up
wait_for 40 is_running ib0
kill $member
wait $member || true
ask
wait_for 10 at_work
step "the connection comes in its turn"
echo 0 >$FAULTS/command_ms
wait_for 60 ping -c 1 -W 1 10.0.0.2
wait_for 60 none_being_made
wait_for 60 connected
stack_down
