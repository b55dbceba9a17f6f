# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# What the scenarios of this folder share: two HCAs on one cable in one kernel,
# the second port's interface in a network namespace of its own, OpenSM on the
# first. SIB_KO and IPOIB_KO name the modules, HCA what sib's HCAs are like, HCA_SEED what those
# that are hostile draw their choices from.
#
# A process takes a tenth of a second on a kernel with KASAN: what is called again and
# again makes none where it can.
set -euo pipefail

N=(ip netns exec n1)    # a process there, with a /sys of its own
exec {NEVER}<> <(:)     # nothing ever comes
HCA=${HCA:-sib}
# Of partitions, as OpenSM has it: no port may have less
IB_MTU=5
export UD_MTU=4092     # of interfaces in it
if [[ $HCA == mthca ]]; then
	IB_MTU=4
	UD_MTU=2044
fi


fail() {
	echo "FAILED: $*"
	dmesg | tail -n 15
	[[ ! -s /run/opensm.log ]] || tail -n 15 /run/opensm.log
	processes
	exit 1
}

# processes: those of user space (kthreadd is 2). UML cannot be asked where one waits in the
# kernel: that reads the stack of a process that runs.
processes() {
	ps --pid 2 --ppid 2 --deselect -o pid,ppid,stat,args
}

