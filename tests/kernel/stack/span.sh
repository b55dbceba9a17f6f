# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154,SC2317
# shellcheck shell=bash
# Two ibfabrics on two machines, a namespace each, and a router between them that loses
# 1 % of the datagrams each way, is 20 ms away and has a narrow side: udp: cables make one
# subnet of them. The topologies have no GUIDs. Left is a host with two ports, h0 and h2, and
# ipoib-ha; right is h1.
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2)
HA=("$IPOIB_HA" --run-folder /run/ha)
declare -A SIDE=()

inside() { nsenter --net="/run/netns/$1" "${@:2}"; }

# side NAME NUMBER MTU HOST...: a machine with these hosts' cables, and its wire to the router
side() {
	local host port=1
	ip netns add "$1"
	ip link add eth0 netns "$1" mtu "$3" type veth peer name "$1" netns router mtu "$3"
	inside "$1" ip -batch - <<-END
		link set lo up
		address add 192.0.2.$2/31 dev eth0
		link set eth0 up
		route add default via 192.0.2.$(($2 - 1))
	END
	inside router ip -batch - <<-END
		address add 192.0.2.$(($2 - 1))/31 dev $1
		link set $1 up
	END
	inside router tc qdisc add dev "$1" root netem loss 1% delay 20ms limit 10000
	printf 'Switch 8 "S"\t# "%s"\n[6] "idle"[1]\n' "$1" >"/run/$1.topology"
	for host in "${@:4}"; do
		printf '[%s] "h%s"[1]\n' $((port++)) "$host" >>"/run/$1.topology"
	done
	printf 'Ca 1 "idle"\t# "idle %s"\n' "$1" >>"/run/$1.topology"
	for host in "${@:4}"; do
		ip link set "s$host" netns "$1"
		inside "$1" ip link set "s$host" up
		printf 'Ca 1 "h%s"\n' "$host" >>"/run/$1.topology"
	done
}

# fabric_of NAME HERE THERE HOST...: its ibfabric, with two cables to the other. Not by
# inside(), of which a process in the background would be another one than ibfabric.
fabric_of() {
	local host ports=()
	for host in "${@:4}"; do
		ports+=(--port "h$host:1=netdev:s$host")
	done
	nsenter --net="/run/netns/$1" "$IBFABRIC" --topology "/run/$1.topology" --control "/run/$1.socket" \
		--key /run/key "${ports[@]}" \
		--port "$1:7=udp:192.0.2.$2:7471=192.0.2.$3:7471" \
		--port "$1:8=udp:192.0.2.$2:7472=192.0.2.$3:7472" >"/run/$1.log" 2>&1 &
	SIDE[$1]=$!
}

# transfer [COMMAND...]: 4 MiB by TCP to h1, and COMMAND meanwhile; all of it arrives
transfer() {
	local receiver sender
	rm -f /run/got
	at 1 socat -u TCP-LISTEN:7,reuseaddr CREATE:/run/got &
	receiver=$!
	wait_for 10 at 1 bash -c 'ss -Hltn | grep -q :7'
	timeout 240 socat -u OPEN:/run/sent TCP:10.0.0.2:7 &
	sender=$!
	wait_for 30 test -s /run/got
	"$@"
	wait $sender || fail "send"
	wait $receiver
	cmp /run/sent /run/got || fail "data differ"
}

# first_port_pulled: that of the host with two
first_port_pulled() {
	ip link set h0 down
	[[ $(stat -c %s /run/got) -lt $(stat -c %s /run/sent) ]] || fail "all is there already"
}

side_down() {
	kill "${SIDE[$1]}"
	wait "${SIDE[$1]}" || fail "ibfabric ended with $?: $(cat "/run/$1.log")"
	unset "SIDE[$1]"
}

fabric_down() {
	side_down left
	side_down right
}

# counted SIDE PORT COUNTER: what that has counted
counted() {
	"$IBFABRIC-ctl" --socket "/run/$1.socket" counters "$2" | awk -v name="$3" \
		'$1 == name { sum = $2 } END { print sum + 0 }'
}

# carries SIDE PORT: the port is active; OpenSM sets the routes before it activates ports
carries() {
	local CTL=("$IBFABRIC-ctl" --socket "/run/$1.socket")
	port_of "$1" "$2" active
}

