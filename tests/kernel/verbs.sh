# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Those of tests/vm that need one host, with this kernel as that host. Arguments are
# pytest's; /run/out, which the machine sees, gets the results.
source "$STACK/lib.sh"

step "stack up"
ip link add eth1 mtu 9000 type veth peer name eth2 mtu 9000
ip link set eth1 up
ip link set eth2 up
load_sib
load_ipoib
rdma link add sib0 type sib netdev eth1
rdma link add sib1 type sib netdev eth2
"$LAB_SM" start 0
wait_for 30 port_is sib0 ACTIVE
wait_for 30 port_is sib1 ACTIVE
netdev_of sib0
[[ $NETDEV == ib0 ]] || fail "sib0 has $NETDEV"
ip address add 10.10.0.1/24 dev ib0
ip link set ib0 up

status=0
/usr/bin/python3 -m pytest -v -p no:cacheprovider "$VM_TESTS" --kernel uml \
	--junitxml=/run/out/results.xml "$@" || status=$?

step "stack down"
"$LAB_SM" stop 0
rmmod ib_ipoib
rdma link delete sib0
rdma link delete sib1
rmmod sib
exit $status
