# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# User-space verbs over reliable and unreliable connections: the pingpongs of
# rdma-core, perftest, and RDMA CM with validated data; some of it again over a
# cable that loses, duplicates, reorders and corrupts frames. There is one CPU, so
# what can wait for events does, and what polls does little.
source "$STACK/lib.sh"

stack_up
grep -q 'max_vl_num:.*8 (4)' <(ibv_devinfo -v -d sib0) || fail "$(ibv_devinfo -v -d sib0)"
pingpong ibv_rc_pingpong -e -n 300 -c
pingpong ibv_rc_pingpong -e -n 50 -s 65536 -m 4096
pingpong ibv_uc_pingpong -e -n 300 -c
pingpong ibv_srq_pingpong -e -n 300 -q 4
pingpong ibv_ud_pingpong -e -n 300
perf ib_send_bw -e -s 65536 -n 100
perf ib_write_bw -s 65536 -n 50
perf ib_read_bw -s 65536 -n 50
perf ib_atomic_bw -A CMP_AND_SWAP -n 50
pair 7174 rping -s -a 10.0.0.1 -C 30 -V -S 4000 -- \
	"${N[@]}" rping -c -a 10.0.0.1 -C 30 -V -S 4000
# It sends inline data that it has asked no room for.
pair 7471 rdma_xserver -c r -- "${N[@]}" rdma_xclient -s 10.0.0.1 -c r
for hca in sib0 sib1; do
	for name in rc_rx_refused rc_tx_nak rc_rx_gap rx_malformed rx_opcode; do
		[[ $(counter $hca $name) == 0 ]] || fail "$hca: $name is $(counter $hca $name)"
	done
	(($(counter $hca rc_tx_ack) > 0)) || fail "$hca has acknowledged nothing"
done
rdma resource show qp >/run/qps
! grep -v 'comm \[\|type SMI\|type GSI' /run/qps || fail "left behind: $(</run/qps)"

for end in va vb; do
	tc qdisc add dev $end root netem loss 1% duplicate 1% corrupt 1% delay 1ms 1ms
done
pingpong ibv_rc_pingpong -e -n 100 -s 8192 -c
pair 7174 rping -s -a 10.0.0.1 -C 10 -V -S 30000 -- \
	"${N[@]}" rping -c -a 10.0.0.1 -C 10 -V -S 30000
(($(counter sib0 link_retransmit) + $(counter sib1 link_retransmit) > 0)) ||
	fail "the cable has lost nothing"
stack_down
