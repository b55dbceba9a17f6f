# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# ib-bond on the real bonding driver: two cables, a bond at either end, failover,
# hot-plug, connected mode, and what is refused. IB_BOND
# names the program. The bond at the far end is made by the commands that a dry
# run prints.
source "$STACK/lib.sh"

said=/run/bond.said

# bond STATUS ARGUMENTS...: run ib-bond; it has to end with that status
bond() {
	local expected=$1 status=0
	shift
	echo "# ib-bond $*"
	"$IB_BOND" "$@" >"$said" 2>&1 || status=$?
	cat "$said"
	((status == expected)) || fail "ib-bond $*: status $status, not $expected"
}

says() {
	grep -qF -- "$1" "$said" || fail "ib-bond did not say: $1"
}

is() {
	local value
	value=$(cat "$1")
	[[ $value == "$2" ]] || fail "$1 is '$value', not '$2'"
}

active_is() {
	[[ $("$IB_BOND" status bond0) == *"active $1"* ]]
}

healthy() {
	"$IB_BOND" status bond0
}

reached() {
	ping -c 1 -W 1 10.10.10.2
}

# What a stop has to give back, and a refusal must not touch
state() {
	ip -d -j address show | python3 -c '
import json, sys
for link in json.load(sys.stdin):
    print(link["ifname"], "UP" in link["flags"], link["mtu"], link.get("master"),
          link.get("linkinfo", {}).get("info_kind"),
          *sorted((a["local"], a["prefixlen"], a.get("label"))
                  for a in link["addr_info"] if a["scope"] == "global"))'
	cat /sys/class/net/ib[01]/mode
}

# Two cables, sib0 and sib1 here, sib2 and sib3 at the far end
two_cables() {
	local cable
	for cable in 0 1; do
		ip link add "va$cable" mtu 9000 type veth peer name "vb$cable" mtu 9000
		ip link set "va$cable" up
		ip link set "vb$cable" up
	done
	load_sib
	load_ipoib
	rdma link add sib0 type sib netdev va0
	rdma link add sib1 type sib netdev va1
	rdma link add sib2 type sib netdev vb0
	rdma link add sib3 type sib netdev vb1
	local port
	for port in 0 1 2 3; do
		wait_for 20 port_is "sib$port" INIT
	done
	SMS=()
	for port in 0 1; do
		mkdir -p "/run/sm$port"
		OSM_CACHE_DIR=/run/sm$port OSM_TMP_DIR=/run/sm$port opensm_on "sib$port"
		SMS+=("$SM")
	done
	for port in 0 1 2 3; do
		wait_for 30 port_is "sib$port" ACTIVE
	done
	ip netns add n1
	"${N[@]}" ip link set lo up
	for port in 0 1 2 3; do
		wait_for 10 netdev_of "sib$port"
		[[ $NETDEV == "ib$port" ]] || fail "sib$port has $NETDEV"
	done
	ip link set ib2 netns n1
	ip link set ib3 netns n1
}

wrong() {
	local before
	before=$(state)
	step "refused, and nothing changed"
	bond 1 --bond-name bond0 --slaves ib0,ib1
	bond 3 --stop --bond-name bond7
	bond 7 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,ib9
	bond 7 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,va0
	bond 7 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,ib1 --mode 802.3ad
	bond 7 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,ib1
	says "ib0 has the address 10.0.0.1/24; --take removes it until the bond ends"
	[[ $(state) == "$before" ]] || fail "a refusal has changed something"
}

# A slave that the kernel does not take: 65520 bytes in datagram mode
rolled_back() {
	local before
	step "a failure half-way leaves nothing"
	echo connected >/sys/class/net/ib0/mode
	before=$(state)
	mount --bind /dev/full /sys/class/net/ib1/mode
	bond 5 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,ib1 --take
	umount /sys/class/net/ib1/mode
	says "everything is as it was before"
	[[ $(state) == "$before" ]] || fail "was $before, is $(state)"
	echo datagram >/sys/class/net/ib0/mode
}

failover() {
	local begin
	step "a cable is pulled"
	wait_for 30 active_is ib0
	begin=${EPOCHREALTIME/./}
	ip link set va0 down
	wait_for 20 active_is ib1
	wait_for 20 reached
	echo "reached again after $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
	bond 2 status bond0
	says "problem: ib0 has no link"
	says "last change"
	step "and plugged again"
	ip link set va0 up
	wait_for 60 healthy
	wait_for 20 active_is ib0 # the primary
	wait_for 20 reached
}

