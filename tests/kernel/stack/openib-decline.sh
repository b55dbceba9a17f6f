# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# IPOIB_OWN_QUEUES of openib.conf, on HCAs that accelerate IPoIB: whoever loads the module gives
# it to it, and one that is there follows.
export HCA=mlx5-enhanced
source "$STACK/openib-lib.sh"

OWN=/sys/module/ib_ipoib/parameters/own_queues

# own_queues LIST: the module has it
own_queues() {
	[[ $(cat "$OWN") == "$1" ]] || fail "own_queues is '$(cat "$OWN")', not '$1'"
}

# has_own_queues HCA: so the address of its interface says, by which it offers connected mode
has_own_queues() {
	netdev_of "$1"
	[[ $(cat "/sys/class/net/$NETDEV/address") == 80:* ]]
}

modules_in_place
cable
load_sib
hcas

step "openib loads the module with it"
configure 'IPOIB_OWN_QUEUES=sib0/1' 'SET_IPOIB_CM=auto'
openib 0 start
says "load module ib_ipoib with own_queues=sib0/1"
own_queues sib0/1
has_own_queues sib0 || fail "sib0 accelerates"
! has_own_queues sib1 || fail "sib1 does not accelerate"
netdev_of sib0
[[ $(cat "/sys/class/net/$NETDEV/mode") == connected ]] || fail "not in connected mode"
openib 0 start
openib 0 status

step "a module that is there follows, for what is to come"
configure "IPOIB_OWN_QUEUES='sib0 sib1'"
openib 2 status
says "not done     set own_queues of ib_ipoib to sib0,sib1, for interfaces made from now on"
openib 2 start
netdev_of sib1
says "$NETDEV has no connected mode yet: IPOIB_OWN_QUEUES counts for it when sib1 or ib_ipoib is loaded again"
own_queues sib0,sib1
rdma link delete sib1
rdma link add sib1 type sib netdev vb
wait_for 20 netdev_of sib1
has_own_queues sib1 || fail "sib1 accelerates"
openib 0 status
configure 'IPOIB_OWN_QUEUES=none'
openib 0 apply
own_queues ''
openib 0 status
openib 0 stop

step "modprobe gives it to the module, and it counts more than modprobe.d"
echo 'options ib_ipoib own_queues=sib0 send_queue_size=256' >/run/modprobe.d/own.conf
for words in 'all all' 'none ' 'sib1/1 sib1/1'; do
	configure "IPOIB_OWN_QUEUES=${words% *}"
	modprobe ib_ipoib
	own_queues "${words#* }"
	[[ $(cat /sys/module/ib_ipoib/parameters/send_queue_size) == 256 ]] ||
		fail "the other options are lost"
	if has_own_queues sib1; then
		[[ $words != none* ]] || fail "sib1 does not accelerate"
	else
		[[ $words == none* ]] || fail "sib1 accelerates"
	fi
	modprobe -r ib_ipoib
done
dmesg >/run/dmesg
! grep "unknown parameter" /run/dmesg || fail "a parameter is not known"
configure 'IPOIB_LOAD=yes'
modprobe ib_ipoib
own_queues sib0
openib 0 stop
rm /run/modprobe.d/own.conf

step "away"
rdma link delete sib0
rdma link delete sib1
rmmod sib
ip link delete va
