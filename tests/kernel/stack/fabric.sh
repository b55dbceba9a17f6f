# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2154,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Three hosts on two switches of ibfabric: OpenSM on the first host's port sweeps
# and programs them, and IPoIB goes through them, also around what fails.
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2)

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

counter() {
	perfquery -x -C sib0 "$@" | tr -d . | awk -F: '/Pkts/ {sum += $2} END {print sum}'
}

step "ibfabric up"
wires
topology
fabric_up --port leaf1:3=tap:t9
hosts_up

step "OpenSM sweeps"
start=$SECONDS
opensm_on sib0
hosts_active
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
all_linked() {
	iblinkinfo -C sib0 >/run/links && [[ $(grep -c 'Active/  LinkUp' /run/links) == 12 ]]
}
wait_for 60 all_linked
lid=$(grep -o '"leaf2" base port 0 lid [0-9]*' /run/found | grep -o '[0-9]*$')
smpquery -C sib0 switchinfo "$lid" | grep LinearFdbTop || fail "switchinfo by LID"
ibroute -C sib0 "$lid" >/run/routes || fail "ibroute: $(cat /run/routes)"
sminfo -C sib2 | grep 'state 3 SMINFO_MASTER' || fail "sminfo"
far=$(($(cat /sys/class/infiniband/sib2/ports/1/lid)))
smpquery -C sib0 nodedesc "$far" | grep sib2 || fail "smpquery nodedesc"
saquery -C sib0 PR --slid 1 --dlid "$far" | grep "dlid.*\.$far\$" || fail "saquery"
ibtracert -C sib0 1 "$far" >/run/trace || fail "ibtracert: $(cat /run/trace)"
[[ $(grep -c '^\[.*leaf[12]"$' /run/trace) == 2 ]] || fail "not by two switches: $(cat /run/trace)"
ibping -S -C sib2 &
ponger=$!
wait_for 20 ibping -C sib0 -c 1 "$far"
ibping -C sib0 -c 2 "$far" >/run/pongs || fail "ibping: $(cat /run/pongs)"
grep ' 0% packet loss' /run/pongs || fail "ibping: $(cat /run/pongs)"
kill "$ponger"
wait "$ponger" || true

step "ping"
hosts_addresses
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
	wait_for 30 port_of leaf1 "$port" active
done

step "packets get lost"
"${CTL[@]}" fault drop h2:1 50% --packets ud
ping -q -c 20 -i 0.02 -W 1 10.0.0.3 >/run/ping || true
! grep ' 0% packet loss' /run/ping || fail "nothing was lost"
"${CTL[@]}" counters leaf2:1 | grep 'dropped: fault' || fail "drops were not counted"
! "${CTL[@]}" fault clear 0 || fail "a fault 0 was cleared"
"${CTL[@]}" fault list | grep 'drop' || fail "all faults were cleared for one"
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
wait_for 10 test -s /run/capture
ip neigh flush all
ping -q -c 20 -i 0.1 -W 2 10.0.0.3 >/run/ping || fail "lost: $(cat /run/ping)"
wait "$capture" || fail "the capture ended with $?"
tshark -n -r /run/capture >/run/packets 2>/dev/null || fail "tshark"
[[ $(wc -l </run/packets) == 20 ]] || fail "not 20 packets: $(cat /run/packets)"
grep 'ARP.* Who has 10.0.0.3?' /run/packets || fail "no ARP request: $(cat /run/packets)"
grep 'ARP.* 10.0.0.3 is at' /run/packets || fail "no ARP reply: $(cat /run/packets)"
grep -m 2 'Echo (ping)' /run/packets || fail "no pings: $(cat /run/packets)"

step "the fabric is parted for a time"
"${CTL[@]}" fault cut leaf2 h2 idle --for 6s
! ping -q -c 3 -i 0.2 -W 1 -w 1 10.0.0.3 >/run/ping || fail "a way through the cut"
wait_for 60 ping -c 1 -W 1 10.0.0.3

step "devices of cables are deleted, and made again"
# is_idle: ibfabric waits for something, which a loop on a dead descriptor never does
is_idle() { [[ $(cat "/proc/$FABRIC/stat") != *") R "* ]]; }
first=$(cat /sys/class/net/t9/ifindex)
ip link delete t9
is_made_again() { [[ -e /sys/class/net/t9 && $(cat /sys/class/net/t9/ifindex) != "$first" ]]; }
wait_for 20 is_made_again
ip link set s2 down
ip link set s2 up
wait_for 30 port_is sib2 ACTIVE
ip link delete h2
wait_for 20 gone /sys/class/infiniband/sib2
wait_for 10 is_idle
ip link add h2 mtu 9000 up type veth peer name s2 mtu 9000
ip link set s2 up
rdma link add sib2 type sib netdev h2
wait_for 60 port_is sib2 ACTIVE

step "the end"
fabric_down
for i in "${HOSTS[@]}"; do
	wait_for 10 port_is "sib$i" DOWN
done
hosts_down
