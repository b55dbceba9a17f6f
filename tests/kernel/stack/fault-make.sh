# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# clock: jump
# Each allocation fails once while the modules are loaded and HCAs and interfaces are
# made. Each try ends in success or in an error that leaves nothing behind.
source "$STACK/lib.sh"
NTH=$STACK/../fail-nth
LEAKS=/sys/kernel/debug/kmemleak

# ib_uverbs keeps a description of each HCA's objects in a radix tree (uapi_merge_def).
# When an entry lacks memory for its last node, the empty ones above it stay, and are
# lost with the tree: 576 octets each, a shift of 12 or 6, no value in it. Those are
# forgotten here, and what the shell has had the kernel make, which waits meanwhile: on 6.12
# that is a file's inode, dentry and pages, whoever loses them. Nothing else is.
forget_strangers() {
	sleep 6 # kmemleak says nothing of what is younger than 5 s
	echo scan >$LEAKS
	echo scan >$LEAKS
	cat $LEAKS >/run/leaks
	awk '/^unreferenced object/ { objects++; node = /\(size 576\):$/ }
		/^  comm "bash"/ { objects--; shell++ }
		/^  comm/ { node = node && /"fail-nth"/ }
		/hex dump/ { getline; nodes += node && /^    (0c|06) .. 0[01] 00 / }
		END { print objects + 0, "lost,", nodes + 0, "of them by ib_uverbs;", shell + 0, "by the shell"
			exit objects != nodes }' /run/leaks || fail "$(cat /run/leaks)"
	echo clear >$LEAKS
}

cable
step "sib is loaded"
"$NTH" own load "$SIB_KO"
load_sib
step "an HCA is added"
"$NTH" own add sib0 va
forget_strangers
step "ib_ipoib is loaded"
"$NTH" own load "$IPOIB_KO"
load_ipoib
step "an interface is made"
"$NTH" own interface sib0 va "$IPOIB_KO"
step "the stack works"
hcas
start_sm
addresses
stack_down
