# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2317
# shellcheck shell=bash
# Thousands of ARP requests, each from another GID that nobody has: what they make the
# host keep and ask for has a limit, and honest peers notice nothing. For the second half of them
# the subnet manager does not answer. STRANGERS: how many.
source "$STACK/lib.sh"

COUNT=${STRANGERS:-4000}
ROUNDS=10
# PATHS_FRESH_MAX of path.c, and what is there anyway
MOST=$((1024 / 2 + 20))

# stat NAME: a counter of ib0
stat() {
	ethtool -S ib0 | sed -n "s/^ *$1: //p"
}

# slab: octets of the kernel's small objects
slab() {
	awk '/^Slab:/ {print $2 * 1024}' /proc/meminfo
}

all_forgotten() {
	(($(stat destinations) < 20))
}

stack_up
# Else the many that have no answer would crowd out the one that has.
ip neigh replace 10.0.0.2 lladdr "$("${N[@]}" cat /sys/class/net/ib1/address)" nud permanent dev ib0
before=$(stat destinations)
memory=$(slab)
queries=$(stat path_queries)
step "$COUNT requests from as many ports that there are not, $before destinations before"
for ((round = 0; round < ROUNDS; round++)); do
	((round != ROUNDS / 2)) || kill -STOP "$SM"
	"${N[@]}" "$STACK/strangers.py" ib1 10.0.0.1 $((COUNT / ROUNDS)) $((round * COUNT / ROUNDS)) &
	flood=$!
	ping -q -c 5 -i 0.2 -W 10 10.0.0.2 >/run/ping || fail "an honest peer: $(cat /run/ping)"
	wait $flood || fail "the requests have not been sent"
	now=$(stat destinations)
	((now <= MOST)) || fail "$now destinations"
done
kill -CONT "$SM"
refused=$(stat destinations_refused)
queries=$(($(stat path_queries) - queries))
echo "$now destinations, $refused refused, $queries path queries, $(($(slab) - memory)) octets of slab," \
	"$(stat pending_bytes) octets waiting"
((refused > 0)) || fail "none was refused: $(ethtool -S ib0)"
step "they are forgotten"
wait_for 120 all_forgotten
ping -q -c 3 -i 0.2 -W 10 10.0.0.2 >/run/ping || fail "an honest peer: $(cat /run/ping)"
stack_down