# where: the functions that are under way, for a script that does not end
where() {
	local depth
	for ((depth = 1; depth < ${#FUNCNAME[@]}; depth++)); do
		echo "line ${BASH_LINENO[depth - 1]} of ${BASH_SOURCE[depth]##*/}, ${FUNCNAME[depth]}"
	done
}
trap where USR1

step() {
	echo "--- $*"
	echo "openipoib-test: $*" >/dev/kmsg
}

# wait_for SECONDS COMMAND...: until COMMAND succeeds, or fail
wait_for() {
	local limit=$1 end
	shift
	end=$((SECONDS + limit))
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || fail "not within $limit s: $*"
		pause
	done
}

# pause: a tenth of a second
pause() {
	read -rt 0.1 -u "$NEVER" || true
}

# refused "MESSAGE" COMMAND...: it fails and says why
refused() {
	local message=$1
	shift
	! "$@" >/run/refused 2>&1 || fail "not refused: $*"
	grep -qF "$message" /run/refused || fail "$*: $(cat /run/refused)"
}

into() {
	echo "$2" >"$1"
}

# first_line FILE: LINE is its first line; fails if there is none
first_line() {
	LINE=
	{ read -r LINE <"$1"; } 2>/dev/null
}

port_is() {
	first_line "/sys/class/infiniband/$1/ports/1/state" && [[ $LINE == *"$2" ]]
}

port_not() {
	! port_is "$@"
}

# now_ms: of a clock that only goes forward
now_ms() {
	local up
	read -r up _ </proc/uptime
	echo "$((${up%.*} * 1000 + 10#${up#*.} * 10))"
}

is_running() {
	{ first_line "/sys/class/net/$1/operstate" && [[ $LINE == up ]]; } ||
		{ first_line "/sys/class/net/$1/carrier" && [[ $LINE == 1 ]]; }
}

gone() {
	[[ ! -e $1 ]]
}

load_sib() {
	insmod "$SIB_KO" profile="$HCA" seed="${HCA_SEED:-0}"
}

load_ipoib() {
	insmod "$IPOIB_KO"
}

cable() {
	ip -batch - <<-END
		link add va mtu 9000 type veth peer name vb mtu 9000
		link set va up
		link set vb up
	END
}

hcas() {
	rdma link add sib0 type sib netdev va
	rdma link add sib1 type sib netdev vb
	wait_for 20 port_is sib0 INIT
	wait_for 20 port_is sib1 INIT
}

# partitions ''|NAME=PKEY...: those of the subnet, besides the default one
partitions() {
	{
		echo "Default=0x7fff,ipoib,mtu=$IB_MTU:ALL=full;"
		[[ -z $1 ]] || printf '%s:ALL=full;\n' "${@/%/,ipoib,mtu=$IB_MTU}"
	} >/run/partitions.conf
}

udevd_has_ended() {
	! pgrep 'udevd|udev-worker' >/dev/null
}

# udevd_end: asked to end by udevadm, udevd 252 now and then waits for ever though no worker
# is left. What hangs in the kernel cannot be killed, and is found so.
udevd_end() {
	udevadm settle --timeout=30 || processes
	pkill -KILL 'udevd|udev-worker' || true
	wait_for 30 udevd_has_ended
}

# opensm_on HCA [OPTION...]: a subnet manager on its port
opensm_on() {
	[[ -e /run/partitions.conf ]] || partitions ''
	gid_tail "$1"
	opensm -s 2 -g "0x${TAIL//:/}" -f /run/opensm.log -P /run/partitions.conf \
		"${@:2}" >/run/opensm.out 2>&1 &
	SM=$!
}

start_sm() {
	opensm_on sib0
	wait_for 30 port_is sib0 ACTIVE
	wait_for 30 port_is sib1 ACTIVE
}

# OpenSM may stay for ever if its port goes while it is ending.
stop_sm() {
	local end=$((SECONDS + 20))
	kill "$SM" 2>/dev/null || true
	while is_alive "$SM" && ((SECONDS < end)); do
		pause
	done
	kill -9 "$SM" 2>/dev/null || true
	wait "$SM" 2>/dev/null || true
}

# is_alive PID: it has not ended, whether or not it has been waited for
is_alive() {
	first_line "/proc/$1/stat" && [[ ${LINE##*) } != [ZX]* ]]
}

# netdev_of HCA: NETDEV is its interface, whatever the order in which they were made
netdev_of() {
	local path
	gid_tail "$1"
	for path in "/sys/class/infiniband/$1/device/net"/* /sys/class/net/ib*; do
		NETDEV=${path##*/}
		! first_line "$path/address" || [[ $LINE != *"$TAIL" ]] || return 0
	done
	return 1
}

# gid_tail HCA: TAIL is the port GUID of fe80:0000:...:xxxx:yyyy as in a hardware address
gid_tail() {
	first_line "/sys/class/infiniband/$1/ports/1/gids/0"
	TAIL=${LINE#*:*:*:*:}
	TAIL=${TAIL//:/}
	TAIL=${TAIL:0:2}:${TAIL:2:2}:${TAIL:4:2}:${TAIL:6:2}:${TAIL:8:2}:${TAIL:10:2}:${TAIL:12:2}:${TAIL:14}
}

addresses() {
	local first first_named='' second_named=''
	wait_for 10 netdev_of sib0
	first=$NETDEV
	wait_for 10 netdev_of sib1
	[[ $first == ib0 ]] || first_named="link set $first name ib0"
	[[ $NETDEV == ib1 ]] || second_named="link set $NETDEV name ib1"
	[[ -e /run/netns/n1 ]] || ip netns add n1
	ip -batch - <<-END
		$first_named
		link set $NETDEV netns n1
		address replace 10.0.0.1/24 dev ib0
		address replace fd00::1/64 dev ib0 nodad
		link set ib0 up
	END
	ip -n n1 -batch - <<-END
		link set lo up
		$second_named
		address add 10.0.0.2/24 dev ib1
		address add fd00::2/64 dev ib1 nodad
		link set ib1 up
	END
	wait_for 30 is_running ib0
	wait_for 30 ping -c 1 -W 1 10.0.0.2
}

# everything up to the first ping
stack_up() {
	step "stack up"
	cable
	load_sib
	load_ipoib
	hcas
	start_sm
	addresses
}

# everything down again: what is left is a leak. ib_ipoib goes first: it leaves its
# groups, and would wait for an answer of the SA that does not come.
stack_down() {
	step "stack down"
	rmmod ib_ipoib
	stop_sm
	local hca
	for hca in sib0 sib1; do
		[[ ! -e /sys/class/infiniband/$hca ]] || rdma link delete "$hca"
	done
	rmmod sib
	ip netns delete n1 2>/dev/null || true
	ip link delete va 2>/dev/null || true
	gone /sys/class/infiniband/sib0 || fail "sib0 is still there"
}

# traffic in the background until traffic_stop; not all that goes, for the commands
# meanwhile want the processor as well
traffic_start() {
	"${N[@]}" iperf3 -s -1 >/dev/null 2>&1 &
	SERVER=$!
	wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :5201'
	iperf3 -c 10.0.0.2 -t 600 -b 20M >/dev/null 2>&1 &
	CLIENT=$!
	ping -i 0.01 -q 10.0.0.2 >/dev/null 2>&1 &
	PINGER=$!
	local before
	before=$(</sys/class/net/ib0/statistics/tx_bytes)
	# More than pings make in that time: the stream
	# shellcheck disable=SC2317  # called by wait_for
	moved() { (($(</sys/class/net/ib0/statistics/tx_bytes) > before + 1000000)); }
	wait_for 90 moved
}

# By SIGKILL: iperf3 3.12 that is told to end as its peer goes may wait for ever.
traffic_stop() {
	kill -9 "$SERVER" "$CLIENT" "$PINGER" 2>/dev/null || true
	wait "$SERVER" "$CLIENT" "$PINGER" 2>/dev/null || true
}

# numbers_start: a TCP connection from 10.0.0.1 to the other end, which counts along
numbers_start() {
	"${N[@]}" "$STACK/numbers.py" serve 10.0.0.2 7000 >/run/server 2>&1 &
	COUNTER=$!
	wait_for 60 "${N[@]}" bash -c 'ss -Hltn | grep -q :7000'
	"$STACK/numbers.py" send 10.0.0.2 7000 10.0.0.1 /run/enough >/run/client 2>&1 &
	TELLER=$!
}

# numbers_end: it has lived until now, and every number has arrived
numbers_end() {
	touch /run/enough
	wait $TELLER || fail "client: $(tail -n 5 /run/client)"
	wait $COUNTER || fail "server: $(tail -n 5 /run/server)"
	[[ $(cat /run/client) == "$(cat /run/server)" ]] ||
		fail "sent: $(cat /run/client), received: $(cat /run/server)"
	cat /run/server
}

# listening PORT: a program takes callers there, by TCP or RDMA CM
listening() {
	ss -Hltn "sport = $1" | grep -q . ||
		rdma resource show cm_id | grep -q "LISTEN.*:$1 "
}

# later_pkey: a child of ib0 on a P_Key that the subnet manager gives its port only then
later_pkey() {
	step "a P_Key that the port has later"
	into /sys/class/net/ib0/create_child 3
	ip link set ib0.8003 up
	! is_running ib0.8003 || fail "carrier without a P_Key"
	partitions blue=0x1 red=0x2 green=0x3
	kill -HUP "$SM"
	wait_for 40 is_running ib0.8003
}

# pair PORT SERVER... -- CLIENT...: both have to succeed
pair() {
	local port=$1 server=()
	shift
	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	step "$*"
	timeout 60 "${server[@]}" >/run/server 2>&1 &
	local pid=$!
	wait_for 20 listening "$port"
	timeout 60 "$@" >/run/client 2>&1 || fail "client: $(tail -n 5 /run/client /run/server)"
	wait $pid || fail "server: $(tail -n 5 /run/server)"
	! grep -i 'fail\|mismatch' /run/client /run/server || fail "$*"
}

pingpong() {
	pair 18515 "$@" -d sib0 -i 1 -- "$@" -d sib1 -i 1 127.0.0.1
}

perf() {
	pair 18515 "$@" -d sib0 -F -- "$@" -d sib1 -F 127.0.0.1
}

# resources: of all HCAs, without the devices' numbers, which are never used again
resources() {
	rdma resource show | cut -d: -f2- | sort
}

# note_resources: what as_before compares with
note_resources() {
	BEFORE=$(resources)
}

as_before() {
	[[ $(resources) == "$BEFORE" ]]
}

# neighbour_limits A B C: the thresholds of IPv4's neighbour table, from the least
neighbour_limits() {
	echo "$1" >/proc/sys/net/ipv4/neigh/default/gc_thresh1
	echo "$2" >/proc/sys/net/ipv4/neigh/default/gc_thresh2
	echo "$3" >/proc/sys/net/ipv4/neigh/default/gc_thresh3
}

# counter HCA NAME
counter() {
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}
