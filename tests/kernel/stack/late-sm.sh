# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2086,SC2317  # HOSTS is of fabric-lib.sh, and "at N COMMAND" a command and its words
# shellcheck shell=bash
# A subnet manager whose answers are late, come twice, in another order, or not at all:
# interfaces join and find their peers all the same, an answer to a question that was given up
# harms nothing, and who has been told already does not need it.
#
# clock: jump
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2)

topology() {
	cat >/run/topology <<-END
		switchguid=0x2c90000000001
		Switch 8 "S-1"	# "leaf1"
		[1] "h0"[1]
		[2] "h1"[1]
		[3] "h2"[1]
		Ca 1 "h0"
		Ca 1 "h1"
		Ca 1 "h2"
	END
}

# Of the link of the SM's host, both ways
mads() {
	"${CTL[@]}" fault "$1" h0:1 "${@:2}" --packets mad >/run/fault 2>&1 || fail "$(cat /run/fault)"
}

# restarted: h1 and h2 know nobody any more, and join again
restarted() {
	local i
	for i in 1 2; do
		at $i ip link set "${DEV[i]}" down
		at $i ip link set "${DEV[i]}" up
		at $i ip -6 address replace "fd00::$((i + 1))/64" dev "${DEV[i]}" nodad
	done
}

# asked HOST WHAT: questions to the SA so far
asked() {
	at "$1" ethtool -S "${DEV[$1]}" | sed -n "s/^ *$2: //p"
}

# asked_more HOST WHAT TIMES
asked_more() {
	(($(asked $1 $2) > $3))
}

# later COMMAND...: in two seconds, which cost nothing by this clock
later() {
	sleep 2
	"$@"
}

# duplicated: packets that came twice on the link of the SM's host so far
duplicated() {
	"${CTL[@]}" counters leaf1:1 | awk '$1 == "Duplicated" {print $2; found = 1}
		END {if (!found) print 0}'
}

# good TIMES: pings between h1 and h2 are answered, all of them
good() {
	at 1 ping -q -c "$1" -i 0.1 -W 2 10.0.0.3 >/run/ping || fail "$(cat /run/ping)"
	grep -q ' 0% packet loss' /run/ping || fail "$(cat /run/ping)"
}

wires
topology
fabric_up
hosts_up
opensm_on sib0
hosts_active
hosts_addresses
hosts_ping 30

step "answers after 0.6 s"
mads delay 300ms
restarted
hosts_ping 60
good 20
"${CTL[@]}" fault clear

step "answers come twice"
copies=$(duplicated)
queries=$(asked 1 path_queries)
mads duplicate 100%
restarted
hosts_ping 30
good 20
"${CTL[@]}" fault clear
copies=$(($(duplicated) - copies))
queries=$(($(asked 1 path_queries) - queries))
echo "h1 has asked for $queries paths, $copies MADs came twice"
# Of h0 and h2 it has to know one each; that is about three times as many.
((queries <= 6)) || fail "h1 asks for paths again when an answer comes twice: $queries times"
((copies > 0)) || fail "no MAD came twice"

step "answers in another order, and every third is lost"
mads reorder 50%
mads drop 30%
restarted
hosts_ping 90
"${CTL[@]}" fault clear
lost=$("${CTL[@]}" counters leaf1:1 | awk '/dropped: fault/ { sum += $NF } END { print sum + 0 }')
((lost > 0)) || fail "no MAD was lost: $("${CTL[@]}" counters leaf1:1)"
hosts_ping 90
good 20

step "answers later than anybody waits for"
mads delay 3s
good 20
restarted
wait_for 60 later asked_more 1 multicast_joins $(($(asked 1 multicast_joins) + 2))
"${CTL[@]}" fault clear
hosts_ping 90
good 20

step "all is well for long"
hosts_active
good 200
hosts_ping 10
hosts_down
