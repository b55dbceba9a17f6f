# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154
# shellcheck shell=bash
# What scenarios share in which OpenSM, on one real port, sweeps the emulated nodes
# of ibfabric; /run/topology has them, h0 is the real one.
source "$STACK/fabric-lib.sh"

EXPECTED='ERR none'	# among what OpenSM says
ENGINE_OPTIONS=()	# of OpenSM
TIMEOUT=2000	# ms that OpenSM waits for an answer; the kernel has to share its processor
HOSTS=(0)

# now: seconds on a clock that only goes forward
now() {
	cut -d' ' -f1 /proc/uptime
}

since() {
	awk -v from="$1" '{printf "%.1f", $1 - from}' /proc/uptime
}

# all_active LINKS: ports of ibfabric that are active; a real host's is not its own
all_active() {
	[[ $("${CTL[@]}" status -j | grep -c '"state": "active"') == $(($1 * 2 - 1)) ]]
}

is_up() {
	grep -q 'SUBNET UP' /run/opensm.log
}

real_port() {
	wires
	load_sib
	rdma link add sib0 type sib netdev h0
}

# Every node and cable that ibnetdiscover sees are those of the topology
discovered() {
	local name
	ibnetdiscover -C sib0 >/run/found || fail "ibnetdiscover"
	# The real host has a name of its own.
	name=$(sed -n 's/^Ca.*# "\(.* sib0\)"$/\1/p' /run/found)
	"$STACK/cables.py" "$name=h0" </run/found >/run/cables-found
	"$STACK/cables.py" </run/topology >/run/cables
	cmp /run/cables /run/cables-found || fail "$(diff /run/cables /run/cables-found | head -n 5)"
	echo "ibnetdiscover: the $(wc -l </run/cables) cables of the topology, and no others"
}

# sweep ENGINE [COMMAND]: to subnet up with this routing engine, then COMMAND
sweep() {
	local engine=$1 hosts links start used
	hosts=$(grep -c '^Ca' /run/topology)
	links=$(($(grep -c '^\[' /run/topology) / 2))
	step "$hosts hosts, $(grep -c '^Switch' /run/topology) switches, $links links: $engine"
	fabric_up
	wait_for 20 port_is sib0 INIT
	start=$(now)
	opensm_on sib0 -d 2 -t "$TIMEOUT" -R "$engine" "${ENGINE_OPTIONS[@]}"
	wait_for 900 is_up
	SECONDS_UP=$(since "$start")
	used=$(grep -m 1 -o '[a-z]* tables configured on all switches' /run/opensm.log)
	echo "$engine: subnet up after $SECONDS_UP s, $used"
	# An engine that cannot do it leaves it to minhop.
	[[ $used == "$engine "* || $EXPECTED != 'ERR none' ]] || fail "not by $engine"
	wait_for 60 all_active "$links"
	"${@:2}"
	! grep -E 'ERR [0-9A-F]{4}' /run/opensm.log | grep -v "$EXPECTED" || fail "OpenSM has found errors"
	stop_sm
	rm /run/opensm.log
	rm -f /var/cache/opensm/*	# the next fabric is another one with the same GUIDs
	fabric_down
	wait_for 20 port_is sib0 DOWN
}
