# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# IB packets that get lost above the link, which itself loses none: reliable
# connections bring everything, in order and unaltered. Without such loss not one
# packet is sent twice, and nothing breaks that may not be tried again.
source "$STACK/lib.sh"

# lose PPM
lose() {
	echo "$1" | tee /sys/kernel/debug/sib/sib[01]/drop_ppm >/dev/null
}

both() {
	echo $(($(counter sib0 "$1") + $(counter sib1 "$1")))
}

# Programs that know when both ends are done: where a connection is closed as soon
# as one end has everything, its last acknowledgment may be what gets lost.
# all_programs OPTIONS...: of those of perftest
all_programs() {
	perf ib_send_bw -e -s 65536 -n 20 "$@"
	perf ib_write_bw -s 65536 -n 20 "$@"
	perf ib_read_bw -e -s 65536 -n 20 "$@"
	perf ib_atomic_bw -e -A FETCH_AND_ADD -n 40 "$@"
	pair 7174 rping -s -a 10.0.0.1 -C 5 -V -S 8000 -- \
		"${N[@]}" rping -c -a 10.0.0.1 -C 5 -V -S 8000
}

stack_up
all_programs -u 18 # a second: the machine may stand still for longer than the default's 67 ms
pair 18516 ib_send_bw -R -p 18516 -e -F -d sib0 -s 65536 -n 50 --retry_count=0 -- \
	"${N[@]}" ib_send_bw -R -p 18516 -e -F -d sib1 -s 65536 -n 50 --retry_count=0 10.0.0.1
for name in rx_lost rc_retry rc_timeout rc_rx_dup rc_rx_gap; do
	[[ $(both $name) == 0 ]] || fail "without loss, $name is $(both $name)"
done
for ppm in 10000 50000; do
	step "$ppm of a million packets get lost"
	lose $ppm
	before=$(both rx_lost) tried=$(both rc_retry)
	all_programs -u 12
	(($(both rx_lost) > before)) || fail "nothing got lost"
	(($(both rc_retry) > tried)) || fail "nothing was sent again"
	# Both ways: that none of two thousand is lost does not happen.
	ping -q -f -c 1000 -W 1 10.0.0.2 >/run/ping || true
	grep -q ' 0% packet loss' /run/ping && fail "datagrams do not get lost"
done
lose 0
ping -q -c 50 -i 0.1 -W 10 10.0.0.2 >/run/ping || fail "$(cat /run/ping)"
grep -q ' 0% packet loss' /run/ping || fail "$(cat /run/ping)"
stack_down
