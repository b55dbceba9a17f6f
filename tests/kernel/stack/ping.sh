# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck disable=SC2086,SC2317  # "${N[@]}" is a command and its words
# shellcheck shell=bash
# IPv4 and IPv6 of every interesting length, fragments, both directions.
source "$STACK/lib.sh"
stack_up
for size in 0 1 56 1400 2016 2017 4060 4061 20000; do
	step "ping $size"
	ping -q -c 3 -i 0.02 -W 2 -s $size 10.0.0.2 >/run/ping || fail "ping $size: $(cat /run/ping)"
	"${N[@]}" ping -q -c 3 -i 0.02 -W 2 -s $size fd00::1 >/run/ping || fail "ping6 $size: $(cat /run/ping)"
done
step "flood"
ping -q -f -c 2000 -W 5 10.0.0.2 >/run/ping || fail "flood: $(cat /run/ping)"

# entry FILE GID: what debugfs says of it
entry() {
	awk -v gid="GID: $2" '$0 == gid { on = 1 } on && !NF { exit } on' "/sys/kernel/debug/ipoib/$1"
}

step "debugfs"
peer=$(sed 's/\b0*\([0-9a-f]\)/\1/g' /sys/class/infiniband/sib1/ports/1/gids/0)
lid=$(printf '0x%04x' "$(cat /sys/class/infiniband/sib1/ports/1/lid)")
entry ib0_path "$peer" | grep -q "DLID: *$lid\$" || fail "no path to $peer: $(cat /sys/kernel/debug/ipoib/ib0_path)"
entry ib0_path "$peer" | grep -q 'complete: *yes$' || fail "$(entry ib0_path "$peer")"
broadcast=ff12:401b:ffff:0:0:0:ffff:ffff
entry ib0_mcg $broadcast | grep -q 'complete: *yes$' || fail "not joined: $(cat /sys/kernel/debug/ipoib/ib0_mcg)"
entry ib0_mcg $broadcast | grep -q 'send_only: *no$' || fail "$(entry ib0_mcg $broadcast)"
for wanted in 'kind: *port$' 'address: *yes$' 'waiting: *0 packets, 0 bytes$'; do
	entry ib0_neighbours "$peer" | grep -q "$wanted" || fail "no $wanted: $(entry ib0_neighbours "$peer")"
done
idle=$(entry ib0_neighbours "$peer" | awk '/idle:/ { print $2 }')
((idle < 60000)) || fail "$peer idle for $idle ms"
entry ib0_neighbours $broadcast | grep -q 'kind: *group$' || fail "$(cat /sys/kernel/debug/ipoib/ib0_neighbours)"
(($(grep -c ^GID /sys/kernel/debug/ipoib/ib0_neighbours) == $(cat /sys/kernel/debug/ipoib/ib0_{mcg,path} | grep -c ^GID))) || fail "neighbours are not groups and paths"
ip link set ib0 down
[[ -z $(cat /sys/kernel/debug/ipoib/ib0_{mcg,path,neighbours,connections}) ]] || fail "entries of an interface that is down"
ip link set ib0 name other
[[ -e /sys/kernel/debug/ipoib/other_mcg && ! -e /sys/kernel/debug/ipoib/ib0_mcg ]] || fail "files do not follow the name"
stack_down
gone /sys/kernel/debug/ipoib || fail "the folder of debugfs survives the module"
