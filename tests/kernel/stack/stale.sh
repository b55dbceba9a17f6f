# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# HCAs that leave the completions of a queue pair that is gone to whoever polls: interfaces
# and connections end and begin under incoming traffic, in both modes. How many are left is
# printed. It is none as long as each queue pair drains before it goes: what becomes of those that
# do not is for the kernel units.
export HCA=rdmavt
source "$STACK/lib.sh"

# flood: packets to ib0, until calm
flood() {
	"${N[@]}" ping -q -f -s 1000 10.0.0.1 >/dev/null 2>&1 &
	FLOOD="$FLOOD $!"
}

# left WHAT: completions of queue pairs that are gone, since it was last called
left() {
	local now
	now=$(counter sib0 cq_stale)
	echo "$1: $((now - STALE)) completions left"
	STALE=$now
}

calm() {
	kill -9 $FLOOD 2>/dev/null || true
	wait $FLOOD 2>/dev/null || true
}

rounds() {
	local count
	for ((count = 0; count < 3; count++)); do
		ip link set ib0 down
		ip link set ib0 up
		wait_for 60 ping -c 1 -W 1 10.0.0.2
	done
}

stack_up
FLOOD=
STALE=$(counter sib0 cq_stale)
flood
flood
step "down and up with datagrams coming in"
rounds
left "down and up"
step "and with connections"
echo connected >/sys/class/net/ib0/mode
"${N[@]}" bash -c 'echo connected >/sys/class/net/ib1/mode'
wait_for 60 ping -c 1 -W 1 10.0.0.2
rounds
left "down and up with connections"
step "connections end while others go on"
for ((count = 0; count < 3; count++)); do
	"${N[@]}" bash -c 'echo datagram >/sys/class/net/ib1/mode; echo connected >/sys/class/net/ib1/mode'
	wait_for 60 ping -c 1 -W 1 10.0.0.2
done
left "connections that end"
step "rings of other sizes"
for size in 64 512 128; do
	ethtool -G ib0 rx $size tx $size
	wait_for 60 ping -c 1 -W 1 10.0.0.2
done
left "other rings"
calm
stack_down
