# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Children: interfaces on further partitions, made and deleted in every way, in
# namespaces of their own, under traffic, with their parent and their HCA gone.
source "$STACK/lib.sh"

C=(ip netns exec n2)
MAKE=/sys/class/net/ib0/create_child
DELETE=/sys/class/net/ib0/delete_child
GIVEN=80:00:00:02:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:01

# details MORE...: what ip says of an interface
details() {
	ip -d link show "$@" | sed -n 's/.*\(ipoib pkey.*umcast [0-9a-f]*\).*/\1/p'
}

# The state of the other end, which stays; its address is .2
other_end() {
	"${N[@]}" ip link add link ib1 name ib1.8001 type ipoib pkey 0x8001
	"${N[@]}" ip address add 10.1.0.2/24 dev ib1.8001
	"${N[@]}" ip -6 address add fd01::2/64 dev ib1.8001 nodad
	"${N[@]}" ip link set ib1.8001 up
}

# near DEVICE: into n2, with its addresses, up, and heard from
near() {
	ip link set "$1" netns n2
	"${C[@]}" ip address add 10.1.0.1/24 dev "$1"
	"${C[@]}" ip -6 address add fd01::1/64 dev "$1" nodad
	"${C[@]}" ip link set "$1" up
	wait_for 30 "${C[@]}" ping -c 1 -W 1 10.1.0.2
	"${C[@]}" ping -q -c 5 -i 0.02 -W 5 -s 4000 fd01::2 >/run/ping || fail "$(cat /run/ping)"
}

busy() {
	"${C[@]}" ping -f -q -W 1 10.1.0.2 >/dev/null 2>&1 &
	PINGER=$!
	wait_for 20 sent_by_child
}

sent_by_child() {
	(($(ip -n n2 -s -j link show ib0.8001 | sed 's/.*"tx":{"bytes":[0-9]*,"packets":\([0-9]*\).*/\1/') > 100))
}

quiet() {
	kill "$PINGER" 2>/dev/null || true
	wait "$PINGER" 2>/dev/null || true
}

partitions blue=0x1 red=0x2
stack_up
ip netns add n2
"${C[@]}" ip link set lo up

step "refused by sysfs"
refused 'Invalid argument' into $MAKE 0
refused 'Invalid argument' into $MAKE 0x8000
refused 'Invalid argument' into $MAKE blue
refused 'Numerical result out of range' into $MAKE 0x10000
refused 'not unique' into $MAKE 0xffff
refused 'No such device' into $DELETE 0x8001
refused 'Invalid argument' into /sys/class/net/ib0/umcast maybe

step "refused by netlink"
refused 'P_Keys are' ip link add link ib0 name x type ipoib pkey 0x8000
refused 'no interface of this driver' ip link add link va name x type ipoib pkey 0x8001
refused 'the parent is missing' ip link add name x type ipoib pkey 0x8001
refused 'more than the mode allows' ip link add link ib0 name x mtu 10237 type ipoib pkey 0x8001
refused 'by ethtool -L' ip link add link ib0 name x numtxqueues 2 type ipoib pkey 0x8001
ip link add link ib0 name x address $GIVEN type ipoib pkey 0x8001 2>/run/warning
grep -q 'Warning: ignored: the hardware address' /run/warning || fail "$(cat /run/warning)"
[[ $(cat /sys/class/net/x/address) != "$GIVEN" && $(ethtool -P x) == *"$(cat /sys/class/net/x/address)" ]] ||
	fail "address $(cat /sys/class/net/x/address), permanent $(ethtool -P x)"
refused 'cannot have children' ip link add link x name y type ipoib pkey 0x8002
refused 'cannot be changed' ip link set x type ipoib pkey 0x8002
[[ ! -e /sys/class/net/x/create_child && ! -e /sys/class/net/x/delete_child ]] || fail "a child offers children"
ip link delete x

step "made by sysfs, by netlink: the same"
into $MAKE 0x0001
refused 'not unique' into $MAKE 0x8001
[[ $(cat /sys/class/net/ib0.8001/parent) == ib0 ]] || fail "parent"
[[ $(details ib0.8001) == "ipoib pkey 0x8001 mode datagram umcast 0000" ]] || fail "$(ip -d link show ib0.8001)"
ip link show ib0.8001 | grep -q 'ib0.8001@ib0:' || fail "$(ip link show ib0.8001)"
[[ $(cat /sys/class/net/ib0.8001/broadcast) == *:40:1b:80:01:* ]] || fail "$(cat /sys/class/net/ib0.8001/broadcast)"
[[ $(cat /sys/class/net/ib0.8001/dev_id) == "$(cat /sys/class/net/ib0/dev_id)" ]] || fail "dev_id"
[[ $(cat /sys/class/net/ib0.8001/address) != "$(cat /sys/class/net/ib0/address)" ]] || fail "one queue pair for two"
ip link add link ib0 name made type ipoib pkey 0x8002 umcast 1
[[ $(cat /sys/class/net/made/parent) == ib0 && $(cat /sys/class/net/made/umcast) == 1 ]] || fail "made"
ip link set made type ipoib umcast 0
[[ $(cat /sys/class/net/made/umcast) == 0 ]] || fail "umcast"
into /sys/class/net/made/umcast 1
[[ $(details made) == *"umcast 0001" ]] || fail "$(details made)"
into $DELETE 0x8002
gone /sys/class/net/made || fail "it is not deleted by its P_Key"
ip link delete ib0
[[ -e /sys/class/net/ib0 ]] || fail "the interface of a port is deleted"

