# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034
# shellcheck shell=bash
# Two subnet managers on two switches: the standby takes over when the master is
# killed, and gives the subnet back. Meanwhile hosts ping each other, and what comes to
# the fabric or fails in it is routed by whoever is master.
source "$STACK/handover-lib.sh"

# Every host is a member of the broadcast group, as the master knows
all_members() {
	[[ $(saquery -C sib2 --smkey 1 MCMR --mgid ff12:401b:ffff::ffff:ffff | grep -c 'PortGid') == "${#HOSTS[@]}" ]]
}

# routed_by HOST: that master gives a new host its LID, finds a way around a failed link,
# and tells hosts where the others are
routed_by() {
	local port=$((7 + $1)) start
	is_master "$1" || fail "h$1 is not master"
	wait_for 30 all_members
	start=$(now_ms)
	"${CTL[@]}" host add "new$1" leaf2:6
	wait_for 30 port_of leaf2 6 active
	"${CTL[@]}" host remove "new$1"
	"${CTL[@]}" fault link "leaf1:$port" down
	wait_for 30 ping -c 1 -W 1 10.0.0.3
	"${CTL[@]}" fault clear
	wait_for 30 port_of leaf1 "$port" active
	ip neigh flush all
	for address in 10.0.0.2 10.0.0.3 fd00::2 fd00::3; do
		wait_for 30 ping -c 1 -W 1 "$address"
	done
	sm_is "$1" MASTER || fail "h$1 is not master any more"
	echo "h$1 is master: a new host is active, ping goes around a link: $(($(now_ms) - start)) ms"
}

# no_gap FILE: every ping up to the last that was answered; what is on its way when ping is
# ended counts for ping as lost
no_gap() {
	awk -F 'icmp_seq=' 'NF > 1 { n++; if ($2 + 0 > last) last = $2 + 0 } END { exit !(n && n == last) }' "$1"
}

# without_loss COMMAND...: two hosts ping each other meanwhile
without_loss() {
	local pinger start
	start=$(now_ms)
	ip netns exec n1 ping -i 0.2 -W 5 10.0.0.3 >/run/ping &
	pinger=$!
	"$@"
	echo "$*: after $(($(now_ms) - start)) ms"
	kill -INT "$pinger"
	wait "$pinger" || fail "no ping meanwhile: $(cat /run/ping)"
	no_gap /run/ping || fail "pings were lost: $(cat /run/ping)"
	tail -n 3 /run/ping
}

step "a master and a standby"
wires
fabric_up
hosts_up
sm_on 0 9
hosts_active
hosts_addresses
hosts_ping 30
sm_on 1 5
wait_for 30 sm_is 1 STANDBY
routed_by 0

step "the master is killed"
sm_killed 0
without_loss wait_for 60 is_master 1
routed_by 1

step "it comes back, with the higher priority"
sm_on 0 9
without_loss wait_for 60 is_master 0
wait_for 30 sm_is 1 STANDBY
routed_by 0

step "killed again, it comes back with a lower priority"
sm_killed 0
without_loss wait_for 60 is_master 1
sm_on 0 1
wait_for 30 sm_is 0 STANDBY
wait_for 10 is_master 1

step "the end"
SM=${SMS[0]} stop_sm
SM=${SMS[1]}
hosts_down
