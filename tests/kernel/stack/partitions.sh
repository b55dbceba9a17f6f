# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034
# shellcheck shell=bash
# Two partitions on two switches: h0 and h1 are in the one, h1 and h2 in the other.
# Each reaches those of its partitions and nobody else, and the switches count what
# should not be there.
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2)
RED=0x8001
BLUE=0x8002
GREEN=0x8004

cat >/run/topology <<-END
	Switch 8 "S-1"	# "leaf1"
	[1] "h0"[1]
	[2] "h1"[1]
	[8] "S-2"[8]
	Switch 8 "S-2"	# "leaf2"
	[1] "h2"[1]
	Ca 1 "h0"
	Ca 1 "h1"
	Ca 1 "h2"
END

guid() {
	gid_tail "sib$1"
	echo "0x${TAIL//:/}"
}

# Of the default partition all but the subnet manager are limited members, which
# do not reach each other.
write_partitions() {
	cat >/run/partitions.conf <<-END
		Default=0x7fff,ipoib,mtu=$IB_MTU:ALL=limited,SELF=full;
		red=$RED,ipoib,mtu=$IB_MTU:$(guid 0)=full,$(guid 1)=full;
		blue=$BLUE,ipoib,mtu=$IB_MTU:$(guid 1)=full,$(guid 2)=full;
	END
}

# child HOST NAME P_KEY NETWORK
child() {
	at "$1" ip link add link "${DEV[$1]}" name "$2" type ipoib pkey "$3"
	at "$1" ip address add "10.$4.0.$(($1 + 1))/24" dev "$2"
	at "$1" ip -6 address add "fd00:$4::$(($1 + 1))/64" dev "$2" nodad
	at "$1" ip link set "$2" up
}

# reaches HOST NETWORK OTHER
reaches() {
	at "$1" ping -q -c 1 -W 1 "10.$2.0.$(($3 + 1))" && at "$1" ping -q -c 1 -W 1 "fd00:$2::$(($3 + 1))"
}

# isolated HOST NETWORK OTHER: neither by IPv4 nor by IPv6
isolated() {
	! at "$1" ping -q -c 1 -W 1 "10.$2.0.$(($3 + 1))" && ! at "$1" ping -q -c 1 -W 1 "fd00:$2::$(($3 + 1))"
}

# constraint PORT WAY: PortWAYConstraintErrors of a switch's port
constraint() {
	"${CTL[@]}" counters "$1" | awk -v name="Port$2ConstraintErrors" '$1 == name {print $2; found = 1}
		END {if (!found) print 0}'
}

# counted PORT WAY COUNT: so many more than BEFORE, which is set
counted() {
	(($(constraint "$1" "$2") - BEFORE == $3))
}

# wrong P_KEY PORT WAY: datagrams from h0 to h2 with it go no further than there
wrong() {
	local lid
	lid=$(($(cat /sys/class/infiniband/sib2/ports/1/lid)))
	BEFORE=$(constraint "$2" "$3")
	"$STACK/wrong_pkey.py" sib0 "$1" "$lid" 20 || fail "datagrams with $1"
	wait_for 10 counted "$2" "$3" 20
	"${CTL[@]}" counters "$2" | grep "Port$3ConstraintErrors\|dropped: pkey"
}

# stat_of HOST NAME: a counter of its interface
stat_of() {
	at "$1" ethtool -S "${DEV[$1]}" | awk -v name="$2:" '$1 == name {print $2}'
}

# more_than HOST NAME COUNT
more_than() {
	(($(stat_of "$1" "$2") > $3))
}

# costs HOST: path queries, restarts, and changes of the carrier so far. Joins are not among
# them, since hosts look for routers at any time, and join the group of those to do so.
costs() {
	echo "$(stat_of "$1" path_queries) $(stat_of "$1" flush_restart)" \
		"$(at "$1" ip -s -s link show dev "${DEV[$1]}" | awk '/ transns/ {getline; print $NF}')"
}

