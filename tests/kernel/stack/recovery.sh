# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154,SC2317
# shellcheck shell=bash
# How soon a fabric of two switches, two links between them and two subnet managers carries
# IP again: each recovery has a bound (within, in fabric-lib.sh).
#
# clock: jump
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2)
SMS=()

cat >/run/topology <<-END
	Switch 8 "S-1"	# "leaf1"
	[1] "h0"[1]
	[2] "h1"[1]
	[7] "S-2"[7]
	[8] "S-2"[8]
	Switch 8 "S-2"	# "leaf2"
	[1] "h2"[1]
	Ca 1 "h0"
	Ca 1 "h1"
	Ca 1 "h2"
END
# A master that is silent for three seconds is gone.
cat >/run/opensm.conf <<-END
	sminfo_polling_timeout 1000
	polling_retry_number 3
END

# sm_on HOST PRIORITY: OpenSM with files of its own
sm_on() {
	mkdir -p "/run/sm$1"
	OSM_CACHE_DIR=/run/sm$1 OSM_TMP_DIR=/run/sm$1 opensm_on "sib$1" -F /run/opensm.conf \
		-p "$2" -f "/run/sm$1/log"
	SMS[$1]=$SM
}

# managed_by HOST: all ports are, says each of them
managed_by() {
	local i master
	first_line "/sys/class/infiniband/sib$1/ports/1/lid"
	master=$LINE
	for i in "${HOSTS[@]}"; do
		first_line "/sys/class/infiniband/sib$i/ports/1/sm_lid"
		[[ $LINE == "$master" ]] || return
	done
}

reached() {
	ping -q -c 1 -i 0.1 -w 60 10.0.0.3 && ping -q -c 1 -i 0.1 -w 60 fd00::3
}

# found: and its hardware address is asked for
found() {
	ip neigh flush all
	reached
}

step "a fabric"
wires
fabric_up
hosts_up
sm_on 0 9
hosts_active
hosts_addresses
hosts_ping 30
sm_on 1 5

for port in 7 8; do
	fails "link $port between the switches fails"
	"${CTL[@]}" fault link "leaf1:$port" down
	within 700 reached
	within 700 found
	"${CTL[@]}" fault link "leaf1:$port" up
	wait_for 30 port_of leaf1 "$port" active
done

fails "a cable is pulled"
ip link set s2 down
within 300 port_not sib2 ACTIVE
fails "and plugged"
ip link set s2 up
within 3300 reached

fails "an HCA stops sending"
echo 1 >/sys/kernel/debug/sib/sib0/hang_sends
within 17000 reached
(($(ethtool -S ib0 | sed -n 's/^ *tx_stalls: //p') > 0)) || fail "ib0 has not stopped"

fails "an HCA goes, and comes back"
rdma link delete sib2
ip netns delete n2
rdma link add sib2 type sib netdev h2
address 2
within 700 reached

fails "the master is killed"
kill -9 "${SMS[0]}"
within 15000 managed_by 1
within 15000 found
fails "it comes back, with the higher priority"
sm_on 0 9
within 3000 managed_by 0
within 3000 found

step "the end"
kill "${SMS[1]}"
wait "${SMS[1]}" || true
hosts_down
