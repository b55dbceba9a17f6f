# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Modules unloaded under traffic and loaded again.
source "$STACK/lib.sh"
stack_up
for round in 1 2 3 4; do
	traffic_start
	step "ib_ipoib unloaded under traffic, $round"
	rmmod ib_ipoib
	traffic_stop
	load_ipoib
	addresses
done
traffic_start
step "sib unloaded under traffic"
stop_sm
rmmod sib
traffic_stop
gone /sys/class/infiniband/sib0 || fail "sib0 survives its driver"
rmmod ib_ipoib
load_sib
load_ipoib
hcas
start_sm
addresses
stack_down
