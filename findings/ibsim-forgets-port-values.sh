#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ibsim 0.10 acknowledges values of PortInfo that it does not keep, so OpenSM sets every port
# again in every sweep.
#
# Versions: ibsim 0.10, OpenSM 3.3.23 (Debian 12).
#
# What happens: a Set(PortInfo) of thresholds, a host's subnet timeout or a switch port's partition
# enforcement is answered with status 0. The next Get has the old values. OpenSM compares these
# with its options in each sweep, and sends the Sets anew, though nothing has changed.
#
# Why it matters: SMPs of sweeps that are counted on ibsim, to compare routing engines or to see
# what a sweep costs, have Sets among them that a real fabric never gets after the first sweep; with
# 648 hosts 5,274 of 12,584.
#
# Output seen:
#
#   sweep 1: 25 Sets of PortInfo
#   sweep 2, nothing has changed: 13 Sets of PortInfo
#
# Exit status: 0 if this is what happens, 1 if not, 2 if it could not be tried.
set -eu

folder=$(mktemp -d)
ibsim=
opensm=
finish() {
	[ -z "$opensm" ] || kill -KILL "$opensm" 2>/dev/null || :
	[ -z "$ibsim" ] || kill -KILL "$ibsim" 2>/dev/null || :
	rm -rf "$folder"
}
trap finish EXIT
trap 'exit 2' INT TERM
fail() {
	echo "$0: $*" >&2
	exit 2
}
cd "$folder"

for package in opensm=3.3.23-2+b1 libopensm9=3.3.23-2+b1 libosmcomp5=3.3.23-2+b1 \
	libosmvendor5=3.3.23-2+b1 \
	ibsim-utils=0.10-2 libumad2sim0=0.10-2 libibumad3=44.0-2 libibmad5=44.0-2; do
	apt-get -q download "$package" >>apt.log 2>&1 || fail "no package $package: $(tail -n 1 apt.log)"
done
for package in *.deb; do
	dpkg -x "$package" root
done
lib=$(dirname "$(find "$folder/root" -name 'libibumad.so.3')")
PATH=$folder/root/usr/sbin:$folder/root/usr/bin:$PATH
export LD_LIBRARY_PATH="$lib" IBSIM_SOCKNAME="finding-$$" SIM_HOST=h1
export OSM_CACHE_DIR="$folder" OSM_TMP_DIR="$folder"

cat >net <<'END'
Switch 4 "sw"
[1] "h1"[1]
[2] "h2"[1]
[3] "h3"[1]

Hca 1 "h1"
[1] "sw"[1]

Hca 1 "h2"
[1] "sw"[2]

Hca 1 "h3"
[1] "sw"[3]
END

# Waits until $1 has line $2 at least $3 times.
wait_for() {
	tries=300
	until [ "$(grep -c "$2" "$1")" -ge "$3" ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "$1 has no $2"
		sleep 0.1
	done
}
mkfifo console
ibsim -s net <console >ibsim.log 2>&1 &
ibsim=$!
exec 3>console
wait_for ibsim.log 'sim> ' 1

# With a log of each SMP that is sent (0x20), and no sweeps by time.
printf 'sweep_interval 0\nforce_log_flush TRUE\n' >opensm.conf
: >sm.log
LD_PRELOAD="$lib/umad2sim/libumad2sim.so" opensm -F opensm.conf -D 0x23 -f sm.log >out 2>&1 &
opensm=$!
wait_for sm.log 'SUBNET UP' 1
lines=$(wc -l <sm.log)
kill -HUP "$opensm"
wait_for sm.log 'SUBNET UP' 2

# Sets of PortInfo among the lines on standard input.
sets() {
	awk '/method\.+0x/ { set = /0x2 / } /attr_id\.+0x15 / { count += set; set = 0 } END { print count + 0 }'
}
first=$(head -n "$lines" sm.log | sets)
second=$(tail -n "+$lines" sm.log | sets)
echo "sweep 1: $first Sets of PortInfo"
echo "sweep 2, nothing has changed: $second Sets of PortInfo"
[ "$first $second" = '25 13' ] || exit 1
