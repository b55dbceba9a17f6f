# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Each allocation of an operation on an interface fails once. Each try ends in
# success or in an error that leaves nothing behind, and the stack works afterwards.
source "$STACK/lib.sh"
NTH=$STACK/../fail-nth

nth() {
	step "$* fails at each allocation"
	"$NTH" "$@"
}

stack_up
nth own mtu ib0 4092 2044 # no work item has a part in it
nth own child ib0 0x8001
for object in pd cq mr srq ud rc; do
	nth own "$object" sib0
done
for whose in own workers; do
	ip link set ib0 down
	nth $whose up ib0
	ip link set ib0 up
	nth $whose down ib0
	nth $whose join ib0 239.1.2.3
	nth $whose path ib0
	ethtool -G ib0 rx 64 tx 64
	nth $whose rings ib0 64 128
	ethtool -G ib0 rx 1024 tx 512
done
# Shorter ones need no memory that is not there: frames and pages are used again.
nth slab traffic 20000
nth slab traffic 60000
nth pages traffic 20000
step "the stack works"
stalls=$(ethtool -S ib0 | awk '$1 == "tx_stalls:" { print $2 }')
((stalls == 0)) || fail "the transmit queue stalled $stalls times"
ip -6 address replace fd00::1/64 dev ib0 nodad # gone when ib0 went down
ping -q -c 20 -i 0.02 -W 2 10.0.0.2 >/run/ping || fail "$(cat /run/ping)"
"${N[@]}" ping -q -c 20 -i 0.02 -W 2 -s 4000 fd00::1 >/run/ping || fail "$(cat /run/ping)"
stack_down
