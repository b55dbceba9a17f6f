# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034
# shellcheck shell=bash
# A subnet manager whose SA is wrong: 40 of 100 path records and memberships, drawn from SEED, and
# every other answer twice. Nothing of that is used but what has a wrong rate alone, and each host
# is reached all the same.
source "$STACK/lib.sh"

LAST=40 # 10.0.0.2 to 10.0.0.40
GROUPS_WANTED=40

# tell LINE: to ib-fleet; ANSWER is what it says
tell() {
	echo "$1" >&"${FLEET[1]}"
	read -rt 60 ANSWER <&"${FLEET[0]}" || fail "ib-fleet has not answered to '$1'"
}

# said NAME: a number of ANSWER
said() {
	[[ $ANSWER =~ \"$1\":([0-9]+) ]] || fail "no '$1' in $ANSWER"
	echo "${BASH_REMATCH[1]}"
}

# stat NAME: a counter of ib0
stat() {
	ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

reach_all() {
	local number
	for ((number = 2; number <= LAST; number++)); do
		wait_for 60 ping -c 1 -W 1 10.0.0.$number
	done
}

# of 239.1.0.0/16, all of which are asked for until the SA is right about them
is_in_all() {
	(($(grep -A 3 '^GID: .*:f01:' /sys/kernel/debug/ipoib/ib0_mcg | grep -c 'complete: *yes') == GROUPS_WANTED))
}

step "one HCA, ib-fleet at the other end of its cable"
cable
load_sib
load_ipoib
rdma link add sib0 type sib netdev va
coproc FLEET { exec "$IB_FLEET" --netdev vb --addresses 10.0.0.2-10.0.0.$LAST --wrong 40 --twice 50 --seed "${SEED:-1}"; }
SM=$FLEET_PID
wait_for 30 port_is sib0 ACTIVE
ip address add 10.0.0.1/24 dev ib0
ip link set ib0 up
wait_for 90 is_running ib0
tell watch
reach_all
mkfifo /run/leave
"$STACK/member_of_many.py" 10.0.0.1 $GROUPS_WANTED 5000 </run/leave >/run/heard 2>&1 &
member=$!
exec 7>/run/leave
wait_for 200 is_in_all
tell more
(($(said reached) == LAST - 1 && $(said wrong) > 0 && $(said twice) > 0)) || fail "$ANSWER"
step "wrong path records: $(stat path_answers_wrong), memberships: $(stat multicast_answers_wrong)"
step "odd path records: $(stat path_answers_odd), memberships: $(stat multicast_answers_odd)"
(($(stat path_answers_wrong) > 0 && $(stat path_answers_odd) > 0 &&
	$(stat multicast_answers_wrong) + $(stat multicast_answers_odd) > 0)) || fail "$(ethtool -S ib0)"
dmesg | grep 'the SA is wrong: ' >/run/wrong || fail "nothing was said"
sed -n '1,5p' /run/wrong

step "all hosts get other LIDs"
tell renumber
reach_all
tell more
(($(said reached) == LAST - 1)) || fail "$ANSWER"

step "the SA is right"
tell right
tell takeover
wrong=$(stat path_answers_wrong)
reach_all
tell more
(($(said reached) == LAST - 1 && $(said wrong) == 0 && $(said twice) == 0)) || fail "$ANSWER"
(($(stat path_answers_wrong) == wrong)) || fail "$(ethtool -S ib0)"
exec 7>&-
wait $member || fail "$(cat /run/heard)"
stack_down
