# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# Offloads of the HCA that ib_ipoib uses: checksums and, if the driver has it, the
# cutting of long TCP segments. The same transfers with each on and off, also over
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
head -c 1234567 /dev/urandom >/run/sent
has rx-checksumming || fail "the HCA verifies no checksums"
has tx-checksum-ipv4 || fail "the HCA makes no checksums"
transfers
offload rx off
transfers
offload rx on
offload tx off
transfers
offload tx on
if has tx-tcp-segmentation; then
	offload tso off
	transfers
	offload tso on
	before=$(cat /sys/class/net/ib0/statistics/tx_packets)
	transfer 10.0.0.2 4
	sent=$(($(cat /sys/class/net/ib0/statistics/tx_packets) - before))
	((sent < 300)) || fail "long segments were cut before they came to the driver: $sent packets"
fi
[[ $(bad_checksums) == 0 && $("${N[@]}" bash -c "$(declare -f bad_checksums); bad_checksums") == 0 ]] ||
	fail "bad checksums: $(nstat -as) $("${N[@]}" nstat -as)"
step "over a bad cable"
for end in va vb; do
	tc qdisc add dev $end root netem loss 1% duplicate 1% corrupt 1% delay 1ms 1ms
done
transfers
stack_down
