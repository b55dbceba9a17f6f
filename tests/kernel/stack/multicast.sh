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
burst() {
	"${N[@]}" python3 - "$1" <<-EOF
		import socket, sys
		member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		near = socket.inet_aton("10.0.0.2")
		for operation in socket.IP_ADD_MEMBERSHIP, socket.IP_DROP_MEMBERSHIP:
		    for last in range(1, 20):
		        member.setsockopt(socket.IPPROTO_IP, operation,
		                          socket.inet_aton(f"239.{sys.argv[1]}.0.{last}") + near)
	EOF
}
for round in {1..10}; do
	burst "$round" || fail "burst $round"
done
# once more, now that the bursts have been worked off or are about to be
rm /run/group
"${N[@]}" timeout 60 socat -u UDP4-RECV:4000,ip-add-membership=239.1.2.3:10.0.0.2 CREATE:/run/group &
member=$!
wait_for 10 joined
wait_for 20 heard
kill $member
wait $member || true
step "all nodes"
ping -c 2 -W 2 -i 0.1 ff02::1%ib0 >/run/ping || fail "ff02::1: $(cat /run/ping)"
stack_down
