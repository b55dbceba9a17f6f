# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# An HCA whose commands take long, one whose commands fail, and one that fails itself, under
# traffic, in both modes: interfaces go down, HCAs are removed and come back.
source "$STACK/lib.sh"

FAULTS=/sys/kernel/debug/sib/sib0

# flood: packets both ways, until calm
flood() {
	ping -q -f -s 1000 10.0.0.2 >/dev/null 2>&1 &
	FLOOD=$!
	"${N[@]}" ping -q -f -s 1000 10.0.0.1 >/dev/null 2>&1 &
	FLOOD="$FLOOD $!"
}

calm() {
	kill -9 $FLOOD 2>/dev/null || true
	wait $FLOOD 2>/dev/null || true
}

# mode WORD: of both interfaces
mode() {
	echo "$1" >/sys/class/net/ib0/mode
	"${N[@]}" bash -c "echo $1 >/sys/class/net/ib1/mode"
	wait_for 30 ping -c 1 -W 1 10.0.0.2
}

# failed COUNT: of so many commands that were to fail, one has at least
failed() {
	first_line $FAULTS/fail_commands
	echo "commands that failed: $(($1 - LINE)) of $1"
	((LINE < $1)) || fail "no command has failed"
}

# cycle: ib0 goes down and comes up, in $TOOK ms for the latter
cycle() {
	local start
	ip link set ib0 down
	start=$(now_ms)
	ip link set ib0 up
	TOOK=$(($(now_ms) - start))
}

not_running() {
	! is_running ib0
}

has_failed() {
	dmesg | tail -n 200 | grep -q 'ib0: the HCA has failed'
}

# back: the HCA is made again, with its interface
back() {
	rdma link add sib0 type sib netdev va
	wait_for 20 port_not sib0 DOWN
	stop_sm
	start_sm
	wait_for 10 netdev_of sib0
	[[ $NETDEV == ib0 ]] || ip link set "$NETDEV" name ib0
	ip address replace 10.0.0.1/24 dev ib0
	ip link set ib0 up
	wait_for 30 is_running ib0
	wait_for 30 ping -c 1 -W 1 10.0.0.2
}

stack_up
for mode in datagram connected; do
	mode $mode
	step "commands that take 500 ms, $mode"
	cycle
	usual=$TOOK
	echo 500 >$FAULTS/command_ms
	cycle
	echo "up after $TOOK ms, usually $usual ms"
	# Three commands and more, one after another; how busy the machine is makes less of a difference
	((TOOK >= usual + 1000)) || fail "the commands take no time"
	wait_for 30 is_running ib0
	wait_for 30 ping -c 1 -W 1 10.0.0.2
	echo 0 >$FAULTS/command_ms

	step "commands that fail, $mode"
	for count in 1 2 3 5 8; do
		echo $count >$FAULTS/fail_commands
		ip link set ib0 down
		ip link set ib0 up || ip link set ib0 up || true
		failed $count
		echo 0 >$FAULTS/fail_commands
		ip link set ib0 up
		wait_for 60 ping -c 1 -W 1 10.0.0.2
	done

	step "the HCA fails, the interface goes down, $mode"
	flood
	echo 1 >$FAULTS/fatal
	wait_for 10 has_failed
	wait_for 10 not_running
	! ping -q -c 2 -i 0.2 -W 1 10.0.0.2 >/run/ping || fail "a failed HCA carries packets"
	timeout 60 ip link set ib0 down || fail "ip link set ib0 down: status $?"
	calm
	timeout 60 rdma link delete sib0 || fail "rdma link delete: status $?"
	gone /sys/class/net/ib0 || fail "ib0 survives its HCA"
	back
	mode $mode

	step "the HCA fails and is removed under traffic, $mode"
	dmesg -C
	flood
	echo 1 >$FAULTS/fatal
	wait_for 10 has_failed
	timeout 60 rdma link delete sib0 || fail "rdma link delete: status $?"
	gone /sys/class/net/ib0 || fail "ib0 survives its HCA"
	calm
	back
done
stack_down
