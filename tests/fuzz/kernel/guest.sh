# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# One fuzz target in one kernel, as the first thing that runs there (scripts/uml-run):
# what it needs is set up, and taken down again if it has found nothing, so that what is
# left is a leak.
#   TARGET   verbs, wire, mad or link; PROGRAM it
#   SIB_KO   the module, built for coverage; LENDER_KO that which sends frames without a copy
#   OPTIONS  of libFuzzer, by words; TO_THE_END empty: nothing is taken down
set -u
cd /run/out || exit 1

# The clocks of the link are long, lest a kernel that is slow loses its cable.
insmod "$SIB_KO" hello_timeout=20000 || exit 1
ip -batch - <<-END || exit 1
	link add va mtu 9000 type veth peer name vb mtu 9000
	link set va up
	link set vb up
END
case $TARGET in
verbs)
	rdma link add sib0 type sib netdev va && rdma link add sib1 type sib netdev vb || exit 1
	;;
wire | mad)
	insmod "$LENDER_KO" || exit 1
	rdma link add sib0 type sib netdev va || exit 1
	;;
esac

read -ra words <<<"$OPTIONS"
touch /run/out/begun
"$PROGRAM" "${words[@]}" >/run/out/said 2>&1
status=$?
touch /run/out/ended
((status == 0)) || exit $status
[[ -n $TO_THE_END ]] || exit 0

for hca in /sys/class/infiniband/*; do
	[[ -e $hca ]] && rdma link delete "${hca##*/}"
done
ip link delete va 2>/dev/null
[[ ! -e /dev/lender ]] || rmmod lender || exit 78
rmmod sib || exit 78
exit 0
