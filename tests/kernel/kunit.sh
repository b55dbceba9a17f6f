# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Load KUnit modules one after another; the results are in the kernel's log. Also for busybox's
# sh, to which [[ is a command like others: what may be empty has to be quoted.
# usage: kunit.sh KUNIT_KO MODULE_KO...
set -u
debug=/sys/kernel/debug
# current->fail_nth is to hit every allocation, not only the atomic ones, and
# each injected failure need not be told.
for knob in failslab/ignore-gfp-wait fail_page_alloc/ignore-gfp-wait; do
	[[ ! -w $debug/$knob ]] || echo N >$debug/$knob
done
[[ ! -w $debug/failslab/verbose ]] || echo 0 >$debug/failslab/verbose
insmod "$1" || exit 1
shift
for module; do
	name=$(basename "$module" .ko)
	echo "openipoib-kunit: begin $name" >/dev/kmsg
	if insmod "$module"; then
		rmmod "$name" || echo "openipoib-kunit: cannot unload $name" >/dev/kmsg
	else
		echo "openipoib-kunit: cannot load $name" >/dev/kmsg
	fi
	echo "openipoib-kunit: end $name" >/dev/kmsg
done
if [[ -n "${GCOV_OUT:-}" ]]; then
	cd $debug/gcov || exit 1
	find . -name '*.gcda' | while read -r path; do
		cat "$path" >"/run/out/$(basename "$path")"
	done
fi
