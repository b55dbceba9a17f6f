# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2317  # functions that wait_for calls
# shellcheck shell=bash
# Addresses over IPoIB with a distribution's programs: dnsmasq gives them on ib1; dhcpcd
# (DHCPv6 and SLAAC; its DHCPv4 knows Ethernet alone) and systemd-networkd (DHCP by
# RFC 4390, SLAAC, an interface on another partition in connected mode) take them on ib0.
source "$STACK/lib.sh"

SERVER=("${N[@]}" dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0
	--user=root --leasefile-ro --log-dhcp --log-facility=- --interface=ib1
	--bind-interfaces --dhcp-broadcast "--dhcp-option=option:mtu,2000"
	"--dhcp-range=10.0.0.100,10.0.0.120,1h"
	"--dhcp-range=fd00::100,fd00::120,1h" "--dhcp-range=fd01::,ra-only" --enable-ra)
NETWORKS=/run/systemd/network

# has DEVICE ADDRESS: an address that is usable, by its beginning
has() {
	ip address show dev "$1" | grep "inet6\? $2" | grep -qv tentative
}

# what ip says of the interface on the partition
details() {
	ip -d link show ib0.8001 | sed -n 's/.*\(ipoib pkey.*umcast [0-9a-f]*\).*/\1/p'
}

reached() {
	local address
	address=$(ip address show dev ib0 | sed -n "s,.*inet6\? \($1[0-9a-f:.]*\)/.*,\1,p" | head -n 1)
	"${N[@]}" ping -q -c 3 -i 0.05 -W 5 "$address" >/run/ping || fail "$(cat /run/ping)"
	echo "ib0 has $address"
}

# An end of the interface on a further partition, in the namespace
blue_end() {
	"${N[@]}" ip link add link ib1 name ib1.8001 type ipoib pkey 0x8001
	"${N[@]}" ip address add 10.1.0.2/24 dev ib1.8001
	"${N[@]}" ip link set ib1.8001 up
}

networkd_start() {
	printf '%s\n' '[Match]' Driver=ib_ipoib OriginalName=ib0 \
		'[Link]' 'Alias=port of h1' MTUBytes=3000 >$NETWORKS/10-ib0.link
	printf '%s\n' '[NetDev]' Name=ib0.8001 Kind=ipoib '[IPoIB]' PartitionKey=0x8001 \
		Mode=connected IgnoreUserspaceMulticastGroups=yes >$NETWORKS/20-blue.netdev
	printf '%s\n' '[Match]' Name=ib0 '[Network]' DHCP=yes IPv6AcceptRA=yes \
		IPoIB=ib0.8001 >$NETWORKS/30-ib0.network
	printf '%s\n' '[Match]' Name=ib0.8001 '[Link]' MTUBytes=60000 '[Network]' \
		Address=10.1.0.1/24 >$NETWORKS/40-blue.network
	/lib/systemd/systemd-udevd --daemon
	udevadm trigger --settle --subsystem-match=net --action=add
	/lib/systemd/systemd-networkd >/run/networkd.log 2>&1 &
	NETWORKD=$!
}

mkdir -p /var/lib/dhcpcd /var/lib/misc $NETWORKS
partitions blue=0x1
stack_up
ip address flush dev ib0 scope global
"${N[@]}" ip -6 address add fd01::2/64 dev ib1 nodad
blue_end

step "dnsmasq"
"${SERVER[@]}" >/run/dnsmasq.log 2>&1 &
DNSMASQ=$!
wait_for 20 grep -q 'DHCP, sockets bound' /run/dnsmasq.log

step "dhcpcd"
timeout 60 dhcpcd -6 -f /dev/null -1 -w ib0 >/run/dhcpcd.log 2>&1 || fail "$(cat /run/dhcpcd.log)"
wait_for 20 has ib0 fd01::
reached fd00::1
reached fd01::
ip address flush dev ib0 scope global

step "udev's .link file, networkd"
networkd_start
wait_for 60 has ib0 10.0.0.1
wait_for 30 has ib0 fd00::1
wait_for 30 has ib0 fd01::
reached 10.0.0.1
reached fd00::1
reached fd01::
grep -q 'DHCPACK(ib1) 10.0.0.1' /run/dnsmasq.log || fail "$(cat /run/dnsmasq.log)"
[[ $(cat /sys/class/net/ib0/mtu) == 3000 ]] || fail "MTU $(cat /sys/class/net/ib0/mtu)"
[[ $(cat /sys/class/net/ib0/ifalias) == "port of h1" ]] || fail "no alias"

step "networkd, Kind=ipoib"
wait_for 30 has ib0.8001 10.1.0.1
[[ $(details) == "ipoib pkey 0x8001 mode connected umcast 0001" ]] || fail "$(details)"
[[ $(cat /sys/class/net/ib0.8001/mtu) == 60000 ]] || fail "MTU $(cat /sys/class/net/ib0.8001/mtu)"
wait_for 20 "${N[@]}" ping -c 1 -W 1 10.1.0.1

kill $NETWORKD $DNSMASQ
wait $NETWORKD $DNSMASQ || true
udevd_end
stack_down
