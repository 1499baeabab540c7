# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
# Shared by the scripts beside it, which source it: `. "$(dirname "$0")/lib.sh"`.
# Leaves the shell in the top folder of the project, with errors fatal.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin	# opensm, for who is not root

# How much to do at a time. nproc does not know the quota of a container.
jobs=$(nproc)
[ "$jobs" -le 4 ] || jobs=4

say() { printf '== %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# Prints the missing packages of Debian 12, one per line; the arguments are more of them. Tools are looked for by
# their command, so that one from elsewhere will do.
missing_packages() {
	for tool in cmake gcc python3; do
		command -v "$tool" >/dev/null || echo "$tool"
	done
	command -v make >/dev/null || command -v ninja >/dev/null || echo make
	command -v pkg-config >/dev/null || echo pkg-config
	for package in libc6-dev opensm libopensm-dev libibumad-dev libibmad-dev \
			infiniband-diags ibsim-utils ibutils libcmocka-dev libjansson-dev "$@"; do
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

# Sees to it that what is needed to build and to run is installed, and the arguments.
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

# Unpacks the kernels that packages of this machine's Debian depend on into build/kernels/PACKAGE,
# for virtual machines of tests. None is installed: this machine's boot loader has no part in it.
fetch_kernels() {
	[ "$(id -u)" -eq 0 ] || return 0 # nor do virtual machines have their networks otherwise
	[ "$(dpkg --print-architecture)" = amd64 ] || return 0
	for package; do
		[ ! -d "build/kernels/$package" ] || continue
		say "fetching the kernel of $package"
		place=build/kernels/$package.new
		rm -rf "$place"
		mkdir -p "$place"
		fetch_dependency "$package" "$place" || {
			apt-get update -q </dev/null
			fetch_dependency "$package" "$place"
		} || {
			say "it cannot be fetched: virtual machines are not tried"
			continue
		}
		dpkg -x "$place"/*.deb "$place"
		rm "$place"/*.deb
		/usr/sbin/depmod -b "$place" "$(ls "$place/lib/modules")"
		mv "$place" "build/kernels/$package"
	done
}

# fetch_dependency PACKAGE FOLDER: the .deb of the one package that it depends on.
fetch_dependency() (
	found=$(apt-cache depends "$1" | sed -n 's/^ *Depends: //p')
	cd "$2" && apt-get download -q "$found" </dev/null
)

# Builds the release preset in build/release; of two at once the second one waits.
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
