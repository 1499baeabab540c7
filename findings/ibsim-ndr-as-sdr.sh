#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ibsim 0.10 simulates NDR links of a netlist as SDR.
#
# Versions: ibsim 0.10, infiniband-diags 44.0 (Debian 12). ibsim 0.12 (Debian sid) simulates NDR.
#
# What happens: ibsim does not know the speed NDR (nor XDR) of an ibnetdiscover file. It warns,
# `cannot parse speed / invalid speed`, starts all the same, and the ports have SDR: 10 Gb/s
# instead of 400 Gb/s. HDR links are simulated as HDR.
#
# Why it matters: in a fabric with NDR and HDR links the fast links are the slow ones there, so
# what weighs links by their rates, or looks for slow links, is tried on another fabric.
#
# Output seen:
#
#   the netlist has 1 link 4xNDR and 1 link 4xHDR
#   ibsim warns 2 times; ibnetdiscover prints 4xSDR for the first and 4xHDR for the other
#
# Exit status: 0 if this is what happens, 1 if not, 2 if it could not be tried.
set -eu

folder=$(mktemp -d)
ibsim=
finish() {
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

for package in ibsim-utils=0.10-2 libumad2sim0=0.10-2 infiniband-diags=44.0-2 \
	libibumad3=44.0-2 libibmad5=44.0-2 libibnetdisc5=44.0-2; do
	apt-get -q download "$package" >>apt.log 2>&1 || fail "no package $package: $(tail -n 1 apt.log)"
done
for package in *.deb; do
	dpkg -x "$package" root
done
lib=$(dirname "$(find "$folder/root" -name 'libibumad.so.3')")
PATH=$folder/root/usr/sbin:$folder/root/usr/bin:$PATH
export LD_LIBRARY_PATH="$lib" IBSIM_SOCKNAME="finding-$$" SIM_HOST=h1

cat >net <<'END'
Switch 4 "sw"
[1] "h1"[1] # "h1" lid 0 4xNDR
[2] "h2"[1] # "h2" lid 0 4xHDR

Hca 1 "h1"
[1] "sw"[1] # lid 0 lmc 0 "sw" lid 0 4xNDR

Hca 1 "h2"
[1] "sw"[2] # lid 0 lmc 0 "sw" lid 0 4xHDR
END
mkfifo console
ibsim -s net <console >ibsim.log 2>&1 &
ibsim=$!
exec 3>console
tries=300
until grep -q 'sim> ' ibsim.log; do
	tries=$((tries - 1))
	[ $tries -gt 0 ] || fail 'ibsim does not start'
	sleep 0.1
done
env "LD_PRELOAD=$lib/umad2sim/libumad2sim.so" ibnetdiscover >found || fail 'ibnetdiscover failed'

# The rate of port $1 of the switch.
rate() {
	sed -n "s/^\\[$1\\].*\"h$1\" lid 0 //p" found
}
warnings=$(grep -c 'cannot parse speed' ibsim.log) || :
echo 'the netlist has 1 link 4xNDR and 1 link 4xHDR'
echo "ibsim warns $warnings times; ibnetdiscover prints $(rate 1) for the first and $(rate 2) for the other"
[ "$warnings $(rate 1) $(rate 2)" = '2 4xSDR 4xHDR' ] || exit 1