step "traffic between two namespaces"
other_end
near ib0.8001
ip -n n2 -d link show ib0.8001 | grep -q link-netnsid || fail "$(ip -n n2 -d link show ib0.8001)"
"${N[@]}" sysctl -qw net.ipv4.conf.all.arp_ignore=1
! ping -q -c 1 -W 1 -I ib0 10.1.0.2 >/dev/null || fail "another partition answers"

if [[ $HCA == mlx5-enhanced ]]; then
	echo "connected mode: the HCA accelerates, and then there is none"
else
	step "connected mode"
	ip -n n2 link set ib0.8001 type ipoib mode connected
	ip -n n2 link set ib0.8001 mtu 65520
	"${N[@]}" ip link set ib1.8001 type ipoib mode connected
	"${N[@]}" ip link set ib1.8001 mtu 65520
	"${C[@]}" ping -q -c 5 -i 0.02 -W 5 -M "do" -s 60000 10.1.0.2 >/run/ping || fail "$(cat /run/ping)"
	"${N[@]}" ping -q -c 5 -i 0.02 -W 5 -M "do" -s 60000 fd01::1 >/run/ping || fail "$(cat /run/ping)"
	"${C[@]}" ethtool -S ib0.8001 | grep -q 'cm_connects: 1$' || fail "$("${C[@]}" ethtool -S ib0.8001)"
fi

step "down and up with the parent, up without it"
ip link set ib0 down
ip -n n2 link show ib0.8001 >/run/child
! grep '[<,]UP[,>]' /run/child || fail "the child stays up"
"${C[@]}" ip link set ib0.8001 up
"${C[@]}" ip -6 address add fd01::1/64 dev ib0.8001 nodad
if [[ $HCA == mlx5-enhanced ]]; then
	# The HCA receives for it by its parent's queues (scenario accel).
	[[ $("${C[@]}" cat /sys/class/net/ib0.8001/carrier) == 0 ]] || fail "carrier, and it hears nothing"
	ip link set ib0 up
	wait_for 30 "${C[@]}" ping -c 1 -W 1 10.1.0.2
else
	wait_for 30 "${C[@]}" ping -c 1 -W 1 10.1.0.2
	ip link set ib0 up
fi
"${C[@]}" ip link set ib0.8001 down
ip link set ib0 down
ip link set ib0 up
wait_for 30 "${C[@]}" ping -c 1 -W 1 10.1.0.2
wait_for 30 ping -c 1 -W 1 10.0.0.2

step "two children on one partition"
ip link add link ib0 name twin type ipoib pkey 0x8001
ip address add 10.1.0.3/24 dev twin
ip link set twin up
wait_for 30 ping -c 1 -W 1 10.1.0.2
"${C[@]}" ping -q -c 3 -i 0.02 -W 5 10.1.0.3 >/run/ping || fail "$(cat /run/ping)"
ip link delete twin

step "the namespace of a child goes"
ip netns delete n2
wait_for 10 test -e /sys/class/net/ib0.8001
ip netns add n2
"${C[@]}" ip link set lo up

later_pkey

step "deleted under traffic"
near ib0.8001
for way in 1 2; do
	busy
	if ((way % 2)); then
		into $DELETE 0x8001
	else
		ip -n n2 link delete ib0.8001
	fi
	quiet
	into $MAKE 0x8001
	[[ $(cat /sys/class/net/ib0.8001/mode) == datagram ]] || fail "the mode of a deleted child is back"
	near ib0.8001
done

step "unplugged under traffic"
MODE=connected
[[ $HCA != mlx5-enhanced ]] || MODE=datagram
into /sys/class/net/ib0.8003/mode $MODE
busy
timeout 60 rdma link delete sib0 || fail "rdma link delete: status $?"
quiet
gone /sys/class/net/ib0.8003 || fail "a child survives its HCA"
! ip -n n2 link show ib0.8001 2>/dev/null || fail "a child survives its HCA in another namespace"
stop_sm
rdma link add sib0 type sib netdev va
wait_for 10 test -e $MAKE
into $MAKE 0x8003
[[ $(cat /sys/class/net/ib0.8003/mode) == "$MODE" ]] || fail "the mode is lost with the HCA"

step "made and deleted while the HCA goes and the module is unloaded"
rmmod_soon() {
	while [[ -e /sys/module/ib_ipoib ]]; do
		echo 0x8005 >$MAKE || true
		echo 0x8005 >$DELETE || true
		ip link add link ib0 name y type ipoib pkey 0x8006 || true
		ip link delete y || true
	done 2>/dev/null
}
rmmod_soon &
worker=$!
for _ in 1 2; do
	rdma link delete sib0
	rdma link add sib0 type sib netdev va
	wait_for 20 test -e $MAKE
done
rmmod ib_ipoib
wait $worker || true
load_ipoib
stack_down
