# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2317  # functions are called by wait_for
# shellcheck shell=bash
# Requests that complete in error, with each status there is, queue pairs and CQs in error, and
# tables that change without a word from the subnet manager, in both modes: after each of them
# packets get through again.
source "$STACK/lib.sh"

FAULTS=/sys/kernel/debug/sib/sib0
STATUSES=$(seq 1 21)	# enum ib_wc_status, but for success

# mode WORD: of both interfaces
mode() {
	echo "$1" >/sys/class/net/ib0/mode
	"${N[@]}" bash -c "echo $1 >/sys/class/net/ib1/mode"
	wait_for 30 ping -c 1 -W 1 10.0.0.2
}

# spent FILE: of the faults to come, the last has come
spent() {
	ping -q -c 1 -W 0.2 10.0.0.2 >/dev/null || true
	first_line "$FAULTS/$1" && [[ $LINE == 0 ]]
}

well_again() {
	wait_for 60 ping -q -c 1 -W 0.5 10.0.0.2
}

# fail_each KIND: of requests, sends or receives; one for each status, then several at once
fail_each() {
	local status
	for status in $STATUSES; do
		echo "$status" >"$FAULTS/${1%s}_status"
		echo 1 >"$FAULTS/fail_$1"
		wait_for 20 spent "fail_$1"
		well_again
	done
	echo 5 >"$FAULTS/fail_$1"
	wait_for 60 spent "fail_$1"
	well_again
}

# numbers: of the queue pairs of ib_ipoib on sib0, those of connections first: these go with the
# interface's own
numbers() {
	rdma resource show qp link sib0 | awk '/\[ib_ipoib\]/ { print $4 }' | sort -rn
}

# there_are LEAST: so many, once there has been something to connect for
there_are() {
	ping -q -c 1 -W 0.5 10.0.0.2 >/dev/null || true
	(($(numbers | wc -l) >= $1))
}

# fail_queue_pairs FILE LEAST: each by its number, those that are made meanwhile excepted
fail_queue_pairs() {
	local found=0 number
	wait_for 30 there_are "$2"
	for number in $(numbers); do
		# one that is gone, or not in use
		echo "$number" >"$FAULTS/$1" 2>/dev/null || continue
		found=$((found + 1))
		well_again
	done
	((found >= $2)) || fail "$1: $found queue pairs: $(rdma resource show qp link sib0)"
	echo "$1: $found"
}

stack_up
for mode in datagram connected; do
	LEAST=1
	[[ $mode == datagram ]] || LEAST=2	# and a connection
	mode $mode
	step "sends complete in error, $mode"
	fail_each sends
	step "receives complete in error, $mode"
	fail_each receives
	step "queue pairs and CQs in error, $mode"
	fail_queue_pairs fail_qp $LEAST
	fail_queue_pairs fail_cq $LEAST
done

step "the P_Key moves"
FAULTS=/sys/kernel/debug/sib/sib1
for _ in 1 2 3; do
	echo 0 >$FAULTS/swap_pkeys
	well_again
done
echo 0 >$FAULTS/swap_pkeys
well_again

step "the GID changes"
first_line $FAULTS/gid_prefix
BEFORE=$LINE
for _ in 1 2 3; do
	echo 0xfec0000000000001 >$FAULTS/gid_prefix
	ping -q -c 3 -i 0.2 -W 0.2 10.0.0.2 >/dev/null || true
	echo "$BEFORE" >$FAULTS/gid_prefix
	well_again
done
stack_down
