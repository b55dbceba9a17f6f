# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Offloads of the HCA that ib_ipoib uses: checksums and the cutting of long TCP segments. The same transfers with each on and off, also over
# a cable that alters frames, and nothing is counted as bad.
source "$STACK/lib.sh"

# offload WHAT on|off
offload() {
	step "$1 $2"
	ethtool -K ib0 "$1" "$2" >/run/ethtool
	"${N[@]}" ethtool -K ib1 "$1" "$2" >/run/ethtool
}

has() {
	ethtool -k ib0 | grep -Eq "^[[:space:]]*$1: (on|off)$"
}

cut_by_hca() {
	ethtool -S ib0 | sed -n 's/^ *tx_lso: //p'
}

# mode NAME: of both ends
mode() {
	echo "$1" >/sys/class/net/ib0/mode
	"${N[@]}" bash -c "echo $1 >/sys/class/net/ib1/mode"
}

# bad_checksums: since the namespace is there, which for ib0's is longer than the scenario
bad_checksums() {
	nstat -asz TcpInCsumErrors UdpInCsumErrors IpInHdrErrors | awk '/Err/ { n += $2 } END { print n }'
}

# transfer FROM TO ADDRESS: data of a length that is no multiple of anything
transfer() {
	"${N[@]}" socat -u "TCP$2-LISTEN:7,reuseaddr" CREATE:/run/got &
	local receiver=$!
	wait_for 10 "${N[@]}" bash -c 'ss -Hltn | grep -q :7'
	timeout 60 socat -u OPEN:/run/sent "TCP$2:$1:7" || fail "send to $1"
	wait $receiver
	cmp /run/sent /run/got || fail "data differ"
	rm /run/got
}

transfers() {
	transfer 10.0.0.2 4
	transfer '[fd00::2]' 6
	ping -q -c 3 -i 0.1 -W 10 -s 9000 10.0.0.2 >/run/ping || fail "$(cat /run/ping)"
}

stack_up
bad_before=$(bad_checksums)
head -c 1234567 /dev/urandom >/run/sent
has rx-checksumming || fail "the HCA verifies no checksums"
has tx-checksum-ipv4 || fail "the HCA makes no checksums"
has tx-tcp-segmentation || fail "the HCA cuts no segments"
transfers
offload rx off
transfers
offload rx on
offload tx off
transfers
offload tx on
(($(cut_by_hca) > 20)) || fail "only $(cut_by_hca) segments were left to the HCA"
offload tso off
before=$(cut_by_hca)
transfers
(($(cut_by_hca) == before)) || fail "$(($(cut_by_hca) - before)) segments were left to the HCA"
offload tso on
step "modes"
mode connected
before=$(cut_by_hca)
transfers
(($(cut_by_hca) > before)) || fail "no segment that fits into datagrams was left to the HCA"
ip link set ib0 mtu 65520
"${N[@]}" ip link set ib1 mtu 65520
before=$(cut_by_hca)
transfers
(($(cut_by_hca) == before)) || fail "$(($(cut_by_hca) - before)) segments were left to the HCA"
mode datagram
transfers
(($(cut_by_hca) > before)) || fail "no segment was left to the HCA"
[[ $(bad_checksums) == "$bad_before" && $("${N[@]}" bash -c "$(declare -f bad_checksums); bad_checksums") == 0 ]] ||
	fail "bad checksums: $(nstat -as) $("${N[@]}" nstat -as)"
step "over a bad cable"
for end in va vb; do
	tc qdisc add dev $end root netem loss 1% duplicate 1% corrupt 1% delay 1ms 1ms
done
transfers
stack_down
