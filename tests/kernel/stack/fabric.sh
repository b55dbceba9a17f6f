# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2154,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Three hosts on two switches of ibfabric: OpenSM on the first host's port sweeps
# and programs them, and IPoIB goes through them, also around what fails.
source "$STACK/lib.sh"

HOSTS=(0 1 2)
CTL=("$IBFABRIC-ctl" --socket /run/fabric.socket)

# The end h of cable $1 has the HCA, the end s the switch.
wires() {
	local i
	for i in "${HOSTS[@]}"; do
		ip link add "h$i" mtu 9000 type veth peer name "s$i" mtu 9000
		ip link set "h$i" up
		ip link set "s$i" up
	done
}

topology() {
	cat >/run/topology <<-END
		switchguid=0x2c90000000001
		Switch 8 "S-1"	# "leaf1"
		[1] "h0"[1]
		[2] "h1"[1]
		[7] "S-2"[7]
		[8] "S-2"[8]
		switchguid=0x2c90000000002
		Switch 8 "S-2"	# "leaf2"
		[1] "h2"[1]
		[2] "H-idle"[1]
		Ca 1 "h0"
		Ca 1 "h1"
		Ca 1 "h2"
		caguid=0x2c90000000100
		Ca 1 "H-idle"	# "idle"
	END
}

fabric_up() {
	"$IBFABRIC" --topology /run/topology --control /run/fabric.socket --port h0:1=netdev:s0 --port h1:1=netdev:s1 \
		--port h2:1=netdev:s2 >/run/ibfabric.log 2>&1 &
	FABRIC=$!
}

# host 0 here, hosts 1 and 2 in namespaces of their own
host_address() {
	local i=$1 dev run=()
	wait_for 10 netdev_of "sib$i"
	dev=$(netdev_of "sib$i")
	if ((i > 0)); then
		run=(ip netns exec "n$i")
		ip netns add "n$i"
		ip link set "$dev" netns "n$i"
	fi
	"${run[@]}" ip link set lo up
	"${run[@]}" ip address add "10.0.0.$((i + 1))/24" dev "$dev"
	"${run[@]}" ip link set "$dev" up
}

# now_ms: of a clock that only goes forward
now_ms() {
	local up
	read -r up _ </proc/uptime
	echo "$((${up%.*} * 1000 + 10#${up#*.} * 10))"
}

# port_of_leaf1 PORT STATE
port_of_leaf1() {
	"${CTL[@]}" status | sed '/^leaf2/,$d' | grep -q "^ *$1  $2"
}

counter() {
	perfquery -x -C sib0 "$@" | tr -d . | awk -F: '/Pkts/ {sum += $2} END {print sum}'
}

step "ibfabric up"
wires
topology
fabric_up
load_sib
load_ipoib
for i in "${HOSTS[@]}"; do
	rdma link add "sib$i" type sib netdev "h$i"
done
for i in "${HOSTS[@]}"; do
	wait_for 20 port_is "sib$i" INIT
done

step "OpenSM sweeps"
start=$SECONDS
opensm_on sib0
for i in "${HOSTS[@]}"; do
	wait_for 60 port_is "sib$i" ACTIVE
done
echo "subnet up after $((SECONDS - start)) s"
ibnetdiscover -C sib0 >/run/found
cat /run/found
for name in leaf1 leaf2 idle; do
	grep -q "\"$name\"" /run/found || fail "$name was not found"
done
[[ $(grep -c '^Switch' /run/found) == 2 && $(grep -c '^Ca' /run/found) == 4 ]] ||
	fail "not 2 switches and 4 hosts"
[[ $(grep -c '^\[[78]\].*"S-0002c9000000000[12]"\[[78]\]' /run/found) == 4 ]] ||
	fail "not 2 links between the switches"

step "diagnostics"
iblinkinfo -C sib0 >/run/links || fail "iblinkinfo"
[[ $(grep -c 'Active/  LinkUp' /run/links) == 12 ]] || fail "not 12 active ends: $(cat /run/links)"
lid=$(grep -o '"leaf2" base port 0 lid [0-9]*' /run/found | grep -o '[0-9]*$')
smpquery -C sib0 switchinfo "$lid" | grep LinearFdbTop || fail "switchinfo by LID"
ibroute -C sib0 "$lid" >/run/routes || fail "ibroute: $(cat /run/routes)"

step "ping"
for i in "${HOSTS[@]}"; do
	host_address "$i"
