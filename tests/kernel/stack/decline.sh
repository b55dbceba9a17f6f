# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# HCAs that accelerate IPoIB and are told not to, by a module parameter: connected mode and
# its MTU, as long as the parameter says so, also after the HCA has been away.
export HCA=mlx5-enhanced
source "$STACK/lib.sh"

OWN=/sys/module/ib_ipoib/parameters/own_queues

load_ipoib() {
	insmod "$IPOIB_KO" own_queues=sib0/1,sib1
}

# has_own_queues INTERFACE: so its address says, by which it offers connected mode
has_own_queues() {
	[[ $(cat /sys/class/net/$1/address) == 80:* ]]
}

# replug: sib1 goes and comes back; NETDEV is its interface
replug() {
	rdma link delete sib1
	rdma link add sib1 type sib netdev vb
	wait_for 20 netdev_of sib1
	netdev_of sib1
}

pings() {
	ping -q -c 5 -i 0.05 -W 5 -M "do" -s "$1" 10.0.0.2 >/run/ping || fail "$(cat /run/ping)"
}

# connected: both ends, with the MTU of it
connected() {
	echo connected >/sys/class/net/ib0/mode
	"${N[@]}" bash -c 'echo connected >/sys/class/net/ib1/mode'
	ip link set ib0 mtu 65520
	"${N[@]}" ip link set ib1 mtu 65520
}

stack_up

step "own queues: connected mode"
has_own_queues ib0 || fail "accelerated: $(cat /sys/class/net/ib0/address)"
pings 2016
connected
wait_for 10 ping -c 1 -W 1 10.0.0.2
pings 65492
"${N[@]}" iperf3 -s -1 >/dev/null &
wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :5201'
iperf3 -c 10.0.0.2 -t 2 --json >/run/iperf.json 2>&1 || fail "iperf3: $(tail -n 5 /run/iperf.json)"
(($(ethtool -S ib0 | sed -n 's/^ *cm_connects: //p') >= 1)) || fail "no connection: $(ethtool -S ib0)"

step "and back: datagrams"
echo datagram >/sys/class/net/ib0/mode
"${N[@]}" bash -c 'echo datagram >/sys/class/net/ib1/mode'
ip link set ib0 mtu 2044
"${N[@]}" ip link set ib1 mtu 2044
pings 2016

step "an HCA that comes back is not accelerated either"
replug
has_own_queues $NETDEV || fail "accelerated: $(cat /sys/class/net/$NETDEV/address)"

step "without the parameter, or by another's name, it is"
for given in sib0/1 sib00 ''; do
	echo "$given" >$OWN
	replug
	! has_own_queues $NETDEV || fail "not accelerated with own_queues=$given"
done
echo all >$OWN
replug
has_own_queues $NETDEV || fail "accelerated with own_queues=all"
stack_down
