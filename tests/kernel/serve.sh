# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Runs one scenario after another in one kernel, for scripts/kernellib/guest.py.
#
# The machine leaves each in /run/out/NUMBER/job, shell assignments: NAME, SCRIPT, and
# exported variables. An empty NAME ends the kernel. Beside it the scenario's results
# appear: output, kmemleak, leftovers (what of the kernel's state is not as it was, as a
# diff) and at last status. `begun` and `ended` are there when its script has begun and ended.
# If it does not end, the machine makes `ask`, and `processes` says what there is to see.
#
# A scenario has /run and /var to itself, empty, in a mount namespace of its own; /tmp and
# /dev/shm it shares with the others.
source "$UML/lib.sh"

# processes: of user space, a line each
processes() {
	local path line
	for path in /proc/[0-9]*/stat; do
		{ read -r line <"$path"; } 2>/dev/null || continue
		# pid (comm) state ppid
		[[ $line =~ ^([0-9]+)\ \((.*)\)\ .\ ([0-9]+)\  ]] || continue
		((BASH_REMATCH[1] == 2 || BASH_REMATCH[3] == 2)) || echo "process ${BASH_REMATCH[2]}"
	done
}

# state: what a scenario must leave as it found it. Few processes make it.
state() {
	local path line
	processes
	while read -r line _; do
		echo "module $line"
	done </proc/modules
	for path in /proc/sys/net/{core,ipv4/{conf,neigh}/{all,default},ipv6/{conf,neigh}/{all,default}}/* \
		/proc/sys/net/ipv4/ip_forward; do
		{ read -r line <"$path"; } 2>/dev/null && echo "$path $line"
	done
	ip -o -batch - <<-END
		link show
		address show
		route show table all
		rule show
	END
	ip -o -6 route show table all
	rdma resource show
}

# leftovers SECONDS: how the state differs from $before, once it no longer does or then
leftovers() {
	local end=$((SECONDS + $1))
	while
		state >/run/scratch/now
		! diff "$before" /run/scratch/now && ((SECONDS < end))
	do
		sleep 0.2
	done >/dev/null
	diff "$before" /run/scratch/now
}

# tell FILE: what each process is and waits in, for a script that does not end
tell() {
	local path line
	for path in /proc/[0-9]*; do
		{ line=$(tr '\0' ' ' <"$path/cmdline"); } 2>/dev/null || continue
		[[ -n $line ]] && echo "$(cut -d' ' -f1,3-8,14,15,22 "$path/stat"): $line"
	done
	rdma link
	ip -s link
	ss -tanpe
	date +%T.%N
} >"$1" 2>&1

# tell_if_asked FOLDER: tell once the machine asks there, and have the script say where it is
tell_if_asked() {
	until [[ -e $1/ask ]]; do
		read -rt 2 -u "$NEVER"
	done
	tell "$1/processes.new"
	mv "$1/processes.new" "$1/processes"
	pkill -USR1 -of "^bash $SCRIPT"
}

# The script with folders of its own; what it mounts goes with it.
own_folders() (
	set -e
	mount --bind /run/out /mnt
	mount -t tmpfs tmpfs /run
	mkdir -p /run/{out,netns,scratch}
	mount --move /mnt /run/out
	empty_var
	exec setsid bash "$SCRIPT"
)
export -f own_folders empty_var

mkfifo /run/scratch/never       # no process that could be among those of before
exec {NEVER}<>/run/scratch/never
before=/run/scratch/before
state >"$before"
for ((number = 1; ; number++)); do
	here=/run/out/$number
	until [[ -e $here/job ]]; do
		# Nobody is there any more who could ask for something.
		[[ -e /run/out/job ]] || exit 1
		sleep 0.1
	done
	source "$here/job"
	[[ -n $NAME ]] || exit 0
	export SCRIPT
	echo "openipoib-test: scenario $NAME begins" >/dev/kmsg
	touch "$here/begun"
	tell_if_asked "$here" &
	unshare --mount --propagation private bash -c own_folders </dev/null >"$here/output" 2>&1
	status=$?
	touch "$here/ended"
	{ kill $! && wait $!; } 2>/dev/null
	leftovers 10 >"$here/leftovers"
	if [[ -w /sys/kernel/debug/kmemleak ]]; then
		find_leaks "$here/kmemleak"
	else
		: >"$here/kmemleak"
	fi
	echo "openipoib-test: scenario $NAME ended with status $status" >/dev/kmsg
	dmesg --clear
	echo "$status" >"$here/status.new"
	mv "$here/status.new" "$here/status"
done
