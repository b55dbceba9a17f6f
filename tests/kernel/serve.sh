# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Runs one scenario after another in one kernel, for scripts/kernellib/guest.py.
#
# The machine leaves each in /run/out/NUMBER/job, shell assignments: NAME, SCRIPT,
# and exported variables. An empty NAME ends the kernel. Beside it the scenario's results appear: output, kmemleak, leftovers (what of
# the kernel's state is not as it was, as a diff) and at last status. `begun` and `ended`
# are there when the scenario's script has begun and ended.
#
# A scenario has /run and /var to itself, empty, in a mount namespace of its own.
source "$UML/leaks.sh"

# state: what a scenario must leave as it found it, a line each
state() {
	ps -e -o pid=,ppid=,args= | awk '$1 != 2 && $2 != 2 && !/ps -e|awk/ { $1 = $2 = ""; print "process", $0 }'
	sed 's/ .*//; s/^/module /' /proc/modules
	ip -o link show | sed 's/^[0-9]*: \([^:]*\): <\([^>]*\)> mtu \([0-9]*\).*/link \1 \2 \3/'
	ip -o address show | sed 's/^[0-9]*: /address /'
	ip route show table all | sed 's/^/route /'
	ip rule show | sed 's/^/rule /'
	rdma resource show | sed 's/^[0-9]*: /rdma /'
	sysctl -e net.core net.ipv4.conf.all net.ipv4.conf.default net.ipv4.neigh.default net.ipv4.ip_forward \
		net.ipv6.conf.all net.ipv6.conf.default net.ipv6.neigh.default 2>/dev/null
}

# leftovers SECONDS: how the state differs from $before, once it no longer does or then
leftovers() {
	local end=$((SECONDS + $1))
	until state >/run/scratch/now && diff "$before" /run/scratch/now >/run/scratch/differs ||
		((SECONDS >= end)); do
		sleep 0.2
	done
	cat /run/scratch/differs
}

# The script with folders of its own; what it mounts goes with it.
own_folders() {
	mount --bind /run/out /mnt
	mount -t tmpfs tmpfs /run
	mkdir -p /run/{out,netns,scratch}
	mount --move /mnt /run/out
	mount -t tmpfs tmpfs /var
	mkdir -p /var/{log,lib,tmp,cache/opensm,cache/ldconfig}
	ln -s /run /var/run
	exec setsid bash "$SCRIPT"
}
export -f own_folders

before=/run/scratch/before
for ((number = 1; ; number++)); do
	here=/run/out/$number
	until [[ -e $here/job ]]; do
		sleep 0.1
	done
	source "$here/job"
	[[ -n $NAME ]] || exit 0
	export SCRIPT
	state >"$before"
	echo "openipoib-test: scenario $NAME begins" >/dev/kmsg
	touch "$here/begun"
	unshare --mount --propagation private bash -c own_folders </dev/null >"$here/output" 2>&1
	status=$?
	touch "$here/ended"
	leftovers 10 >"$here/leftovers"
	find_leaks "$here/kmemleak"
	echo "openipoib-test: scenario $NAME ended with status $status" >/dev/kmsg
	dmesg --clear
	echo "$status" >"$here/status.new"
	mv "$here/status.new" "$here/status"
done