done
for i in 2 3; do
	wait_for 30 ping -c 1 -W 1 "10.0.0.$i"
	for size in 0 56 2016 4000 20000; do
		ping -q -c 3 -i 0.02 -W 2 -s $size "10.0.0.$i" >/run/ping ||
			fail "ping 10.0.0.$i $size: $(cat /run/ping)"
	done
done
before=$(counter "$lid" 1)
ip netns exec n1 ping -q -f -c 1000 -W 5 10.0.0.3 >/run/ping || fail "flood: $(cat /run/ping)"
grep loss /run/ping
after=$(counter "$lid" 1)
((after - before >= 2000)) || fail "port 1 of leaf2 counted $((after - before)) packets, not 2000"
# Link recoveries are the processor's fault, and what came before the routes were
# there is dropped; nothing may be malformed or in the wrong partition.
ibqueryerrors -C sib0 >/run/errors || true
grep -q 'nodes checked' /run/errors || fail "ibqueryerrors: $(cat /run/errors)"
! grep -E 'SymbolError|PortRcvErrors|ConstraintErrors|VL15Dropped' /run/errors || fail "errors"

step "links fail"
for port in 7 8; do
	start=$(now_ms)
	"${CTL[@]}" fault link "leaf1:$port" down
	ping -q -c 1 -i 0.1 -w 30 10.0.0.3 >/run/ping || fail "no way around $port: $(cat /run/ping)"
	echo "ping around leaf1:$port after $(($(now_ms) - start)) ms"
	"${CTL[@]}" fault link "leaf2:$port" up
	wait_for 30 port_of_leaf1 "$port" active
done

step "packets get lost"
"${CTL[@]}" fault drop h2:1 50% --packets ud
ping -q -c 20 -i 0.02 -W 1 10.0.0.3 >/run/ping || true
! grep ' 0% packet loss' /run/ping || fail "nothing was lost"
"${CTL[@]}" counters leaf2:1 | grep 'dropped: fault' || fail "drops were not counted"
"${CTL[@]}" fault clear
ping -q -c 20 -i 0.02 -W 2 10.0.0.3 >/run/ping || fail "still lost: $(cat /run/ping)"

step "packets come twice, and slowly"
"${CTL[@]}" fault duplicate h2:1 100% --packets ud
ping -q -c 10 -i 0.02 -W 2 10.0.0.3 >/run/ping || fail "lost: $(cat /run/ping)"
grep '+[0-9]* duplicates' /run/ping || fail "nothing came twice: $(cat /run/ping)"
"${CTL[@]}" fault clear
# 4000 octets and headers there and back: more than 64 ms
"${CTL[@]}" fault rate h2:1 1Mbit
ping -q -c 3 -i 0.2 -W 5 -s 4000 10.0.0.3 >/run/ping || fail "lost: $(cat /run/ping)"
least=$(sed -n 's|^rtt .* = \([0-9]*\).*|\1|p' /run/ping)
((least >= 64)) || fail "a rate of 1 Mbit/s lets 4000 octets pass in $least ms"
"${CTL[@]}" fault clear

step "a capture"
"${CTL[@]}" capture h2:1 --count 20 >/run/capture &
capture=$!
ping -q -c 20 -i 0.1 -W 2 10.0.0.3 >/run/ping || fail "lost: $(cat /run/ping)"
wait "$capture" || fail "the capture ended with $?"
tshark -n -r /run/capture >/run/packets 2>/dev/null || fail "tshark"
[[ $(wc -l </run/packets) == 20 ]] || fail "not 20 packets: $(cat /run/packets)"
grep -m 2 'Echo (ping)' /run/packets || fail "no pings: $(cat /run/packets)"

step "the fabric is parted for a time"
"${CTL[@]}" fault cut leaf2 h2 idle --for 2s
! ping -q -c 3 -i 0.2 -W 1 -w 1 10.0.0.3 >/run/ping || fail "a way through the cut"
wait_for 30 ping -c 1 -W 1 10.0.0.3

step "the end"
kill "$FABRIC"
wait "$FABRIC" || fail "ibfabric ended with $?: $(cat /run/ibfabric.log)"
for i in "${HOSTS[@]}"; do
	wait_for 10 port_is "sib$i" DOWN
done
stop_sm
rmmod ib_ipoib
for i in "${HOSTS[@]}"; do
	rdma link delete "sib$i"
done
rmmod sib
