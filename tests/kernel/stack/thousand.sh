# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154
# shellcheck shell=bash
# run: by name
# OpenSM sweeps a fat tree of a thousand emulated hosts: of ibsim, which has MADs and
# nothing else and hands them over within user space, and of ibfabric, through sib and
# the kernel's MAD layer, with each routing engine. Seconds and their ratio are printed.
source "$STACK/sweep-lib.sh"

UMAD2SIM=/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so

# The same OpenSM on the same topology, emulated by ibsim
simulated() {
	local start
	step "ibsim: minhop"
	mkfifo /run/console
	(cd /run && exec stdbuf -oL ibsim -s -N 2000 -S 400 -P 20000 /run/topology <>/run/console >/run/ibsim.log 2>&1) &
	simulator=$!
	wait_for 30 grep -q MaxMcastCap /run/ibsim.log
	start=$(now)
	(cd /run && LD_PRELOAD=$UMAD2SIM SIM_HOST=h0 exec opensm -s 2 -d 2 -t "$TIMEOUT" -R minhop -f /run/opensm.log \
		-P /run/partitions.conf >/run/opensm.out 2>&1) &
	SM=$!
	wait_for 900 is_up
	SECONDS_SIM=$(since "$start")
	echo "ibsim: minhop: subnet up after $SECONDS_SIM s"
	stop_sm
	kill "$simulator"
	wait "$simulator" || true
	rm -f /run/opensm.log /var/cache/opensm/*
}

partitions ''
"$STACK/fat_tree.py" 10 10 10 5 2 >/run/topology
simulated
real_port
sweep minhop discovered
awk -v ours="$SECONDS_UP" -v theirs="$SECONDS_SIM" \
	'BEGIN {printf "a thousand hosts: ibfabric %.1f s, ibsim %.1f s, ratio %.2f\n", ours, theirs, ours / theirs}'
for engine in updn ftree lash; do
	sweep "$engine"
done
rdma link delete sib0
rmmod sib
ip link delete h0
