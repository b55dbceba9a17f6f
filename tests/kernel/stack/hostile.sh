# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# What an ordinary user's process may ask of an HCA, and what happens to the cable below
# one: nobody else suffers from it, and nothing waits for ever.
# One asks for as many requests and groups as only a plain sib has.
export HCA=sib
source "$STACK/lib.sh"

# hostile CASE ARGUMENT...: a process, to its end
hostile() {
	run_hostile hostile.py "$@"
}

run_hostile() {
	"$STACK/$1" "${@:2}" </dev/null >/run/hostile 2>&1 || fail "$(cat /run/hostile)"
	cat /run/hostile
}

# begin NAME PROGRAM ARGUMENT...: a process, until it is ready; goes on at the end of its
# input
begin() {
	local name=$1 program=$2 fd
	shift 2
	mkfifo "/run/$name.in"
	(
		# or the inputs of the others would not end before this process
		for fd in "${HELD[@]}"; do exec {fd}>&-; done
		exec "$STACK/$program" "$@" <"/run/$name.in" >"/run/$name.out" 2>&1
	) &
	PIDS[$name]=$!
	exec {fd}>"/run/$name.in"
	HELD[$name]=$fd
	wait_for 200 is_ready "$name"
	is_alive "${PIDS[$name]}" || fail "$(cat "/run/$name.out")"
}

is_ready() {
	! is_alive "${PIDS[$1]}" || first_line "/run/$1.out"
}

# finish NAME: let it go on, to its end
finish() {
	local fd=${HELD[$1]}
	exec {fd}>&-
	unset "HELD[$1]"
	wait "${PIDS[$1]}" || fail "$(cat "/run/$1.out")"
	cat "/run/$1.out"
	rm "/run/$1.in"
}

declare -A PIDS HELD
stack_up
chmod a+rw /dev/infiniband/uverbs*

into /sys/class/infiniband/sib1/ports/1/hw_counters/lifespan 0
step "a process changes its queue pairs as it likes"
hostile answers sib1
hostile nobody-there sib1
hostile flood sib1
hostile behind-an-error sib1

step "and takes what it can get"
hostile memory sib1
"${N[@]}" ip link set ib1 down
MGID=ff12:401b:ffff:0000:0000:0000:ffff:ffff
begin one hostile_groups.py members sib1 128 $MGID 0xc000
begin other hostile_groups.py members sib1 96 $MGID 0xc000
begin third hostile_groups.py groups sib1 4096
begin fourth hostile_groups.py groups sib1 $((7168 - 4096 - 2))
"${N[@]}" ip link set ib1 up
wait_for 30 ping -c 1 -W 1 10.0.0.2
for name in one other third fourth; do
	finish $name
done

step "a connection of a port that nobody has made active"
begin cable hostile.py cable-without-sm sib0 sib1
stop_sm
ip link set va down
wait_for 10 port_is sib0 DOWN
ip link set va up
wait_for 20 port_is sib0 INIT
finish cable
opensm_on sib0
wait_for 30 port_is sib0 ACTIVE
wait_for 30 port_is sib1 ACTIVE

step "a cable that wants to be something else"
"$STACK/lower.py" tap7 sib7 >/run/lower 2>&1 || fail "$(cat /run/lower)"
wait_for 20 gone /sys/class/infiniband/sib7
wait_for 20 gone /sys/class/net/tap7

step "a sender that changes its frames while they are held"
insmod "$LENDER_KO"
ip link add vc mtu 9000 up type veth peer name vd mtu 9000
ip link set vd up
into /sys/module/sib/parameters/hello_timeout 20000
rdma link add sib9 type sib netdev vc
into /sys/module/sib/parameters/hello_timeout 1000
run_hostile hostile_sender.py vd
rdma link delete sib9
wait_for 20 gone /sys/class/infiniband/sib9
ip link delete vc
rmmod lender

step "HCAs made and deleted by two at once"
ip link add vc type veth peer name vd
for _ in {1..10}; do
	rdma link add sib8 type sib netdev vc 2>/dev/null &
	adding=$!
	# rtnl is in demand, so that the one that adds waits for it
	for mtu in {1500..1510}; do
		ip link set vd mtu $mtu
	done &
	busy=$!
	while is_alive $adding; do
		rdma link delete sib8 2>/dev/null || true
	done
	wait $adding $busy || true
	rdma link delete sib8 2>/dev/null || true
done
wait_for 20 gone /sys/class/infiniband/sib8
ip link delete vc
wait_for 30 ping -c 1 -W 1 10.0.0.2
stack_down
