# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# Packages whose names differ between releases.
#
# An entry of a list is alternatives, PACKAGE,...|PACKAGE,...: the first is taken of which
# each package is installed, or apt has it. With "|" at its end, none is taken if none can
# be had: who uses it gets it in another way.

declare -A had=() # packages that are installed, or that apt has

# split ENTRY: its packages, those of all alternatives, into the array $packages
split() {
	IFS=, read -ra packages <<< "${1//|/,}"
}

# can_have ALTERNATIVE
can_have() {
	local name packages
	split "$1"
	for name in "${packages[@]}"; do
		[[ -n ${had[$name]:-} ]] || return
	done
}

# look_up ENTRY...: fill in $had. apt is asked if one of an entry's first is not installed.
look_up() {
	local entry name packages asked=()
	had=()
	while read -r name; do
		had[$name]=installed
	done < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^.i  *//p')
	for entry in "$@"; do
		if ! can_have "${entry%%|*}"; then
			split "$entry"
			asked+=("${packages[@]}")
		fi
	done
	[[ ${#asked[@]} -gt 0 ]] || return 0
	while read -r name; do
		had[$name]=apt
	done < <(LC_ALL=C apt-cache policy "${asked[@]}" 2> /dev/null |
		sed -n '/^[^ ]/{s/:$//;h}; /^  Candidate: [^(]/{x;p}')
}

# choose ENTRY...: the packages of the alternatives to take, one per line; where none can be
# had and one must be, those of the first
choose() {
	local entry alternative alternatives packages
	for entry in "$@"; do
		IFS='|' read -ra alternatives <<< "$entry"
		packages=()
		for alternative in "${alternatives[@]}"; do
			if can_have "$alternative"; then
				split "$alternative"
				break
			fi
		done
		if [[ ${#packages[@]} -eq 0 && $entry != *'|' ]]; then
			split "${alternatives[0]}"
		fi
		[[ ${#packages[@]} -eq 0 ]] || printf '%s\n' "${packages[@]}"
	done
}

# unavailable ENTRY...: those of which nothing can be had, one per line, as a reader has it
unavailable() {
	local entry alternative alternatives
	for entry in "$@"; do
		IFS='|' read -ra alternatives <<< "$entry"
		[[ $entry != *'|' ]] || continue
		for alternative in "${alternatives[@]}"; do
			! can_have "$alternative" || continue 2
		done
		entry=${entry//,/ and }
		echo "${entry//|/, or }"
	done
}
