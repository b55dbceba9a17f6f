# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034
# shellcheck shell=bash
# Multicast groups over three switches in a ring, of which OpenSM makes a tree: each
# datagram comes once to each member, and to nobody else; also after each of the three
# links has failed.
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2 3)
MEMBERS=(0 1 2)
LEAVES=(leaf1 leaf2 leaf3)
TO=([0]=239.1.2.3 [3]=239.1.2.4)	# where a host sends to
EARS=()
first=0
PHASES=()	# of numbers that are to come once, first and last

cat >/run/topology <<-END
	Switch 8 "S-1"	# "leaf1"
	[1] "h0"[1]
	[7] "S-2"[8]
	[8] "S-3"[7]
	Switch 8 "S-2"	# "leaf2"
	[1] "h1"[1]
	[2] "h3"[1]
	[7] "S-3"[8]
	Switch 8 "S-3"	# "leaf3"
	[1] "h2"[1]
	Ca 1 "h0"
	Ca 1 "h1"
	Ca 1 "h2"
	Ca 1 "h3"
END

# The number of multicast packets that leaf2 has sent to h3, which is no member. Its own HCA and
# its IP drop what it should not get, so nothing shows there.
to_stranger() {
	"${CTL[@]}" counters leaf2:2 | awk '$1 == "PortMulticastXmitPkts" {print $2}'
}

# ears: each member hears both groups
ears() {
	local i enter
	for i in "${MEMBERS[@]}"; do
		enter=()
		((i == 0)) || enter=(ip netns exec "n$i")
		"${enter[@]}" "$STACK/datagrams.py" hear 4000 "/run/heard$i" "10.0.0.$((i + 1))" \
			"${TO[@]}" &
		EARS+=($!)
	done
}

# from HOST COUNT: it sends, with numbers that have not been there
from() {
	at "$1" "$STACK/datagrams.py" send 4000 "${TO[$1]}" "10.0.0.$(($1 + 1))" "$first" "$2" ||
		fail "h$1 cannot send"
	first=$((first + $2))
}

# flows HOST: what it sends now comes to all members
flows() {
	local i last
	from "$1" 1
	last=$((first - 1))
	sleep 0.1
	for i in "${MEMBERS[@]}"; do
		grep -qx "$last" "/run/heard$i" || return
	done
}

# has HOST FIRST COUNT: it got these
has() {
	[[ $(awk -v first="$2" '$1 >= first' "/run/heard$1" | wc -l) -ge $3 ]]
}

# settled: the fabric has sent no multicast packet since it was asked before
settled() {
	local leaf before=$COUNTED
	COUNTED=$(for leaf in "${LEAVES[@]}"; do
		"${CTL[@]}" counters "$leaf" | grep PortMulticastXmitPkts
	done)
	[[ -n $before && $COUNTED == "$before" ]]
}

# came_once FIRST LAST: these, to each member
came_once() {
	local i
	for i in "${MEMBERS[@]}"; do
		awk -v first="$1" -v last="$2" '$1 >= first && $1 <= last' "/run/heard$i" |
			sort -n >/run/got
		seq "$1" "$2" | cmp - /run/got ||
			fail "h$i: $(wc -l </run/got) of $1 to $2, twice: $(uniq -d /run/got | wc -l)"
	done
}

# once HOST: 200 datagrams of that host come once to each member
once() {
	local begin=$first i
	from "$1" 200
	for i in "${MEMBERS[@]}"; do
		wait_for 10 has "$i" "$begin" 200
	done
	COUNTED=
	wait_for 20 settled
	came_once "$begin" $((first - 1))
	PHASES+=("$begin $((first - 1))")
	echo "200 datagrams of h$1: each once at h0, h1 and h2"
}

# spared COMMAND...: meanwhile leaf2 sends h3 nothing but what all hosts get, as ARP
spared() {
	local before after
	before=$(to_stranger)
	"$@"
	after=$(to_stranger)
	((after - before < 20)) || fail "leaf2 has sent $((after - before)) multicasts to h3"
}

step "a ring"
wires
fabric_up
hosts_up
opensm_on sib0
hosts_active
hosts_addresses

step "once to each member, from a member and from a stranger"
ears
for host in 0 3; do
	wait_for 30 flows "$host"
	spared once "$host"
done

step "links of the tree fail"
for link in leaf1:7 leaf2:7 leaf3:7; do
	"${CTL[@]}" fault link "$link" down
	start=$(now_ms)
	wait_for 30 flows 0
	echo "multicast flows $(($(now_ms) - start)) ms after $link failed"
	wait_for 30 flows 3
	spared once 0
	spared once 3
	"${CTL[@]}" fault clear
	wait_for 30 port_of "${link%:*}" "${link#*:}" active
	wait_for 30 flows 0
done

step "what has come late"
for phase in "${PHASES[@]}"; do
	read -r begin end <<<"$phase"
	came_once "$begin" "$end"
done

step "the end"
kill "${EARS[@]}"
wait "${EARS[@]}" || true
hosts_down
