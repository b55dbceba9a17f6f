# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# The subnet manager dies and returns; another takes over with other LIDs.
source "$STACK/lib.sh"
stack_up
for round in 1 2 3; do
	step "SM restarts, $round"
	stop_sm
	ping -q -c 3 -i 0.1 -W 2 10.0.0.2 >/dev/null || fail "no SM, no ping"
	start_sm
	wait_for 20 ping -c 1 -W 1 10.0.0.2
done
step "interface up while there is no SM"
stop_sm
ip link set ib0 down
ip link set ib0 up
start_sm
wait_for 30 ping -c 1 -W 1 10.0.0.2
stack_down
