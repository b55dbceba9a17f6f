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
source "$STACK/ha-lib.sh"

SOAK=${SOAK:-1000}
CROWD=${CROWD:-50}
PULLED_EVERY=10
declare -A CABLE=([ib0]=h0 [ib1]=h1)

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
hosts_down
