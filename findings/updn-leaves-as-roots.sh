#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# OpenSM's updn takes leaves for roots when cables of the spines are missing, and then leaves
# most hosts without paths to each other, without a warning.
#
# Versions: OpenSM 3.3.23 (Debian 12), ibsim 0.10, infiniband-diags 44.0.
#
# What happens: a fat tree of 20 leaves, a host on each, and 2 spines; each spine lacks the
# cables to 2 of the leaves. Without a root_guid_file updn looks for switches that have nine
# hosts of ten at one distance. No spine has them, but all leaves have: the leaves become
# roots. A path from leaf to leaf would go down and up, which updn forbids, so most tables have
# no entry for most hosts. OpenSM logs `updn tables configured on all switches` and SUBNET UP,
# no error, and does not go on to minhop.
#
# Why it matters: cables join all pairs of hosts over two or four links. An operator who takes
# updn for the safe choice, as it has no credit loops, loses the fabric when cables fail. With
# the two spines in a root_guid_file only the pairs without a common spine have no path.
#
# Output seen:
#
#   updn: 160 of 400 entries for hosts in the leaves; "updn tables configured" 1, errors 0
#   updn with root_guid_file: 392 of 400 entries for hosts in the leaves; "updn tables configured" 1, errors 0
#
# Exit status: 0 if this is what happens, 1 if not, 2 if it could not be tried.
set -eu

folder=$(mktemp -d)
pids=
finish() {
	for pid in $pids; do
		kill -KILL "$pid" 2>/dev/null || :
	done
	rm -rf "$folder"
}
trap finish EXIT
trap 'exit 2' INT TERM
fail() {
	echo "$0: $*" >&2
	exit 2
}
cd "$folder"

# ---- Programs ----

for package in opensm=3.3.23-2+b1 libopensm9=3.3.23-2+b1 libosmcomp5=3.3.23-2+b1 \
	libosmvendor5=3.3.23-2+b1 ibsim-utils=0.10-2 libumad2sim0=0.10-2 \
	infiniband-diags=44.0-2 libibumad3=44.0-2 libibmad5=44.0-2 libibnetdisc5=44.0-2; do
	apt-get -q download "$package" >>apt.log 2>&1 || fail "no package $package: $(tail -n 1 apt.log)"
done
for package in *.deb; do
	dpkg -x "$package" root
done
lib=$(dirname "$(find "$folder/root" -name 'libibumad.so.3')")
PATH=$folder/root/usr/sbin:$folder/root/usr/bin:$PATH
export LD_LIBRARY_PATH="$lib" SIM_HOST=h1
preload=LD_PRELOAD=$lib/umad2sim/libumad2sim.so

# Waits up to 30 s for a text in a file.
wait_for() {
	tries=300
	until grep -q "$1" "$2" 2>/dev/null; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "no \"$1\" in $2"
		sleep 0.1
	done
}

# ---- The fabric: spine1 lacks leaf1 and leaf2, spine2 lacks leaf3 and leaf4 ----

awk 'function joined(s, l) { return !(s == 1 && l <= 2) && !(s == 2 && (l == 3 || l == 4)) }
BEGIN {
	for (s = 1; s <= 2; s++) {
		printf "switchguid=0x%x\nSwitch 20 \"spine%d\"\n", 256 * s, s
		for (l = 1; l <= 20; l++)
			if (joined(s, l))
				printf "[%d] \"leaf%d\"[%d]\n", l, l, s + 1
		print ""
	}
	for (l = 1; l <= 20; l++) {
		printf "switchguid=0x%x\nSwitch 4 \"leaf%d\"\n[1] \"h%d\"[1]\n", 4096 + l, l, l
		for (s = 1; s <= 2; s++)
			if (joined(s, l))
				printf "[%d] \"spine%d\"[%d]\n", s + 1, s, l
		print ""
	}
	for (l = 1; l <= 20; l++)
		printf "caguid=0x%x\nHca 1 \"h%d\"\n[1] \"leaf%d\"[1]\n\n", 65536 + 16 * l, l, l
}' >net
printf '0x100\n0x200\n' >roots

# Routes with updn, with the lines of $2 in opensm.conf; leaves `found`.
route() {
	export IBSIM_SOCKNAME="finding-$$-$1" OSM_CACHE_DIR="$folder/cache-$1" \
		OSM_TMP_DIR="$folder/cache-$1"
	mkdir "cache-$1"
	printf 'force_log_flush TRUE\n%s\n' "$2" >"conf-$1"
	rm -f console
	mkfifo console
	ibsim -s net <console >"ibsim-$1.log" 2>&1 &
	ibsim=$!
	exec 3>console
	wait_for 'sim> ' "ibsim-$1.log"
	env "$preload" opensm -F "conf-$1" -R updn -f "log-$1" >/dev/null 2>&1 &
	opensm=$!
	pids="$opensm $ibsim"
	wait_for 'SUBNET UP' "log-$1"
	env "$preload" dump_fts >"fts-$1" || fail 'dump_fts failed'
	found=$(awk '/^Unicast lids/ { leaf = /leaf/ }
		leaf && /Channel Adapter/ { count++ } END { print count + 0 }' "fts-$1")
	up=$(grep -c 'updn tables configured on all switches' "log-$1") || :
	errors=$(grep -c ' ERR ' "log-$1") || :
	kill -KILL "$opensm"
	exec 3>&-
	kill -KILL "$ibsim"
	wait "$opensm" "$ibsim" 2>/dev/null || :
	pids=
	echo "$3: $found of 400 entries for hosts in the leaves;" \
		"\"updn tables configured\" $up, errors $errors"
}

route guess '' updn
guessed=$found,$up,$errors
route roots "root_guid_file $folder/roots" 'updn with root_guid_file'
[ "$guessed" = 160,1,0 ] && [ "$found,$up,$errors" = 392,1,0 ]
