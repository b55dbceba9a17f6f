# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# What scenarios about HCAs that accelerate IPoIB share: lib.sh, with such a HCA at one end and
# one that does not at the other.
source "$STACK/lib.sh"

PARAMETERS=/sys/module/sib/parameters

# The first HCA has a netdev of its own, the second has none.
hcas() {
	echo "$HCA" >$PARAMETERS/profile
	echo Y >$PARAMETERS/ipoib_netdev
	rdma link add sib0 type sib netdev va
	echo N >$PARAMETERS/ipoib_netdev
	echo "${HCA%-enhanced}" >$PARAMETERS/profile
	[[ -e /sys/class/infiniband/sib1 ]] || rdma link add sib1 type sib netdev vb
	wait_for 20 port_is sib0 INIT
	wait_for 20 port_is sib1 INIT
}

# accelerated [COMMAND...] INTERFACE: no queues but the HCA's, as many as that has, and no
# connected mode
accelerated() {
	local queues
	queues=$("${@:1:$# - 1}" ethtool -l "${!#}" | awk '/^[RT]X:/ { print $2 }' | sort -u)
	[[ $queues == "$QUEUES" && $("${@:1:$# - 1}" ip link show "${!#}") == *link/infiniband\ 00:* ]]
}

# own_queues [COMMAND...] INTERFACE: not accelerated: queue pairs of the driver, connected mode
own_queues() {
	[[ $("${@:1:$# - 1}" ip link show "${!#}") == *link/infiniband\ 80:* ]]
}

# logged COUNT TEXT: so often since the machine was started
logged() {
	(($(dmesg | grep -cF "$2") == $1))
}

pings() {
	ping -q -c 20 -i 0.05 -W 5 -s "$2" "$1" >/run/ping || fail "$(cat /run/ping)"
}

QUEUES=1
[[ $HCA != mlx5-enhanced ]] || QUEUES=8
