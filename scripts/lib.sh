# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
# Shared by the scripts beside it, which source it: `. "$(dirname "$0")/lib.sh"`.
# Leaves the shell in the top folder of the project, with errors fatal.
set -eu
caller=$PWD
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin	# opensm, for users but root

# The number of jobs at a time. nproc does not know the quota of a container.
jobs=$(nproc)
[ "$jobs" -le 4 ] || jobs=4

say() { printf '== %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# Prints the missing packages of Debian 12, one per line; the arguments are additional
# packages. Tools are found by their command, so a tool from elsewhere will do.
missing_packages() {
	for tool in cmake gcc python3; do
		command -v "$tool" >/dev/null || echo "$tool"
	done
	command -v make >/dev/null || command -v ninja >/dev/null || echo make
	command -v pkg-config >/dev/null || echo pkg-config
	for package in libc6-dev opensm libopensm-dev libibumad-dev libibmad-dev \
			infiniband-diags ibsim-utils ibutils libcmocka-dev libevent-dev libjansson-dev "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
			grep -q 'ok installed' || echo "$package"
	done
}

# shellcheck disable=SC2086 # each word in $missing is a package
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		if [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
	else
		die "neither root nor sudo: install these first:" $missing
	fi
}

# Installs the missing packages for building and running, and the arguments.
# shellcheck disable=SC2086 # each word in $missing is a package
install_packages() {
	command -v dpkg-query >/dev/null || die "this needs Debian 12 (or install by hand:" \
		"OpenSM 3.3.23, ibsim 0.10, ibutils, cmocka, CMake 3.25 and gcc)"
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	say "installing" $missing
	as_root apt-get update -q </dev/null
	if echo "$missing" | grep -qx opensm; then
		say "opensm starts a subnet manager at the next boot, where there is InfiniBand," \
			"unless /etc/default/opensm says PORTS=NONE"
	fi
	as_root sh scripts/without-services env DEBIAN_FRONTEND=noninteractive \
		apt-get install -q -y --no-install-recommends $missing </dev/null
	missing=$(missing_packages "$@")
	[ -z "$missing" ] || die "still missing:" $missing
}

# Unpacks the parts of the tests' virtual machines into build/guests: for each package the
# kernel that it depends on, and systemd. None is installed: this machine's boot loader does
# not change.
fetch_guests() {
	[ "$(id -u)" -eq 0 ] || return 0 # virtual machines need root for their networks
	[ "$(dpkg --print-architecture)" = amd64 ] || return 0
	for package; do
		unpack "$package" "$(apt-cache depends "$package" | sed -n 's/^ *Depends: //p')"
	done
	unpack systemd systemd libsystemd-shared udev
	for tree in build/guests/linux-image-*; do
		[ ! -d "$tree" ] || /usr/sbin/depmod -b "$tree" "$(ls "$tree/lib/modules")"
	done
}

# unpack NAME PACKAGE...: unpacks all files of these packages into build/guests/NAME, once.
unpack() {
	place=build/guests/$1
	[ ! -d "$place" ] || return 0
	shift
	say "fetching" "$@"
	rm -rf "$place.new"
	mkdir -p "$place.new"
	download "$place.new" "$@" || { apt-get update -q </dev/null && download "$place.new" "$@"; } || {
		say "it cannot be fetched: not all is tried that needs virtual machines"
		return 0
	}
	for file in "$place.new"/*.deb; do
		dpkg -x "$file" "$place.new"
		rm "$file"
	done
	mv "$place.new" "$place"
}

# download FOLDER PACKAGE...
download() (
	cd "$1" && shift && apt-get download -q "$@" </dev/null
)

# run PROGRAM [ARGUMENT]...: runs a program of tests/integration in the caller's folder, with what
# it needs installed and built, unless it is only to print its help.
run() {
	program=$PWD/tests/integration/$1
	shift
	case " $* " in
	*" -h "* | *" --help "*) ;;
	*)
		install_packages ${packages:+"$packages"}
		build_release
		;;
	esac
	cd "$caller"
	exec python3 "$program" "$@" </dev/null
}

# Builds the release preset in build/release; of two calls at once the second one waits.
build_release() {
	say "building"
	exec 9<scripts/lib.sh
	flock 9
	if [ -f build/release/CMakeCache.txt ] || command -v make >/dev/null; then
		cmake --preset release >/dev/null
	else
		cmake --preset release -G Ninja >/dev/null
	fi
	cmake --build --preset release -j "$jobs" >&2
	exec 9<&-
}