# has_pkey HOST P_KEY
has_pkey() {
	grep -qix "$2" /sys/class/infiniband/"sib$1"/ports/1/pkeys/*
}

step "partitions"
wires
fabric_up
hosts_up
write_partitions
opensm_on sib0
hosts_active
hosts_addresses
child 0 red "$RED" 1
child 1 red "$RED" 1
child 1 blue "$BLUE" 2
child 2 blue "$BLUE" 2
child 2 red "$RED" 1	# without being in it
child 0 blue "$BLUE" 2

step "each reaches those of its partitions"
wait_for 30 reaches 0 1 1
wait_for 30 reaches 1 1 0
wait_for 30 reaches 1 2 2
wait_for 30 reaches 2 2 1
wait_for 30 reaches 0 0 1

# stream: TCP from h1 to h0 for some seconds, in the background, its amounts in /run/stream
stream() {
	at 0 iperf3 -s -1 >/dev/null 2>&1 &
	wait_for 10 at 0 bash -c 'ss -Hltn | grep -q :5201'
	at 1 iperf3 -c 10.0.0.1 -t 30 -i 1 -b 10M --logfile /run/stream &
	STREAM=$!
}

# stands_still: in two seconds of the stream, one after the other, nothing was sent
stands_still() {
	awk '/sender|receiver/ {next} / 0.00 Bytes / {still += ++zeros == 2; next} {zeros = 0}
		END {exit !still}' /run/stream
}

# cables_lost: how often h0 and h1 have lost their cables
cables_lost() {
	echo $(($(</sys/class/infiniband/sib0/ports/1/counters/link_downed) +
		$(</sys/class/infiniband/sib1/ports/1/counters/link_downed)))
}

# partition_comes: to h0 and h1, which reach each other in another one. What it has cost is in
# COSTS; false if that is anything.
partition_comes() {
	local before heavy
	before=$(costs 1)
	[[ $before =~ ^[0-9]+\ [0-9]+\ [0-9]+$ ]] || fail "no costs: $before"
	stream
	heavy=$(stat_of 1 flush_heavy)
	echo "green=$GREEN,ipoib,mtu=$IB_MTU:$(guid 0)=full,$(guid 1)=full;" >>/run/partitions.conf
	kill -HUP "$SM"
	wait_for 30 has_pkey 1 "$GREEN"
	wait_for 10 more_than 1 flush_heavy "$heavy"
	is_alive $STREAM || fail "the stream has ended before the partition came"
	wait_for 30 reaches 1 0 0
	COSTS="before: $before; after: $(costs 1)"
	[[ $COSTS == "before: $before; after: $before" ]] || return 1
	wait $STREAM || fail "the stream: $(cat /run/stream)"
	COSTS="TCP stood still: $(cat /run/stream)"
	! stands_still
}

no_longer() {
	! has_pkey 1 "$GREEN"
}

step "a partition of others costs nothing, and holds up no TCP"
for ((try = 1; ; try++)); do
	lost=$(cables_lost)
	if partition_comes; then
		break
	fi
	if ((try == 3)) || [[ $(cables_lost) == "$lost" ]]; then
		fail "$COSTS"
	fi
	# As on a machine that is busy: the other end has been silent for too long.
	echo "again, for a cable was given up meanwhile: $COSTS"
	wait $STREAM || true
	sed -i '/^green=/d' /run/partitions.conf
	kill -HUP "$SM"
	wait_for 30 no_longer
	wait_for 60 reaches 1 0 0
done
grep 'sender\|receiver' /run/stream

step "and nobody else"
for way in "0 1 2" "2 1 0" "0 2 1" "1 2 0" "1 0 2"; do
	read -r from net to <<<"$way"
	isolated "$from" "$net" "$to" >/run/ping || fail "h$from reaches h$to in 10.$net.0.0/24"
done

step "switches drop and count what is of a wrong partition"
wrong "$RED" leaf2:1 Xmit	# h0's, and not h2's
wrong 0x8003 leaf1:1 Rcv	# nobody's; only h0 has been told of it
wait_for 10 reaches 0 1 1

step "the end"
hosts_down
