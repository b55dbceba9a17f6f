# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# shellcheck disable=SC2154  # conf and said are of openib-lib.sh
# openib on a real stack: start, again, hot-plug, stop, and what it refuses.
source "$STACK/openib-lib.sh"

is() {
	local value
	value=$(cat "$1")
	[[ $value == "$2" ]] || fail "$1 is '$value', not '$2'"
}

is_loaded() {
	[[ -e /sys/module/ib_ipoib ]]
}

auto_is_connected() {
	step "connected mode, as the driver has it"
	configure 'SET_IPOIB_CM=auto'
	openib 0 start
	is /sys/class/net/ib0/mode connected
	openib 0 stop
	! is_loaded || fail "ib_ipoib is loaded after the stop"
}

refusals() {
	step "a broken file changes nothing"
	configure 'SET_IPOIB_CM=yes' 'IPOIB_LOD=no'
	openib 6 start
	says "$conf:2:1: error: IPOIB_LOD: unknown key; did you mean IPOIB_LOAD?"
	! is_loaded || fail "ib_ipoib is loaded all the same"
	step "IPOIB_LOAD=no counts for modprobe, too"
	configure 'IPOIB_LOAD=no'
	openib 0 start
	! modprobe ib_ipoib 2>/dev/null || fail "modprobe has loaded ib_ipoib"
	! is_loaded || fail "ib_ipoib is loaded"
	rm "$conf"
	modprobe ib_ipoib || fail "modprobe needs an openib.conf"
	is_loaded || fail "ib_ipoib is not loaded"
	configure 'IPOIB_LOAD=yes'
	openib 0 stop
	configure 'ONBOOT=no'
	openib 0 start --boot
	! is_loaded || fail "ib_ipoib is loaded in spite of ONBOOT=no"
}

start_connected() {
	step "the lines of the OFED notes"
	configure 'SET_IPOIB_CM=yes' 'IPOIB_MTU=65520' 'NODE_DESC=tester'
	openib 0 start
	is /sys/class/net/ib0/mode connected
	is /sys/class/net/ib1/mode connected
	is /sys/class/net/ib0/mtu 65520
	is /sys/class/infiniband/sib0/node_desc "tester HCA-1"
	is /sys/class/infiniband/sib1/node_desc "tester HCA-2"
	openib 0 start
	[[ ! -s $said ]] || fail "a second start found something to do"
	openib 0 status
	says "tester HCA-1"
}

hot_plug() {
	local mtu begin
	mtu=$(cat /sys/class/net/ib0/mtu)
	step "an interface comes back as it was"
	rdma link delete sib0
	wait_for 10 gone /sys/class/net/ib0
	rdma link add sib0 type sib netdev va
	wait_for 10 test -e /sys/class/net/ib0
	begin=${EPOCHREALTIME/./}
	openib 0 apply ib0
	openib 0 apply sib0
	echo "restored in $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
	is /sys/class/net/ib0/mtu "$mtu"
	is /sys/class/net/ib0/mode connected
	is /sys/class/infiniband/sib0/node_desc "tester HCA-1"
	openib 2 apply ib7
	says "there is no IPoIB interface or adapter 'ib7'"
}

children() {
	step "children"
	configure 'SET_IPOIB_CM=auto' 'IPOIB_CHILDREN_ib0=8001' 'IPOIB_MTU_ib0.8001=2044' \
		'SET_IPOIB_CM_ib0.8001=no'
	openib 0 apply
	is /sys/class/net/ib0.8001/pkey 0x8001
	is /sys/class/net/ib0.8001/mode datagram
	is /sys/class/net/ib0.8001/mtu 2044
}

