# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# What scenarios of ipoib-ha share that have a host with two ports here, ib0 and ib1 on
# the cables h0 and h1, and a peer with one in n1, all on two switches. With 3 among the HOSTS
# there is a third one here, on h3. IPOIB_HA names the program.
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2)
HA=("$IPOIB_HA" --run-folder /run/ha)

a_fabric() {
	local i third=()
	[[ " ${HOSTS[*]} " != *" 3 "* ]] || third=('[2] "h3"[1]' 'Ca 1 "h3"')
	cat >/run/topology <<-END
		switchguid=0x2c90000000001
		Switch 8 "S-1"	# "leaf1"
		[1] "h0"[1]
		[2] "h2"[1]
		[7] "S-2"[7]
		switchguid=0x2c90000000002
		Switch 8 "S-2"	# "leaf2"
		[1] "h1"[1]
		${third[0]-}
		Ca 1 "h0"
		Ca 1 "h1"
		Ca 1 "h2"
		${third[1]-}
	END
	wires
	fabric_up
	hosts_up
	opensm_on sib2
	hosts_active
	for i in "${HOSTS[@]}"; do
		wait_for 20 netdev_of "sib$i"
		ip link set "$NETDEV" name "x$i"
	done
}

addresses() {
	ip netns add n1
	ip link set x2 netns n1
	"${N[@]}" ip link set x2 name ib0 up
	"${N[@]}" ip address add 10.0.0.2/24 dev ib0
	ip link set x0 name ib0 up
	ip link set x1 name ib1 up
	ip address add 10.0.0.1/24 dev ib0
	wait_for 60 "${N[@]}" ping -c 1 -W 1 10.0.0.1
}

healthy() {
	"${HA[@]}" status
}

healthy_or_degraded() {
	local status=0
	healthy >/dev/null || status=$?
	((status == 0 || status == 2))
}

active() {
	{ "${HA[@]}" status -j || true; } | python3 -c 'import json, sys
print(next(one["name"] for one in json.load(sys.stdin)["pairs"][0]["interfaces"] if one["active"]))'
}

active_is() {
	[[ $(active) == "$1" ]]
}
