# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2016,SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# The mode of either side is switched, a thousand times, while sixteen TCP connections
# ask and answer in both directions; in between, the MTU is changed. No connection may
# be lost, and no octet be wrong. SWITCHES: how often. SEED: of sides and MTUs.
#
# clock: jump
# run: by name
source "$STACK/lib.sh"
source "$STACK/crowd-lib.sh"

SWITCHES=${SWITCHES:-1000}
SEED=${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
CONNECTIONS=8	# each way
OCTETS=20000	# of a question, and of its answer
MTUS=(2044 4092 9000 20000 65520)
MODE=([1]=datagram [2]=datagram)

# at SIDE COMMAND...: the command, there
at() {
	if [[ $1 == 1 ]]; then
		"${@:2}"
	else
		nsenter --net=/run/netns/n1 "${@:2}"
	fi
}

# write SIDE mode|mtu VALUE
write() {
	local said
	if [[ $1 == 1 ]]; then
		echo "$3" >"/sys/class/net/ib0/$2" || fail "no $2 $3 here"
	else
		echo "$2 $3" >&"${WRITER[1]}"
		read -r said <&"${WRITER[0]}"
		[[ $said == 0 ]] || fail "no $2 $3 at the other side"
	fi
}

# switch SIDE: to the other mode
switch() {
	local to=connected
	[[ ${MODE[$1]} == datagram ]] || to=datagram
	write "$1" mode $to
	MODE[$1]=$to
}

# another_mtu SIDE: one that its mode allows
another_mtu() {
	local few=${#MTUS[@]}
	[[ ${MODE[$1]} == connected ]] || few=2
	write "$1" mtu "${MTUS[RANDOM % few]}"
}

# stat SIDE NAME: a counter
stat() {
	at "$1" ethtool -S "ib$(($1 - 1))" | sed -n "s/^ *$2: //p"
}

questions() {
	echo >&"${ASK[1]}"
	echo >&"${ASK[2]}"
}

answers() {
	local side
	for side in 1 2; do
		read -r -t 200 "COUNT[side]" <&"${ANSWER[side]}" ||
			fail "switch $done, seed $SEED: $(cat /run/asker1 /run/asker2)"
	done
}

# several: switches, as many as chance says, while questions are on their way
several() {
	local few=$((RANDOM % 4 + 1))
	while ((few-- && done < SWITCHES)); do
		switch $((RANDOM % 2 + 1))
		done=$((done + 1))
		((done % 100)) || echo "$done switches, $((COUNT[1] + COUNT[2])) answers"
	done
}

stack_up
# One process for all that is written there
coproc WRITER {
	ip netns exec n1 bash -c 'while read -r what value; do
		echo "$value" >"/sys/class/net/ib1/$what"
		echo $?
	done'
}
writer=$WRITER_PID
step "$((2 * CONNECTIONS)) connections"
COUNT=([1]=0 [2]=0)
done=0
changes=0
crowd 1 2 10.0.0.2 "$CONNECTIONS" "$OCTETS"
crowd 2 1 10.0.0.1 "$CONNECTIONS" "$OCTETS"
talk 1
talk 2
questions
answers

step "$SWITCHES switches, seed $SEED"
RANDOM=$SEED
while ((done < SWITCHES)); do
	questions
	several
	if ((RANDOM % 4 == 0)); then
		another_mtu $((RANDOM % 2 + 1))
		changes=$((changes + 1))
	fi
	answers
done
for side in 1 2; do
	ask=${ASK[side]}
	exec {ask}>&-
done
wait "${ASKERS[@]}" || fail "a connection was lost: $(cat /run/asker1 /run/asker2)"
echo "$done switches, $changes changes of MTU: 0 of $((2 * CONNECTIONS)) TCP connections lost," \
	"$((COUNT[1] + COUNT[2])) answers of $OCTETS octets; IPoIB connections made:" \
	"$(stat 1 cm_connects) and $(stat 2 cm_connects)"
ask=${WRITER[1]}
exec {ask}>&-
wait "$writer"
kill "${SERVERS[@]}"
stack_down
