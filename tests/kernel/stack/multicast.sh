# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Groups are joined and left, and traffic to them arrives.
source "$STACK/lib.sh"
stack_up
step "a group with a member"
"${N[@]}" timeout 60 socat -u UDP4-RECV:4000,ip-add-membership=239.1.2.3:10.0.0.2 CREATE:/run/group &
member=$!
joined() { "${N[@]}" ip maddress show dev ib1 | grep -q 239.1.2.3; }
wait_for 10 joined
heard() {
	echo hello | socat -u - UDP4-DATAGRAM:239.1.2.3:4000,ip-multicast-if=10.0.0.1
	grep -q hello /run/group
}
wait_for 20 heard
kill $member
wait $member || true
step "joined and left in bursts"
for round in 1 2 3; do
	members=()
	for last in {1..30}; do
		"${N[@]}" timeout 20 socat -u "UDP4-RECV:$((5000 + last)),ip-add-membership=239.$round.0.$last:10.0.0.2" \
			OPEN:/dev/null &
		members+=($!)
	done
	many() { (($("${N[@]}" ip maddress show dev ib1 | grep -c "239\.$round\.") == 30)); }
	wait_for 15 many
	kill "${members[@]}"
	wait "${members[@]}" || true
done
step "all nodes"
ping -c 2 -W 2 -i 0.1 ff02::1%ib0 >/run/ping || fail "ff02::1: $(cat /run/ping)"
stack_down
