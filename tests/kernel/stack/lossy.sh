# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# A cable that loses, duplicates, reorders and corrupts frames: the link
# protocol hides all of it from IP, and counts it.
source "$STACK/lib.sh"

# link_counters: SEEN has those of both ends together, by name
declare -A SEEN BEFORE
link_counters() {
	local hca name
	SEEN=()
	for hca in sib0 sib1; do
		for name in retransmit rx_dup rx_reorder rx_check down; do
			first_line "/sys/class/infiniband/$hca/ports/1/hw_counters/link_$name"
			((SEEN[$name] += LINE)) || true
		done
	done
}

stack_up
# One end sends frames of fragments, the other frames in one piece.
ethtool -K vb sg off
[[ $(ethtool -k vb) == *scatter-gather:\ off* ]] || fail "$(ethtool -k vb)"
tc qdisc add dev va root netem loss 2% duplicate 2% corrupt 1% delay 2ms 2ms
tc qdisc add dev vb root netem loss 2% duplicate 2% corrupt 1% delay 2ms 2ms
link_counters
for name in "${!SEEN[@]}"; do
	BEFORE[$name]=${SEEN[$name]}
done
step "ping over a bad cable"
ping -q -c 300 -i 0.01 -W 10 -s 3000 10.0.0.2 >/run/ping || fail "$(cat /run/ping)"
grep -q ' 0% packet loss' /run/ping || fail "$(cat /run/ping)"
grep -q duplicates /run/ping && fail "$(cat /run/ping)"
step "transfer over a bad cable"
head -c 1M /dev/urandom >/run/sent
"${N[@]}" socat -u TCP-LISTEN:7,reuseaddr CREATE:/run/got &
receiver=$!
wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :7'
timeout 60 socat -u OPEN:/run/sent TCP:10.0.0.2:7 || fail "send"
wait $receiver
cmp /run/sent /run/got || fail "data differ"
step "the link has had to work for it"
link_counters
for name in "${!SEEN[@]}"; do
	grown=$((SEEN[$name] - BEFORE[$name]))
	echo "link_$name: $grown"
	[[ $name == down ]] || ((grown > 0)) || fail "the cable was not bad: link_$name has not grown"
done
((SEEN[down] == BEFORE[down])) || fail "the link was down"
stack_down
