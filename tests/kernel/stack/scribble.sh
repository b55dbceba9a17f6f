# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# A process writes nonsense into the queues it has mapped of an HCA: its queues
# break, the kernel and other processes do not. What the process waits for it sleeps
# for, so this can run on a clock that jumps to the next timer when all is idle.
# clock: jump
source "$STACK/lib.sh"

stack_up
note_resources
step "nonsense in mapped queues"
"$STACK/scribble.py" sib1 1000 >/run/scribble 2>&1 || fail "$(cat /run/scribble)"
cat /run/scribble
rdma link add sib1 type sib netdev vb
wait_for 20 port_is sib1 ACTIVE
addresses
wait_for 20 as_before
pingpong ibv_rc_pingpong -e -n 50 -c
ping -q -c 3 -i 0.1 -w 10 10.0.0.2 >/dev/null || fail "no ping"
stack_down
