# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2317  # called by wait_for
# shellcheck shell=bash
# The subnet manager dies and returns, to ports that are as it has left them, and to ports
# that nobody has set up; another takes over with other LIDs.
source "$STACK/lib.sh"

# lid_of HCA: LID is that of its port
lid_of() {
	first_line "/sys/class/infiniband/$1/ports/1/lid" && LID=$((LINE))
}

lid_is() {
	lid_of "$1" && ((LID == $2))
}

# joined HCA: the SA at its cable has heard from both interfaces, which is said to no SA but
# one that begins
joined() {
	[[ $(saquery -C "$1" --smkey 1 MCMR --mgid ff12:401b:ffff::ffff:ffff | grep -c PortGid) == 2 ]]
}

# unset_ports: as a cable leaves them that was out, so that only a subnet manager that
# works makes them ACTIVE
unset_ports() {
	ip link set vb down
	wait_for 60 port_is sib0 DOWN
	wait_for 60 port_is sib1 DOWN
	ip link set vb up
	wait_for 60 port_is sib0 INIT
	wait_for 60 port_is sib1 INIT
	wait_for 10 no_carrier ib0
}

no_carrier() {
	! is_running "$1"
}

stack_up
for round in 1 2; do
	step "SM restarts, ports stay, $round"
	stop_sm
	ping -q -c 3 -i 0.1 -W 2 10.0.0.2 >/dev/null || fail "no SM, no ping"
	! joined sib0 2>/dev/null || fail "an SA answers"
	start_sm
	wait_for 60 joined sib0
	wait_for 60 ping -c 1 -W 1 10.0.0.2
done
step "SM restarts, ports are to be set up"
stop_sm
unset_ports
start_sm
wait_for 60 joined sib0
wait_for 60 ping -c 1 -W 1 10.0.0.2

step "another takes over, with other LIDs"
lid_of sib0
first=$LID
lid_of sib1
second=$LID
((first != second)) || fail "two ports with LID $first"
stop_sm
unset_ports
opensm_on sib1 -r
wait_for 30 port_is sib0 ACTIVE
wait_for 30 port_is sib1 ACTIVE
wait_for 60 lid_is sib1 "$first"
wait_for 60 lid_is sib0 "$second"
wait_for 60 joined sib1
wait_for 60 ping -c 1 -W 1 10.0.0.2
wait_for 60 ping -c 1 -W 1 fd00::2

step "interface up while there is no SM"
stop_sm
unset_ports
ip link set ib0 down
ip link set ib0 up
start_sm
wait_for 60 joined sib0
wait_for 30 ping -c 1 -W 1 10.0.0.2
stack_down
