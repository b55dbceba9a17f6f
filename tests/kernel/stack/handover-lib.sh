# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154
# shellcheck shell=bash
# What scenarios share that have two subnet managers, on h0 and h1, on a fabric of two
# switches with two links between them; h2 is at the other switch.
source "$STACK/fabric-lib.sh"

HOSTS=(0 1 2)
SMS=()

cat >/run/topology <<-END
	Switch 8 "S-1"	# "leaf1"
	[1] "h0"[1]
	[2] "h1"[1]
	[7] "S-2"[7]
	[8] "S-2"[8]
	Switch 8 "S-2"	# "leaf2"
	[1] "h2"[1]
	Ca 1 "h0"
	Ca 1 "h1"
	Ca 1 "h2"
END
# A master that is silent for three seconds is gone.
cat >/run/opensm.conf <<-END
	sminfo_polling_timeout 1000
	polling_retry_number 3
END

# sm_on HOST PRIORITY: OpenSM with files of its own
sm_on() {
	mkdir -p "/run/sm$1"
	OSM_CACHE_DIR=/run/sm$1 OSM_TMP_DIR=/run/sm$1 opensm_on "sib$1" -F /run/opensm.conf \
		-p "$2" -f "/run/sm$1/log"
	SMS[$1]=$SM
}

# sm_killed HOST: it has no time to tell anybody
sm_killed() {
	kill -9 "${SMS[$1]}"
	wait "${SMS[$1]}" 2>/dev/null || true
}

lid_of() {
	echo $(($(cat "/sys/class/infiniband/sib$1/ports/1/lid")))
}

# sm_is HOST STATE: what a subnet manager says of itself, asked by a host that has none
sm_is() {
	sminfo -C sib2 "$(lid_of "$1")" | grep "SMINFO_$2"
}

# is_master HOST: its subnet manager says so, and so do all ports
is_master() {
	local i
	sm_is "$1" MASTER >/dev/null || return
	for i in "${HOSTS[@]}"; do
		(($(cat "/sys/class/infiniband/sib$i/ports/1/sm_lid") == $(lid_of "$1"))) || return
	done
}
