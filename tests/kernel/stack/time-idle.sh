# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# clock: jump
# Hours pass in seconds: destinations out of use are forgotten and asked for
# again, joins without an SM back off up to their cap and no further, a link
# that hears nothing goes down in its time. Runs on a clock that jumps to the
# next timer.
source "$STACK/lib.sh"
stack_up

count() { ethtool -S ib0 | awk -v name="$1:" '$1 == name { print $2 }'; }

step "a path in use is not asked for again"
before=$(count path_queries)
ping -q -c 100 -i 3 10.0.0.2 >/run/ping || fail "ping: $(cat /run/ping)"
(($(count path_queries) - before <= 2)) || fail "$(($(count path_queries) - before)) queries in 300 s"

step "an hour of silence"
ip neigh flush dev ib0
before=$(count path_queries)
sleep 3600
ping -q -c 1 -W 5 10.0.0.2 >/run/ping || fail "ping after an hour: $(cat /run/ping)"
(($(count path_queries) > before)) || fail "the path survived an hour without use"

step "a neighbour entry grows old and is renewed"
for _ in 1 2 3; do
	sleep 120
	ping -q -c 1 -W 5 10.0.0.2 >/run/ping || fail "ping: $(cat /run/ping)"
done

step "joins without an SM back off"
stop_sm
ip link set ib0 down
ip link set ib0 up
sleep 60
before=$(count multicast_joins)
sleep 1600
tries=$(($(count multicast_joins) - before))
echo "$tries joins in 1600 s without an SM"
# A pause of 12 to 16 s behind each try, which ends at once or after the SA's timeouts, some 3 s.
# With half the cap there would be 155 or more, with twice the cap less than 60.
((tries >= 75 && tries <= 130)) || fail "too few or too many"
start_sm
wait_for 60 ping -c 1 -W 1 10.0.0.2

step "a silent peer takes the link down, and it trains again"
tc qdisc add dev vb root netem loss 100%
wait_for 5 port_is sib0 DOWN
sleep 600
port_is sib0 DOWN || fail "the link is up without a peer"
tc qdisc del dev vb root
wait_for 5 port_not sib0 DOWN
wait_for 60 ping -c 1 -W 1 10.0.0.2
stack_down
