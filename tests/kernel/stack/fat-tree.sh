# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154
# shellcheck shell=bash
# run: by name
# OpenSM with each of its routing engines on two switches, and on a fat tree of 72
# emulated hosts. Seconds are printed; what ibnetdiscover sees must be the topology.
source "$STACK/sweep-lib.sh"

# The diagnostics of infiniband-diags, against what is known of the topology
diagnostics() {
	local links last switch
	discovered
	links=$(wc -l </run/cables)
	iblinkinfo -C sib0 >/run/links || fail "iblinkinfo"
	[[ $(grep -c 'Active/  LinkUp' /run/links) == $((links * 2)) ]] ||
		fail "iblinkinfo: $(grep -c 'Active/  LinkUp' /run/links) active ends, not $((links * 2))"
	ibqueryerrors -C sib0 >/run/errors || true
	cat /run/errors
	grep -q 'nodes checked' /run/errors || fail "ibqueryerrors"
	# The host has seen the fabrics before this one go, and busy processors answer late.
	! sed -E '/^Errors for .* sib0"$/,+1 s/\[(LinkErrorRecovery|LinkDowned)Counter == [0-9]+\]//g' \
		/run/errors | grep -F '[' || fail "errors"
	sminfo -C sib0 | grep 'state 3 SMINFO_MASTER' || fail "sminfo"
	last=$(sed -n 's/^\[1\].*# lid \([0-9]*\) lmc.*/\1/p' /run/found | sort -n | tail -n 1)
	switch=$(sed -n 's/^Switch.* base port 0 lid \([0-9]*\).*/\1/p' /run/found | tail -n 1)
	ibroute -C sib0 "$switch" >/run/routes || fail "ibroute: $(cat /run/routes)"
	tail -n 1 /run/routes
	ibtracert -C sib0 1 "$last" >/run/trace || fail "ibtracert: $(cat /run/trace)"
	echo "ibtracert: $(grep -c '^\[' /run/trace) hops"
	smpquery -C sib0 nodedesc "$last" || fail "smpquery"
	smpquery -C sib0 portinfo "$last" 1 | grep LinkState || fail "smpquery portinfo"
	perfquery -C sib0 "$last" 1 | grep PortRcvPkts || fail "perfquery"
	saquery -C sib0 PR --slid 1 --dlid "$last" >/run/path || fail "saquery: $(cat /run/path)"
	grep -A 100 'PathRecord' /run/path | grep -m 1 dlid || fail "no path record: $(cat /run/path)"
}

real_port
cat >/run/topology <<-END
	switchguid=0x2c90000000001
	Switch 5 "s1"
	[1] "h0"[1]
	[2] "h1"[1]
	[4] "s2"[4]
	[5] "s2"[5]
	Switch 5 "s2"
	[1] "h2"[1]
	[2] "h3"[1]
	[4] "s1"[4]
	[5] "s1"[5]
	Ca 1 "h0"
	[1] "s1"[1]
	Ca 1 "h1"
	[1] "s1"[2]
	Ca 1 "h2"
	[1] "s2"[1]
	Ca 1 "h3"
	[1] "s2"[2]
END
for engine in minhop lash; do
	sweep "$engine" discovered
done
# Neither is above the other here, so updn has to be told.
echo 0x2c90000000001 >/run/roots
ENGINE_OPTIONS=(-a /run/roots)
sweep updn discovered
ENGINE_OPTIONS=()
# Two leaves side by side are no fat tree: OpenSM says so, and takes minhop.
EXPECTED='ERR AB2B'
sweep ftree discovered
EXPECTED='ERR none'
"$STACK/fat_tree.py" 3 4 6 2 2 >/run/topology
sweep minhop diagnostics
for engine in updn ftree; do
	sweep "$engine" discovered
done
# Each path has its lane only with the tables of SLs and lanes.
ENGINE_OPTIONS=(-Q)
sweep lash discovered
rdma link delete sib0
rmmod sib
ip link delete h0