# What is set by hand outlives modprobe -r; openib.conf says nothing about it.
by_hand() {
	step "set by hand, and the module reloaded"
	configure 'SET_IPOIB_CM_ib1=no'
	ip link add link ib0 name data0 type ipoib pkey 0x8003
	echo connected >/sys/class/net/data0/mode
	ip link set data0 mtu 30000
	echo 1 >/sys/class/net/ib0/umcast
	ethtool -G ib0 rx 512 tx 256
	ethtool -L ib0 tx 2
	echo connected >/sys/class/net/ib1/mode
	modprobe -r ib_ipoib
	! is_loaded || fail "ib_ipoib is still loaded"
	[[ $(stat -c %a /run/openib) == 700 ]] || fail "/run/openib is $(stat -c %a /run/openib)"
	modprobe ib_ipoib
	is /sys/class/net/ib0/umcast 0
	openib 2 status
	says "not done     add data0, P_Key 0x8003"
	openib 0 apply
	is /sys/class/net/ib0/umcast 1
	is /sys/class/net/ib0.8001/pkey 0x8001
	is /sys/class/net/data0/pkey 0x8003
	is /sys/class/net/data0/mode connected
	is /sys/class/net/data0/mtu 30000
	is /sys/class/net/ib1/mode datagram # as openib.conf says
	ethtool -g ib0 | sed -n '/Current/,$p' | grep -E '^(RX|TX):' | tr -d '\t ' |
		tr '\n' ' ' | grep -q 'RX:512 TX:256' || fail "the rings: $(ethtool -g ib0)"
	ethtool -l ib0 | sed -n '/Current/,$p' | grep -q '^TX:[[:space:]]*2$' ||
		fail "the queues: $(ethtool -l ib0)"
	step "and only once"
	echo 0 >/sys/class/net/ib0/umcast
	openib 0 apply
	is /sys/class/net/ib0/umcast 0
	step "a document that is none"
	echo '{"version":1,"interfaces":[{"name":"../x"}]}' >/run/openib/settings.json
	openib 0 apply
	says "settings.json: interfaces[0].name is no name of an interface; nothing is restored from it"
	ip link delete data0
}

# The script of machines without systemd, by the name that init gives it, too
sysv() {
	local script=$STACK/../../../scripts/openibd
	export OPENIB OPENIBD_CONFIG=$conf
	step "openibd without systemd"
	configure 'SET_IPOIB_CM=auto'
	sh "$script" restart || fail "openibd restart: status $?"
	is_loaded || fail "ib_ipoib is not loaded after openibd restart"
	sh "$script" status || fail "openibd status: status $?"
	ln -s "$script" /run/K01openibd
	ln -s "$script" /run/S01openibd
	sh /run/K01openibd stop || fail "K01openibd stop: status $?"
	! is_loaded || fail "ib_ipoib is loaded after K01openibd stop"
	configure 'ONBOOT=no'
	sh /run/S01openibd start || fail "S01openibd start: status $?"
	! is_loaded || fail "ib_ipoib is loaded in spite of ONBOOT=no"
	configure 'ONBOOT=yes'
	sh /run/S01openibd start || fail "S01openibd start: status $?"
	is_loaded || fail "ib_ipoib is not loaded after S01openibd start"
}

stop_in_use() {
	step "no stop under a running subnet manager"
	wait_for 20 port_is sib0 INIT
	start_sm
	openib 7 allows stop
	openib 7 stop
	says "not stopped: opensm (process"
	openib 7 restart
	is_loaded || fail "ib_ipoib has gone all the same"
	stop_sm
	configure 'ALLOW_STOP=no'
	openib 7 stop
	configure 'SET_IPOIB_CM=auto'
	openib 0 restart
	is_loaded || fail "ib_ipoib is not loaded after a restart"
	openib 0 stop
	! is_loaded || fail "ib_ipoib is loaded after the stop"
	openib 0 stop
}

modules_in_place
cable
load_sib
hcas
auto_is_connected
refusals
start_connected
hot_plug
children
by_hand
sysv
stop_in_use
step "away"
rdma link delete sib0
rdma link delete sib1
rmmod sib
ip link delete va
