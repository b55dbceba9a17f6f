# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Mode, MTU and P_Key set by Debian's ifupdown and NetworkManager, as docs/ipoib.md says;
# that the latter has an interface is seen by ipoib-ha.
# PROGRAMS is the folder that they are unpacked in.
source "$STACK/lib.sh"

MANUAL=$STACK/../../../docs/ipoib.md
SYSTEM=/run/NetworkManager/system

# from_manual NAME: the lines of the manual that begin with "# NAME", to the next blank one
from_manual() {
	sed -n "s/^    //; /^# ${1//\//\\/}\$/,/^\$/{/^\$/!p}" "$MANUAL"
}

# is DEVICE MODE MTU PKEY
is() {
	local file=/sys/class/net/$1
	[[ "$(cat $file/mode) $(cat $file/mtu) $(cat $file/pkey)" == "$2 $3 $4" ]]
}

# has DEVICE MODE MTU PKEY ADDRESS: before long, and its peer is reached
has() {
	# NetworkManager is slow to start on a kernel with KASAN.
	wait_for 120 test -e /sys/class/net/$1
	wait_for 120 is $1 $2 $3 $4
	wait_for 30 ping -c 1 -W 1 $5
	echo "$1: $2, MTU $3, P_Key $4"
}

# The other ends, in the namespace: what any of the programs is to reach
other_ends() {
	"${N[@]}" ip link add link ib1 name ib1.8001 type ipoib pkey 0x8001
	"${N[@]}" ip address add 10.1.0.2/24 dev ib1.8001
	"${N[@]}" bash -c 'echo connected >/sys/class/net/ib1/mode; echo connected >/sys/class/net/ib1.8001/mode'
	"${N[@]}" ip link set ib1.8001 up
}

bus_start() {
	# The policy of a session's bus: who is on it may do everything.
	mkdir -p /run/dbus
	dbus-daemon --session --address=unix:path=/run/dbus/system_bus_socket --nofork --nopidfile \
		>/run/bus.log 2>&1 &
	BUS=$!
	wait_for 10 test -S /run/dbus/system_bus_socket
}

manager_start() {
	mkdir -p /var/lib/NetworkManager $SYSTEM
	printf '%s\n' '[main]' plugins=keyfile dns=none no-auto-default='*' auth-polkit=false \
		'[keyfile]' path=$SYSTEM \
		unmanaged-devices='*,except:interface-name:ib0,except:interface-name:ib0.8001' \
		>/run/NetworkManager.conf
	from_manual /etc/NetworkManager/system-connections/ib0.nmconnection >$SYSTEM/ib0.nmconnection
	from_manual /etc/NetworkManager/system-connections/ib0.8001.nmconnection >$SYSTEM/ib0.8001.nmconnection
	chmod 600 $SYSTEM/*
	/lib/systemd/systemd-udevd --daemon
	udevadm trigger --settle --subsystem-match=net --action=add
	NetworkManager --debug --log-level=INFO --config=/run/NetworkManager.conf >/run/manager.log 2>&1 &
	MANAGER=$!
}

[[ -n $PROGRAMS ]] || fail "scripts/unpack-programs has not got the programs"
partitions blue=0x1
stack_up
other_ends
ip address flush dev ib0
ip link set ib0 down
export PATH=$PATH:$PROGRAMS/sbin:$PROGRAMS/usr/sbin:$PROGRAMS/usr/bin
LIBRARIES=("$PROGRAMS"/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH=${LIBRARIES[0]}

step "ifupdown"
mkdir -p /run/network
from_manual /etc/network/interfaces >/run/interfaces
cat /run/interfaces
ifup -v --no-scripts -i /run/interfaces ib0 ib0.8001 || fail "ifup: status $?"
has ib0 connected 65520 0xffff 10.0.0.2
has ib0.8001 connected 60000 0x8001 10.1.0.2
ifdown -v --no-scripts -i /run/interfaces ib0.8001 ib0 || fail "ifdown: status $?"
gone /sys/class/net/ib0.8001 || fail "ifdown has left ib0.8001"
echo datagram >/sys/class/net/ib0/mode

step "NetworkManager"
bus_start
manager_start
trap '(($? == 0)) || tail -n 40 /run/bus.log /run/manager.log' EXIT
has ib0 connected 65520 0xffff 10.0.0.2
has ib0.8001 connected 60000 0x8001 10.1.0.2
nmcli -t device status

step "ipoib-ha says who else has the interface"
env -u LD_LIBRARY_PATH "$IPOIB_HA" --run-folder /run/ha -p ib0 -s ib9 2>/run/ha.log &
DAEMON=$!
wait_for 60 grep -q 'ib0 is managed by NetworkManager, too' /run/ha.log
kill $DAEMON
wait $DAEMON || fail "ipoib-ha: $(cat /run/ha.log)"
nmcli connection down ib0.8001
wait_for 20 gone /sys/class/net/ib0.8001
[[ -e /sys/class/net/ib0 ]] || fail "ib0 has gone as well"
kill $MANAGER $BUS
wait $MANAGER $BUS || true
udevd_end
stack_down
