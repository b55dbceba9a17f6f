# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# IPv4 and IPv6 of every interesting length, fragments, both directions.
source "$STACK/lib.sh"
stack_up
for size in 0 1 56 1400 2016 2017 4060 4061 20000; do
	step "ping $size"
	ping -q -c 3 -i 0.02 -W 2 -s $size 10.0.0.2 >/run/ping || fail "ping $size: $(cat /run/ping)"
	"${N[@]}" ping -q -c 3 -i 0.02 -W 2 -s $size fd00::1 >/run/ping || fail "ping6 $size: $(cat /run/ping)"
done
step "flood"
ping -q -f -c 2000 -W 5 10.0.0.2 >/run/ping || fail "flood: $(cat /run/ping)"
stack_down
