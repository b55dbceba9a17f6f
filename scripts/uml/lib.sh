# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# What scripts/uml/init and tests/kernel/serve.sh share.

# empty_var: a /var of one's own, with the folders that programs expect
empty_var() {
	mount -t tmpfs tmpfs /var
	mkdir -p /var/{log,lib,tmp,cache/opensm,cache/ldconfig}
	ln -s /run /var/run
}

# find_leaks FILE: kmemleak's listing there, of what it calls unreferenced
find_leaks() {
	local knob=/sys/kernel/debug/kmemleak found=- end=$((SECONDS + 30))
	# What is younger than five seconds is not yet called a leak, and nothing tells
	# when the last is older: the one fixed wait. It costs nothing on a clock that
	# skips idle time.
	sleep 5.5
	rm -f /run/scratch/leaks
	# A pointer may be in a register or on the move while a scan passes: the leaks
	# are what two scans in a row agree on.
	until echo scan >$knob && cat $knob >/run/scratch/leaks &&
		[[ $(grep ^unreferenced /run/scratch/leaks) == "$found" ]] || ((SECONDS > end)); do
		found=$(grep ^unreferenced /run/scratch/leaks)
	done
	cp /run/scratch/leaks "$1"
}
