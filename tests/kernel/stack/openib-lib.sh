# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# openib with a file of its own, and modprobe as it is where openib is installed. OPENIB names
# the program.
source "$STACK/lib.sh"

conf=/run/openib.conf
said=/run/openib.said

# openib STATUS ARGUMENTS...: run it; it has to end with that status
openib() {
	local expected=$1 status=0
	shift
	echo "# openib $*"
	"$OPENIB" -c "$conf" "$@" >"$said" 2>&1 || status=$?
	cat "$said"
	((status == expected)) || fail "openib $*: status $status, not $expected"
}

says() {
	grep -qF -- "$1" "$said" || fail "openib did not say: $1"
}

configure() {
	printf '%s\n' "$@" >"$conf"
}

modules_in_place() {
	local folder
	folder=/lib/modules/$(uname -r)
	mount -t tmpfs tmpfs /lib/modules
	mkdir -p "$folder/updates" /run/modprobe.d
	cp "$IPOIB_KO" "$folder/updates"
	: >"$folder/modules.order"
	: >"$folder/modules.builtin"
	depmod
	# What guards ib_ipoib in an installed system, with this program.
	sed "s|@SBINDIR@/openib|$OPENIB -c $conf|g" \
		"$STACK/../../../scripts/service/modprobe.conf.in" >/run/modprobe.d/openib.conf
}