hot_plug() {
	step "a slave goes and comes back"
	rdma link delete sib1
	wait_for 10 gone /sys/class/net/ib1
	bond 2 status bond0
	says "problem: ib1 has gone"
	rdma link add sib1 type sib netdev va1
	wait_for 20 test -e /sys/class/net/ib1
	bond 0 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,ib1
	# Its subnet manager lost the port that it ran on, and may not end by itself.
	SM=${SMS[1]}
	stop_sm
	wait_for 20 port_is sib1 INIT
	OSM_CACHE_DIR=/run/sm1 OSM_TMP_DIR=/run/sm1 opensm_on sib1
	SMS[1]=$SM
	wait_for 60 healthy
	wait_for 20 reached
}

# 65520 bytes
connected() {
	local slave
	step "connected mode"
	echo connected >/sys/class/net/ib0/mode
	is /sys/class/net/ib0/mode connected
	"${N[@]}" ip link delete bond0
	for slave in ib2 ib3; do
		"${N[@]}" sh -c "echo connected >/sys/class/net/$slave/mode"
	done
	far_end ib2 ib3
	bond 0 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,ib1 --primary ib0 --take
	is /sys/class/net/bond0/mtu 65520
	is /sys/class/net/ib1/mode connected
	is /sys/class/net/ib1/mtu 65520
	wait_for 60 healthy
	wait_for 30 reached
	wait_for 30 ping -c 1 -W 2 -s 65000 -M "do" 10.10.10.2
	ping -c 3 -i 0.3 -s 65000 -M "do" 10.10.10.2 || fail "65000 bytes do not get through"
	bond 0 --stop --bond-name bond0
	is /sys/class/net/ib1/mode datagram
	echo datagram >/sys/class/net/ib0/mode
}

children() {
	local slave
	step "slaves on a further partition"
	"${N[@]}" ip link delete bond0
	for slave in ib0 ib1; do
		echo 0x8001 >/sys/class/net/$slave/create_child
	done
	for slave in ib2 ib3; do
		"${N[@]}" sh -c "echo 0x8001 >/sys/class/net/$slave/create_child"
	done
	far_end ib2.8001 ib3.8001
	bond 7 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0.8001,ib1
	says "in different partitions"
	bond 0 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0.8001,ib1.8001 --primary ib0.8001
	wait_for 60 healthy
	wait_for 30 reached
	ip link set va0 down
	wait_for 20 active_is ib1.8001
	wait_for 20 reached
	ip link set va0 up
	bond 0 --stop --bond-name bond0
}

# far_end SLAVE SLAVE: back to back, both ends must prefer the same cable.
far_end() {
	"${N[@]}" "$IB_BOND" -n --bond-name bond0 --bond-ip 10.10.10.2 --slaves "$1,$2" \
		--primary "$1" >/run/commands
	cat /run/commands
	"${N[@]}" sh -e /run/commands
	"${N[@]}" "$IB_BOND" check bond0 --ip 10.10.10.2 --slaves "$1,$2" --primary "$1" ||
		fail "the commands of a dry run do not do the same"
}

partitions red=0x1
two_cables
step "the far end, by the commands of a dry run"
far_end ib2 ib3
ip address add 10.0.0.1/24 dev ib0
ip address add fd00::1/64 dev ib0 nodad
ip link set ib0 up
wrong
rolled_back
before=$(state)
step "the commands of OFED"
bond 0 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,ib1 --miimon 50 --primary ib0 --take
bond 0 --bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,ib1 --miimon 50 --primary ib0
wait_for 30 healthy
wait_for 30 reached
bond 0 --status --bond-name bond0
says "failovers are announced once"
bond 0 --status-all -j
failover
hot_plug
step "a stop restores"
bond 0 --stop --bond-name bond0
[[ $(state) == "$before" ]] || fail "was $before, is $(state)"
connected
children
step "away"
"${N[@]}" ip link delete bond0
rmmod ib_ipoib
for SM in "${SMS[@]}"; do
	stop_sm
done
for hca in sib0 sib1 sib2 sib3; do
	rdma link delete "$hca"
done
rmmod sib
ip netns delete n1
ip link delete va0
ip link delete va1
rmdir /run/ib-bond
