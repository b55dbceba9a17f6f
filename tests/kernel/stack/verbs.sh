# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# User-space verbs over reliable and unreliable connections: the pingpongs of
# rdma-core, perftest, and RDMA CM with validated data; some of it again over a
# cable that loses, duplicates, reorders and corrupts frames. There is one CPU, so
# what can wait for events does, and what polls does little.
source "$STACK/lib.sh"

listening() {
	case $1 in
	7174) rdma resource show cm_id | grep -q "LISTEN.*:$1 " ;;
	*) ss -Hltn "sport = $1" | grep -q . ;;
	esac
}

# pair PORT SERVER... -- CLIENT...: both have to succeed
pair() {
	local port=$1 server=()
	shift
	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	step "$*"
	timeout 60 "${server[@]}" >/run/server 2>&1 &
	local pid=$!
	wait_for 20 listening "$port"
	timeout 60 "$@" >/run/client 2>&1 || fail "client: $(tail -n 5 /run/client /run/server)"
	wait $pid || fail "server: $(tail -n 5 /run/server)"
	! grep -i 'fail\|mismatch' /run/client /run/server || fail "$*"
}

pingpong() {
	pair 18515 "$@" -d sib0 -i 1 -- "$@" -d sib1 -i 1 127.0.0.1
}

perf() {
	pair 18515 "$@" -d sib0 -F -- "$@" -d sib1 -F 127.0.0.1
}

# counter HCA NAME
counter() {
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

stack_up
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
for hca in sib0 sib1; do
	for name in rc_rx_refused rc_tx_nak rc_rx_gap rx_malformed rx_opcode; do
		[[ $(counter $hca $name) == 0 ]] || fail "$hca: $name is $(counter $hca $name)"
	done
	(($(counter $hca rc_tx_ack) > 0)) || fail "$hca has acknowledged nothing"
done
! rdma resource show qp | grep -qv 'comm \[\|type SMI\|type GSI' ||
	fail "left behind: $(rdma resource show qp)"

for end in va vb; do
	tc qdisc add dev $end root netem loss 1% duplicate 1% corrupt 1% delay 1ms 1ms
done
pingpong ibv_rc_pingpong -e -n 100 -s 8192 -c
pair 7174 rping -s -a 10.0.0.1 -C 10 -V -S 30000 -- \
	"${N[@]}" rping -c -a 10.0.0.1 -C 10 -V -S 30000
(($(counter sib0 link_retransmit) + $(counter sib1 link_retransmit) > 0)) ||
	fail "the cable has lost nothing"
stack_down
