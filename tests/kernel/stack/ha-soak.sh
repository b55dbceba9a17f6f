# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# A host with two ports and a peer on two switches, and many failovers of ipoib-ha
# there: by hand, and every tenth time since the cable is pulled. After each, every one
# of many TCP connections has to answer. SOAK: how often
# (1000), CROWD: how many connections (50).
#
# clock: jump
# run: by name
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2)
SOAK=${SOAK:-1000}
CROWD=${CROWD:-50}
PULLED_EVERY=10
declare -A CABLE=([ib0]=h0 [ib1]=h1)
HA=("$IPOIB_HA" --run-folder /run/ha)

a_fabric() {
	local i
	cat >/run/topology <<-END
		switchguid=0x2c90000000001
		Switch 8 "S-1"	# "leaf1"
		[1] "h0"[1]
		[2] "h2"[1]
		[7] "S-2"[7]
		switchguid=0x2c90000000002
		Switch 8 "S-2"	# "leaf2"
		[1] "h1"[1]
		Ca 1 "h0"
		Ca 1 "h1"
		Ca 1 "h2"
	END
	wires
	fabric_up
	hosts_up
	opensm_on sib2
	hosts_active
	for i in "${HOSTS[@]}"; do
		wait_for 20 netdev_of "sib$i"
		ip link set "$(netdev_of "sib$i")" name "x$i"
	done
}

addresses() {
	ip netns add n1
	ip link set x2 netns n1
	"${N[@]}" ip link set x2 name ib0 up
	"${N[@]}" ip address add 10.0.0.2/24 dev ib0
	ip link set x0 name ib0 up
	ip link set x1 name ib1 up
	ip address add 10.0.0.1/24 dev ib0
	wait_for 60 "${N[@]}" ping -c 1 -W 1 10.0.0.1
}

healthy() {
	"${HA[@]}" status
}

healthy_or_degraded() {
	local status=0
	healthy >/dev/null || status=$?
	((status == 0 || status == 2))
}

active() {
	{ "${HA[@]}" status -j || true; } | python3 -c 'import json, sys
print(next(one["name"] for one in json.load(sys.stdin)["pairs"][0]["interfaces"] if one["active"]))'
}

active_is() {
	[[ $(active) == "$1" ]]
}

# everybody: every connection answers now
everybody() {
	local answers
	echo >&8
	read -r -t 200 answers <&9 || fail "$1: $(cat /run/asker)"
	ANSWERS=$answers
}

step "a fabric"
a_fabric
addresses
"${HA[@]}" -p ib0 -s ib1 --with-arping >/run/ha.log 2>&1 &
DAEMON=$!
wait_for 60 healthy

step "$CROWD connections"
"$STACK/crowd.py" serve 10.0.0.1 7000 &
SERVER=$!
wait_for 60 listening 7000
mkfifo /run/questions /run/answers
"${N[@]}" "$STACK/crowd.py" ask 10.0.0.1 7000 "$CROWD" </run/questions >/run/answers 2>/run/asker &
ASKER=$!
exec 8>/run/questions 9</run/answers
everybody "before anything"

step "$SOAK failovers"
pulled=0
for ((number = 1; number <= SOAK; number++)); do
	if ((number % PULLED_EVERY)); then
		"${HA[@]}" switch >/dev/null || healthy_or_degraded
		everybody "failover $number, by hand"
		continue
	fi
	now=$(active)
	other=ib0
	[[ $now == ib1 ]] || other=ib1
	ip link set "${CABLE[$now]}" down
	wait_for 60 active_is "$other"
	everybody "failover $number, ${CABLE[$now]} pulled"
	ip link set "${CABLE[$now]}" up
	wait_for 60 healthy
	pulled=$((pulled + 1))
	((number % 100)) || echo "$number failovers, $ANSWERS answers"
done
exec 8>&-
wait $ASKER || fail "a connection was lost: $(cat /run/asker)"
moves=$("${HA[@]}" status -j | python3 -c 'import json, sys
print(json.load(sys.stdin)["pairs"][0]["move_count"])')
[[ $moves == "$SOAK" ]] || fail "$moves failovers instead of $SOAK"
echo "$moves failovers, $pulled of them by a pulled cable: 0 of $CROWD TCP connections lost, $ANSWERS answers"

step "stack down"
kill $DAEMON $SERVER
wait $DAEMON || fail "the daemon: $(tail -n 5 /run/ha.log)"
wait $SERVER || true
stop_sm
fabric_down
hosts_down
ip netns delete n1
