# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash disable=SC2154
# Hosts on which bootstrap installs nothing: it says what is missing, and who installs it.

os_release=/etc/os-release
names_of=$(dirname "${BASH_SOURCE[0]}")/names

# host: debian, ubuntu, fedora, opensuse, or unknown
host() {
	local like
	like=" $(sed -n 's/^ID\(_LIKE\)\{0,1\}="\{0,1\}\([^"]*\)"\{0,1\}$/\2/p' "$os_release" 2> /dev/null |
		tr '\n' ' ')"
	case $like in
	*" ubuntu "*) echo ubuntu ;;
	*" fedora "* | *" rhel "* | *" centos "*) echo fedora ;;
	*" suse "* | *" opensuse"*) echo opensuse ;;
	*) if command -v apt-get > /dev/null && command -v dpkg-query > /dev/null; then
		echo debian
	else
		echo unknown
	fi ;;
	esac
}

# translate COLUMN ENTRY...: the packages of that distribution, one per line, of each
# entry's first alternative; those without a name there as "?PACKAGE"
translate() {
	local column=$1
	shift
	printf '%s\n' "${@%%|*}" | tr ',' '\n' | awk -v column="$column" '
		NR == FNR { if ($0 !~ /^#/) name[$1] = $column; next }
		!($1 in name) { print "?" $1; next }
		name[$1] != "-" { gsub(",", "\n", name[$1]); print name[$1] }' "$names_of" - | sort -u
}

# names_on HOST ENTRY...: what the packages are called there, one per line
names_on() {
	local host=$1
	shift
	case $host in
	ubuntu) look_up "$@" && choose "$@" ;;
	fedora) translate 2 "$@" ;;
	opensuse) translate 3 "$@" ;;
	*) printf '%s\n' "${@%%|*}" | tr ',' '\n' ;;
	esac | sort -u
}

# missing_on HOST PACKAGE...: those that are not installed, one per line
missing_on() {
	local host=$1 name
	shift
	case $host in
	ubuntu) missing "$@" ;;
	fedora | opensuse)
		for name in "$@"; do
			rpm -q --whatprovides "$name" > /dev/null 2>&1 || echo "$name"
		done
		;;
	*) printf '%s\n' "$@" ;;
	esac
}

# say_missing HOST PACKAGE...: that these are, and how they are installed
say_missing() {
	local host=$1 command=
	shift
	case $host in
	ubuntu) command="apt-get install --no-install-recommends" ;;
	fedora) command="dnf install" ;;
	opensuse) command="zypper install" ;;
	*) echo "bootstrap: there is no apt-get here, nor is this Fedora or openSUSE. Needed are, by" \
		"Debian's names:" ;;
	esac
	[[ -z $command ]] ||
		echo "bootstrap: it installs packages on Debian alone. Missing here are:"
	printf '  %s\n' "$@"
	[[ -z $command ]] || printf 'As root:\n  %s\n' "$command $*"
}

# say_kernels: that none is fetched, and what there can be instead
say_kernels() {
	cat >&2 <<-'END'
		bootstrap: kernels are fetched on Debian alone, so the lab and the demo want one by --kernel:
		  RELEASE, as uname -r says it, of a kernel that is installed with its headers;
		  FILE.deb, the package of an image, with those of its modules and headers beside it;
		  or the path of a kernel build tree.
	END
}

# elsewhere HOST MODE ENTRY...: print names, for --list; otherwise tell what is missing, with
# status 1 if anything is
elsewhere() {
	local host=$1 mode=$2 names absent nameless
	shift 2
	mapfile -t names < <(names_on "$host" "$@")
	if [[ $mode = list ]]; then
		printf '%s\n' "${names[@]#\?}"
		return
	fi
	mapfile -t nameless < <(printf '%s\n' "${names[@]}" | sed -n 's/^?//p')
	mapfile -t names < <(printf '%s\n' "${names[@]}" | sed '/^?/d')
	mapfile -t absent < <(missing_on "$host" "${names[@]}")
	[[ ${#nameless[@]} -eq 0 ]] ||
		echo "bootstrap: nothing is known here of what Debian has in ${nameless[*]}" >&2
	[[ ${#absent[@]} -gt 0 ]] || return 0
	say_missing "$host" "${absent[@]}" >&2
	return 1
}
