#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The service portmajor-vlan@ on a bond that systemd-networkd makes, in a virtual machine that
systemd has booted."""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import ethlab
import guests
import pmlab
import simlab

SYSTEMD = guests.UNPACKED / "systemd"
UNIT = pmlab.ROOT / "packaging" / "vlan" / "portmajor-vlan@.service"
PARTS = ("lib/systemd/systemd", "lib/systemd/systemd-networkd", "bin/systemctl", "bin/udevadm")
GROUPS = "tty disk kmem dialout audio video lp cdrom tape input sgx render kvm"  # of udev's rules
POLL_S = 120

# {file: text}; MAC and IP are the bond's, and MAC the device's
FILES = {
    "etc/passwd": "root:x:0:0::/:/bin/sh\nsystemd-network:x:101:101::/:/bin/false\n",
    "etc/group": "root:x:0:\nsystemd-network:x:101:\n" + "".join(
        f"{name}:x:{200 + i}:\n" for i, name in enumerate(GROUPS.split())),
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "etc/os-release": "ID=guest\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\n",
    "etc/systemd/system/guest.target": "[Unit]\nWants=systemd-udevd.service "
        "systemd-udev-trigger.service systemd-networkd.service guest-shell.service\n",
    "etc/systemd/system/guest-shell.service": "[Unit]\nDefaultDependencies=no\n[Service]\n"
        "ExecStart=/bin/sh /shell\nStandardInput=null\nStandardOutput=null\n"
        "Environment=PATH=/bin:/sbin:/usr/bin:/usr/sbin\n",
    # The bond has this address, too.
    "etc/systemd/network/10-e0.link": "[Match]\nType=ether\nMACAddress=MAC\n[Link]\nName=e0\n",
    "etc/systemd/network/20-bond0.netdev": "[NetDev]\nName=bond0\nKind=bond\nMACAddress=MAC\n"
        "[Bond]\nMode=active-backup\n",
    "etc/systemd/network/20-bond1.netdev": "[NetDev]\nName=bond1\nKind=bond\n",
    "etc/systemd/network/30-e0.network": "[Match]\nName=e0\n[Network]\nBond=bond0\n",
    "etc/systemd/network/40-bond0.network": "[Match]\nName=bond0\n[Network]\nAddress=IP/16\n"
        "LinkLocalAddressing=no\n",
}


def setUpModule():
    reason = ethlab.missing() or guests.missing()
    if not reason and not SYSTEMD.is_dir():
        reason = "there is no systemd for virtual machines"
    if not reason and not shutil.which("systemctl"):
        reason = "systemd is not installed"
    if reason:
        raise unittest.SkipTest(reason)


def furnish(root, host, table):
    """systemd in place of a shell, networkd's files, and the service, enabled."""
    shutil.copytree(SYSTEMD, root, symlinks=True, dirs_exist_ok=True)
    for name in PARTS:
        guests.add(root, name, SYSTEMD / name)
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("=MAC\n", f"={host.mac}\n").replace("=IP/", f"={host.ip}/"),
                        encoding="ascii")
    guests.add(root, "etc/portmajor/hosts", table)
    guests.add(root, "usr/bin/portmajor-vlan", ethlab.loader())
    guests.add(root, "usr/lib/systemd/system/portmajor-vlan@.service", UNIT)
    subprocess.run(["systemctl", f"--root={root}", "enable", "portmajor-vlan@bond0"],
                   capture_output=True, check=True)
    (root / "init").write_text(
        guests.START + "mkdir -p /sys/fs/cgroup\n"
        "exec /lib/systemd/systemd --log-target=console --unit=guest.target\n", encoding="ascii")


class Networkd(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="vlan-service-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        netlist = pmlab.generate(folder / "fabric.net", "two-level", 2, 3, 3, 1)
        plan = ethlab.plan(netlist, folder / "vlans")
        lab = stack.enter_context(ethlab.Lab(netlist, plan=plan))
        hosts = list(lab.hosts.values())
        self.near, self.far = hosts[1], hosts[4]  # their VLAN is not the access VLAN
        self.assertEqual(ethlab.pair_vlan(ethlab.read_hosts(plan / "hosts"), self.near.mac,
                                          self.far.mac), 102)
        lab.vlan(self.far.name, "load", plan / "hosts")
        self.guest = stack.enter_context(guests.Guest(
            guests.NEW, {"e0": ("virtio-net-pci", self.near)}, {},
            lambda root: furnish(root, self.near, plan / "hosts")))
        self.guest.wait()

    def clock_wait_until(self, state):
        """The state of the service, as in `systemctl is-active`."""
        simlab.poll_until(lambda: self.guest.run("systemctl is-active portmajor-vlan@bond0")
                          .text.strip() == state, POLL_S, f"service {state}",
                          state=self.guest.console)

    def check_loaded(self):
        """With the line of its address, and frames with tags are received."""
        shown = self.guest.must("portmajor-vlan show bond0")
        self.assertRegex(shown, f"(?m)^address +{self.near.mac}\nlines +7\n.*\nvlan +102$")
        self.assertRegex(shown, "(?m)^rx-filter +bond0: off$")
        self.assertRegex(shown,
                         "(?m)^rx-filter +e0: on, bypassed in promiscuous mode of bond0$")
        simlab.poll_until(lambda: "UP" in self.guest.must("ip -br link show bond0"), POLL_S,
                          "bond0 up")
        before = self.guest.wires["e0"].to_card[102]
        self.far.run("ping", "-n", "-c", "1", "-w", POLL_S, self.near.ip)
        self.assertGreater(self.guest.wires["e0"].to_card[102], before)

    def test_bond(self):
        """The device starts it, whenever networkd makes it, and stops it; reload takes the line of
        another address."""
        self.clock_wait_until("active")
        self.check_loaded()
        # Without MACAddress= it has an address that was set: a first member's is not taken.
        self.assertEqual(self.guest.must("cat /sys/class/net/bond1/addr_assign_type"), "3\n")
        self.guest.must("ip link del bond0")
        self.clock_wait_until("inactive")
        self.assertIn("promiscuity 0 ", self.guest.must("ip -d link show e0"))
        self.guest.must("systemctl restart systemd-networkd")
        self.clock_wait_until("active")
        self.check_loaded()
        other = self.near.mac[:-1] + "3"
        self.guest.must(f"ip link set bond0 address {other}; "
                        "systemctl reload portmajor-vlan@bond0")
        self.assertRegex(self.guest.must("portmajor-vlan show bond0"),
                         f"(?m)^address +{other}\n(.*\n){{2}}vlan +103$")
        self.guest.must("systemctl stop portmajor-vlan@bond0")
        self.assertEqual(self.guest.run("portmajor-vlan show bond0"),
                         (1, "portmajor-vlan: bond0: not loaded\n"))


if __name__ == "__main__":
    unittest.main()
