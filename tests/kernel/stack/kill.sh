# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Programs that use verbs are killed in the middle, and HCAs go away under them:
# all that they had goes with them, and what survives ends by itself. KILLS from
# the environment: how many are killed. There is one CPU, so what can waits for events.
source "$STACK/lib.sh"

PROGRAMS=("ib_send_bw -e -s 65536" "ib_write_bw -s 65536" "ib_read_bw -e -s 65536"
	"ib_atomic_bw -e -A FETCH_AND_ADD" "ib_send_bw -e -c UC -s 8192"
	"ib_send_bw -e -s 4096 -q 4" "rping")

frames() {
	cat /sys/class/infiniband/sib[01]/ports/1/hw_counters/link_tx_data | paste -s -d + | bc
}

has_moved() {
	(($(frames) >= $1))
}

# begin PROGRAM ARGS...: server and client, until $AFTER frames have been sent
begin() {
	local from
	case $1 in
	rping)
		rping -s -a 10.0.0.1 -C 1000000 -S 4000 >/run/server 2>&1 &
		SERVER=$!
		wait_for 60 listening 7174
		from=$(frames)
		"${N[@]}" rping -c -a 10.0.0.1 -C 1000000 -S 4000 >/run/client 2>&1 &
		CLIENT=$!
		;;
	*)
		"$@" -F -n 1000000 -d sib0 >/run/server 2>&1 &
		SERVER=$!
		wait_for 60 listening 18515
		from=$(frames)
		"$@" -F -n 1000000 -d sib1 127.0.0.1 >/run/client 2>&1 &
		CLIENT=$!
		;;
	esac
	wait_for 30 has_moved $((from + AFTER))
}

# ended PID SECONDS: it ends by itself, and in time
ended() {
	timeout "$2" tail --pid="$1" -s 0.1 -f /dev/null
}

# killed PID NAME
killed() {
	kill -9 "$1" 2>/dev/null || true
	disown "$1" 2>/dev/null || true
	ended "$1" 20 || fail "$2 survives SIGKILL: $(cat "/proc/$1/stack")"
}

nothing_left() {
	wait_for 60 as_before || fail "$1: $(resources)"
}

stack_up
RANDOM=4711
note_resources
for ((i = 0; i < ${KILLS:-14}; i++)); do
	program=${PROGRAMS[i % ${#PROGRAMS[@]}]}
	AFTER=$((50 + RANDOM % 500))
	victim=$((RANDOM % 2))
	begin $program
	if ((victim)); then
		step "$i: $program: server killed after $AFTER frames"
		killed $SERVER server
		[[ $program == *UC* ]] || ended $CLIENT 30 || fail "the client waits for ever"
		killed $CLIENT client
	else
		step "$i: $program: client killed after $AFTER frames"
		killed $CLIENT client
		killed $SERVER server
	fi
	nothing_left "$program"
done
ping -q -c 3 -i 0.1 -w 10 10.0.0.2 >/dev/null || fail "no ping"

for program in "${PROGRAMS[0]}" "${PROGRAMS[2]}" rping; do
	AFTER=200
	begin $program
	step "HCA deleted under $program"
	timeout 60 rdma link delete sib1 || fail "rdma link delete: status $?"
	killed $CLIENT client
	killed $SERVER server
	rdma link add sib1 type sib netdev vb
	wait_for 60 port_is sib1 ACTIVE
	addresses
	nothing_left "$program"
done
stack_down