# found NAME...: OpenSM's subnet has these nodes
found() {
	local name
	ibnetdiscover -C sib0 >/run/found 2>&1 || return 1
	for name; do
		grep -q "\"$name\"" /run/found || return 1
	done
}

step "two machines and a router"
wires
ip netns add router
inside router sysctl -qw net.ipv4.ip_forward=1
side left 1 1500 0 2
side right 3 1300 1
(umask 077 && head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >/run/key)
fabric_of left 1 3 0 2
fabric_of right 3 1 1
FABRIC=both

step "one subnet"
hosts_up
start=$SECONDS
# Not on the port that is taken down below: who has no path by then would never get one.
opensm_on sib2
hosts_active
echo "subnet up after $((SECONDS - start)) s"
wait_for 60 found left right "idle left" "idle right"
cat /run/found
[[ $(grep -c '^Switch' /run/found) == 2 && $(grep -c '^Ca' /run/found) == 5 ]] ||
	fail "not 2 switches and 5 hosts"
[[ $(grep -c '^\[[78]\].*"S-.*"\[[78]\]' /run/found) == 4 ]] || fail "not 2 links between them"

step "ping and TCP"
address 0
address 1
wait_for 60 ping -c 1 -W 1 10.0.0.2
wait_for 60 ping -c 1 -W 1 fd00::2
ping -q -c 50 -i 0.1 -W 10 -s 4000 10.0.0.2 >/run/ping || fail "$(cat /run/ping)"
grep ' 0% packet loss' /run/ping || fail "$(cat /run/ping)"
head -c 4M /dev/urandom >/run/sent
transfer true

step "what the cables have counted"
for side in left right; do
	"$IBFABRIC-ctl" --socket "/run/$side.socket" counters "$side" >"/run/$side.counters"
	cat "/run/$side.counters"
	for port in 7 8; do
		[[ $(counted $side $side:$port link_up) == 1 && $(counted $side $side:$port link_down) == 0 ]] ||
			fail "the link at $side:$port was lost"
	done
done
(($(counted left left:7 link_retransmit) + $(counted left left:8 link_retransmit) > 0)) ||
	fail "nothing was lost"
(($(counted left left:7 udp_tx_too_long) + $(counted left left:8 udp_tx_too_long) > 0)) ||
	fail "the narrow side was not noticed"

step "one of the two cables fails"
start=$(now_ms)
"$IBFABRIC-ctl" --socket /run/left.socket fault link left:7 down >/dev/null
wait_for 60 ping -c 1 -W 1 10.0.0.2
echo "ping again after $(($(now_ms) - start)) ms"
"$IBFABRIC-ctl" --socket /run/left.socket fault clear >/dev/null
wait_for 60 carries left 7
wait_for 60 carries right 7

step "ipoib-ha moves to the other port, under TCP"
wait_for 10 netdev_of sib2
"${HA[@]}" -p "${DEV[0]}" -s "$NETDEV" >/run/ha.log 2>&1 &
DAEMON=$!
wait_for 60 "${HA[@]}" status
transfer first_port_pulled
"${HA[@]}" status || true
ip link set h0 up
wait_for 60 "${HA[@]}" status
kill $DAEMON
wait $DAEMON || fail "the daemon: $(tail -n 5 /run/ha.log)"

step "somebody without the key"
echo "no datagram of a cable, but long enough to be one, and from nobody that is known here" |
	inside router socat -u - UDP4-SENDTO:192.0.2.1:7471,bind=192.0.2.2
printf %064d 0 >/run/other
chmod 600 /run/other
side_down right
nsenter --net=/run/netns/right "$IBFABRIC" --topology /run/right.topology --key /run/other \
	--port right:7=udp:192.0.2.3:7471=192.0.2.1:7471 &
wrong=$!
code() { (($(counted left left:7 udp_rx_code) > 3)); }
wait_for 20 code
kill $wrong
wait $wrong || fail "ibfabric ended with $?"

step "the other machine comes back"
fabric_of right 3 1 1
wait_for 90 found left right "idle left" "idle right"
wait_for 90 ping -c 1 -W 1 10.0.0.2

step "down"
hosts_down
for name in left right router; do
	ip netns delete $name
done
