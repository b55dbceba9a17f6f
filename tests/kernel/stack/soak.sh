# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034
# shellcheck shell=bash
# Three hosts and emulated ones on four switches, each cabled to each, and random
# faults there for a day of fabric time: links, ports and switches fail, packets get
# lost, late and wrong. Again and again all is cleared: all hosts have to ping each
# other, and the counters to add up. HOURS: of fabric time (24). SEED: of the faults.
#
# clock: jump
# run: by name
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2)
HOURS=${HOURS:-24}
SEED=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}

cat >/run/topology <<-END
	Switch 8 "s1"
	[1] "h0"[1]
	[5] "s2"[5]
	[6] "s3"[5]
	[7] "s4"[5]
	Switch 8 "s2"
	[1] "h1"[1]
	[2] "idle2"[1]
	[6] "s3"[6]
	[7] "s4"[6]
	Switch 8 "s3"
	[1] "h2"[1]
	[2] "idle3"[1]
	[7] "s4"[7]
	Switch 8 "s4"
	[2] "idle4"[1]
	Ca 1 "h0"
	Ca 1 "h1"
	Ca 1 "h2"
	Ca 1 "idle2"
	Ca 1 "idle3"
	Ca 1 "idle4"
END

# What is always there: packets of one and of several fragments, both ways
traffic() {
	PINGERS=()
	ping -q -i 2 -s 1000 10.0.0.2 >/dev/null &
	PINGERS+=($!)
	ip netns exec n1 ping -q -i 3 -s 9000 10.0.0.3 >/dev/null &
	PINGERS+=($!)
	ip netns exec n2 ping -q -i 5 fd00::1 >/dev/null &
	PINGERS+=($!)
}

step "a fabric"
wires
fabric_up --seed "$SEED"
hosts_up
opensm_on sib0 -s 10
hosts_active
hosts_addresses
hosts_ping 60

step "$HOURS hours, seed $SEED"
traffic
"$STACK/soak.py" "$HOURS" "$SEED" "${CTL[@]}" || fail "seed $SEED"
kill -0 "$SM" || fail "OpenSM has gone: $(tail -n 5 /run/opensm.out)"
sminfo -C sib2 | grep SMINFO_MASTER || fail "there is no master"
ibnetdiscover -C sib0 >/run/found || fail "ibnetdiscover"
[[ $(grep -c '^Switch' /run/found) == 4 && $(grep -c '^Ca' /run/found) == 6 ]] ||
	fail "not 4 switches and 6 hosts: $(cat /run/found)"

step "the end"
kill "${PINGERS[@]}"
wait "${PINGERS[@]}" || true
hosts_down
