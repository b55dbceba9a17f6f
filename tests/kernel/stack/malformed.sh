# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Every malformed frame that ib-frames knows, at the HCA and the interface: each
# is counted, by the one that is to blame it, and dropped; ib0 works all along.
source "$STACK/lib.sh"
cable
load_sib
load_ipoib
step "one HCA, ib-frames at the other end of its cable"
rdma link add sib0 type sib netdev va
ip address add 10.0.0.1/24 dev ib0
ip link set ib0 up
opensm_on sib0
"$STACK/../malformed" "$IB_FRAMES" vb || fail "see above"
step "the next honest peer"
rdma link add sib1 type sib netdev vb
wait_for 30 port_is sib1 ACTIVE
addresses
stack_down
