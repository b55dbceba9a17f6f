# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2034,SC2154
# shellcheck shell=bash
# Crowds of TCP connections that ask and answer (crowd.py), one crowd for each of two
# sides. The scenario has at SIDE COMMAND..., which runs a command there.

ASK=() ANSWER=() ASKERS=() SERVERS=()

# crowd SIDE OTHER ADDRESS WORDS...: connections of a side to this address of the other
# one; the words go to crowd.py
crowd() {
	local side=$1 other=$2 address=$3
	# $! would be the shell that runs the function.
	# shellcheck disable=SC2016  # the other shell expands it
	at "$other" bash -c 'echo $$ >"$0"; exec "$@"' "/run/server$side" "$STACK/crowd.py" serve 0.0.0.0 7000 &
	wait_for 20 at "$other" bash -c 'ss -Hltn | grep -q :7000'
	SERVERS+=("$(<"/run/server$side")")
	mkfifo "/run/questions$side" "/run/answers$side"
	at "$side" "$STACK/crowd.py" ask "$address" 7000 "${@:4}" <"/run/questions$side" \
		>"/run/answers$side" 2>"/run/asker$side" &
	ASKERS+=($!)
}

# talk SIDE: to its crowd. Who is started later keeps its questions open.
talk() {
	local ask answer
	exec {ask}>"/run/questions$1" {answer}<"/run/answers$1"
	ASK[$1]=$ask
	ANSWER[$1]=$answer
}
