#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Open vSwitch 3.1.0 forwards frames with the VLAN tag 4095, which IEEE 802.1Q reserves: a port with
# `trunks=4095` is not closed. (An empty list means all VLANs.) No frame is sent here: ofproto/trace
# tells what the switch would do with one, on ports without a device (type dummy).
#
# Output seen:
#   unprotected: Datapath actions: 100,2
#   protected: Datapath actions: 100
#
# where 100 is the switch's own port, which has all VLANs, and 2 the other port.
# The exit status is 1 if that changes.
set -eu
version=3.1.0-2+deb12u1
folder=$(mktemp -d)
clean() {
	for file in "$folder"/*.pid; do
		[ ! -f "$file" ] || kill "$(cat "$file")" || :
	done
	rm -rf "$folder"
}
trap clean EXIT
cd "$folder"
apt-get download "openvswitch-switch=$version" "openvswitch-common=$version" >download.out 2>&1
for package in *.deb; do
	dpkg -x "$package" .
done
PATH=$folder/usr/bin:$folder/usr/sbin:$PATH
export OVS_RUNDIR="$folder" OVS_DBDIR="$folder" OVS_LOGDIR="$folder" OVS_SYSCONFDIR="$folder"

ovsdb-tool create conf.db usr/share/openvswitch/vswitch.ovsschema
ovsdb-server --remote=punix:"$folder/db.sock" --detach --no-chdir --pidfile --log-file conf.db \
	>server.out 2>&1
ovs-vsctl --no-wait init
ovs-vswitchd --enable-dummy --disable-system --detach --no-chdir --pidfile --log-file \
	>switch.out 2>&1
ovs-vsctl --timeout=20 add-br br0 -- set bridge br0 datapath_type=dummy fail_mode=standalone
for i in 1 2; do
	ovs-vsctl --timeout=20 add-port br0 "p$i" -- set interface "p$i" type=dummy "ofport_request=$i" \
		-- set port "p$i" vlan_mode=trunk tag='[]' trunks=4095
done

# trace NAME: what becomes of a broadcast with the tag 4095 that port 1 receives
trace() {
	echo "$1: $(ovs-appctl --timeout=20 -t ovs-vswitchd ofproto/trace br0 \
		in_port=1,dl_vlan=4095,dl_dst=ff:ff:ff:ff:ff:ff | grep '^Datapath actions')"
}

trace unprotected | tee seen
ovs-vsctl --timeout=20 set port p1 protected=true -- set port p2 protected=true
trace protected | tee -a seen
printf '%s\n' 'unprotected: Datapath actions: 100,2' \
	'protected: Datapath actions: 100' | cmp -s - seen
