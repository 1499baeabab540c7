#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# dump_fts leaves out the last LID of a fabric if it is a multiple of 64.
#
# Versions: infiniband-diags 44.0 (Debian 12), OpenSM 3.3.23, ibsim 0.10. The same was seen
# with infiniband-diags 65.0 and ibsim 0.12 (Debian sid).
#
# What happens: where LinearFDBTop is 64 (128, 192, ..), dump_fts reads the blocks below LID
# 64 alone: it prints the range of LIDs with LID 64 and no entry for it, and ends with status
# 0. ibroute, which reads one switch, does the same. The switches have the entry: smpquery
# and ibsim print it. With LinearFDBTop 65 dump_fts prints all of them, LID 64 included.
#
# Why it matters: a reader of this output takes the host with that LID for unreachable. In
# one fabric of 64 the highest LID is such a one.
#
# Output seen:
#
#   LinearFDBTop 64: 2 switches have LID 64; dump_fts prints it 0 times, ibroute 0
#   LinearFDBTop 65: 2 switches have LID 64; dump_fts prints it 2 times, ibroute 1
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
export LD_LIBRARY_PATH="$lib" IBSIM_SOCKNAME="finding-$$" SIM_HOST=h1
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

# ---- A fabric of two switches and two hosts ----

cat >net <<'END'
switchguid=0x100
Switch 4 "sw1"
[1] "h1"[1]
[2] "sw2"[2]

switchguid=0x200
Switch 4 "sw2"
[1] "h2"[1]
[2] "sw1"[2]

caguid=0x1000
Hca 1 "h1"
[1] "sw1"[1]

caguid=0x2000
Hca 1 "h2"
[1] "sw2"[1]
END

echo 'force_log_flush TRUE' >opensm.conf

# Lines of a file with an entry for LID 64.
count() {
	grep -c "$1" "$2" || :
}

# Switch sw2 gets the LID $1 and host h2 LID 64, by OpenSM's file guid2lid.
try_lid() {
	export OSM_CACHE_DIR="$folder/cache-$1" OSM_TMP_DIR="$folder/cache-$1"
	mkdir "cache-$1"
	printf '0x%016x 0x%04x 0x%04x\n\n' 0x1001 1 1 0x100 2 2 0x200 "$1" "$1" 0x2001 64 64 \
		>"cache-$1/guid2lid"
	rm -f console
	mkfifo console
	ibsim -s net <console >"ibsim-$1.log" 2>&1 &
	ibsim=$!
	exec 3>console
	wait_for 'sim> ' "ibsim-$1.log"
	env "$preload" opensm -F opensm.conf -R minhop -f "opensm-$1.log" >/dev/null 2>&1 &
	opensm=$!
	pids="$opensm $ibsim"
	wait_for 'SUBNET UP' "opensm-$1.log"

	top=$(env "$preload" smpquery switchinfo 2 | sed -n 's/^LinearFdbTop:\.*//p')
	env "$preload" dump_fts >"fts-$1" || fail 'dump_fts failed'
	env "$preload" ibroute 2 >"ibroute-$1" || fail 'ibroute failed'
	printf 'Dump\n' >&3
	wait_for 'dumped 4 nodes' "ibsim-$1.log"
	echo "LinearFDBTop $top: $(count '\[64\]' "ibsim-$1.log") switches have LID 64;" \
		"dump_fts prints it $(count '^0x0040 ' "fts-$1") times," \
		"ibroute $(count '^0x0040 ' "ibroute-$1")"
	kill -KILL "$opensm" # without a simulator it would go on
	kill "$ibsim"
	wait "$opensm" "$ibsim" 2>/dev/null || :
	exec 3>&-
	pids=
}

cat >wanted <<'END'
LinearFDBTop 64: 2 switches have LID 64; dump_fts prints it 0 times, ibroute 0
LinearFDBTop 65: 2 switches have LID 64; dump_fts prints it 2 times, ibroute 1
END
try_lid 3 >seen
try_lid 65 >>seen
cat seen
cmp -s wanted seen || exit 1
