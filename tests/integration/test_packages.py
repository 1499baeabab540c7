#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The packages are sound, have the same files, work without other software, and leave no files behind.
"""

import itertools
import os
import pathlib
import re
import shutil
import tarfile
import unittest

import compatibility
import labtest
import pmlab
import vlanfiles
from test_install import DROP_IN, PACKAGING, SERVICE, cmake_version, exec_starts, must, run

SHARED = f"usr/share/portmajor/{DROP_IN}"
# OpenSM writes its caches by way of these, and leaves one when it ends in between.
HALF_WRITTEN = re.compile(r"var/cache/opensm/(guid2lid|guid2mkey|neighbors)\.tmp")
ENABLED = "etc/systemd/system/opensm@.service.d"
ENABLED_VLAN = ("etc/systemd/system/sys-subsystem-net-devices-e0.device.wants/"
                "portmajor-vlan@e0.service")
IS_ROOT = os.geteuid() == 0

# Packages of the suite that the plugin, the command and their trial need.
IN_ROOT = "opensm,ibsim-utils,libevent-core-2.1-7,libjansson4,libbpf1"

# In the root folder: a simulated fabric, and OpenSM on its first host as in the service; the
# arguments are its ExecStart. Goes on when the subnet is up, as `start` does again.
RUN = r"""
set -e
export IBSIM_SOCKNAME=packages
umad2sim=$(ls /usr/lib/*/umad2sim/libumad2sim.so)
mkfifo /tmp/console
ibsim -s /mnt/fabric.net </tmp/console >/tmp/ibsim.out 2>&1 &
exec 3>/tmp/console
until_true() {
	for i in $(seq 600); do
		! "$@" 2>/dev/null || return 0
		sleep 0.05
	done
	echo "never: $*" >&2
	return 1
}
until_true grep -q 'sim>' /tmp/ibsim.out
export SIM_HOST=h0-1
guid=$(LD_PRELOAD=$umad2sim ibstat -p | head -n 1)
log=/var/log/opensm.$guid.log
cd /tmp # umad2sim leaves files there
found() { # OpenSM buffers its log until it is told to open it anew
	kill -USR1 $opensm
	grep "$1" "$log"
}
start() {
	rm -f "$log"
	LD_PRELOAD=$umad2sim $(echo "$@" | sed "s/%I/$guid/g") >/tmp/opensm.out 2>&1 &
	opensm=$!
	until_true grep 'Entering MASTER state' "$log" >/dev/null # before, the signal would end it
	until_true found 'SUBNET UP' >/dev/null
}
start "$@"
"""

# Then: another version, and back to the first, with the files of the other one and with those from
# before; OpenSM has no LIDs of its own. Prints the first lines of plans, and the log about them;
# leaves the simulator's dump.
UPGRADE = r"""
stop() {
	kill $opensm
	wait $opensm || true
	rm -f /var/cache/opensm/guid2lid
}
report() {
	until_true found 'portmajor tables configured on all switches' >/dev/null
	size=$(stat -c %s /tmp/ibsim.out)
	echo Dump >&3
	until_true sh -c "tail -c +$size /tmp/ibsim.out | grep -q '^#  dumped'"
	tail -c +$((size + 1)) /tmp/ibsim.out >/mnt/$1.dump
	for plan in /var/cache/opensm/portmajor.*/plan*; do
		echo "$1 $(basename "$plan" | sed 's/-.*//') $(head -n 1 "$plan")"
	done
	found 'plan not used' | sed "s/.*plan not used/$1 log/" || true
}
report old
cp -a /var/cache/opensm /tmp/cache.old
for version in new old; do
	dpkg -i /mnt/$version.deb >/dev/null 2>&1
	stop
	start "$@"
	report to_$version
done
stop
rm /var/cache/opensm/portmajor.*/plan*
cp -a /tmp/cache.old/portmajor.* /var/cache/opensm/
start "$@"
report restored
"""


def files_below(folder):
    """All files in a root folder: {path: (kind and mode, owner, link target)}."""
    lines = must("find", folder, "-xdev", "-printf", r"%P\t%y%m %u:%g %l\n").splitlines()
    return dict(line.split("\t", 1) for line in lines)


def files_in_deb(deb):
    """All but folders, from the root."""
    return [re.sub(r" -> .*| link to .*", "", line).split(None, 5)[5].removeprefix(".")
            for line in must("dpkg-deb", "-c", deb).splitlines() if not line.startswith("d")]


def opensm_version():
    text = compatibility.HEADERS.read_text(encoding="ascii")
    return re.search(r'"OpenSM (.*)"', text)[1]


def next_version(deb, folder, format_now, format_next):
    """The package of a version whose plans have another format, otherwise like this one."""
    must("dpkg-deb", "-R", deb, folder)
    for path in (folder / "usr/bin/portmajor", *folder.glob("usr/lib/**/libportmajor.so")):
        code = path.read_bytes()
        if format_now not in code:
            raise AssertionError(f"no {format_now} in {path}")
        path.write_bytes(code.replace(format_now, format_next))
    control = folder / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*?(?=\+)", "Version: 99.0", control.read_text()))
    made = folder.with_suffix(".deb")
    must("dpkg-deb", "-Znone", "-b", folder, made)
    return made


class Packages(labtest.Folders):
    """The .deb, the RPM, and a root folder in which the former is installed."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        out = cls.folder / "deb"
        for config in ("CPackConfig.cmake", "CPackLabConfig.cmake", "CPackVlanConfig.cmake"):
            must("cpack", "--config", pmlab.BUILD / config, "-G", "DEB", "-B", out)
        cls.deb, = out.glob("portmajor_*.deb")
        cls.lab, = out.glob("portmajor-lab_*.deb")
        cls.vlan, = out.glob("portmajor-vlan_*.deb")
        cls.debs = (cls.deb, cls.lab, cls.vlan)

    def field(self, name, deb=None):
        return must("dpkg-deb", "-f", deb or self.deb, name).strip()

    def test_for_one_opensm(self):
        """Any build of that version, and no other one."""
        version = opensm_version()
        self.assertEqual(self.field("Version"), f"{cmake_version()}+opensm{version}")
        self.assertIn(f"_{cmake_version()}+opensm{version}_", self.deb.name)
        bounds = re.findall(r"opensm \((\S+) (\S+)\)", self.field("Depends"))
        self.assertEqual(len(bounds), 2)
        for other, fits in ((version, True), (f"{version}-2+b1", True),
                            (f"{version}-2~bpo12+1", True), (f"{version}-0ubuntu1", True),
                            (f"{version}+git1-1", False), (f"{version}~rc1-1", False),
                            (f"{version}.1-1", False), ("3.3.22-2", False),
                            ("3.3.24-1", False), ("4.0-1", False)):
            met = all(run("dpkg", "--compare-versions", other, operator, bound).returncode == 0
                      for operator, bound in bounds)
            self.assertEqual(met, fits, other)

    def test_lintian(self):
        shown = must("lintian", "--fail-on", "error,warning", "--allow-root", *self.debs)
        self.assertEqual(shown, "")

    def test_hardened(self):
        """Programs and the plugin bind all symbols first, and call checked functions of libc."""
        for deb in self.debs:
            folder = self.folder / f"hardened-{deb.name}"
            must("dpkg-deb", "-x", deb, folder)
            found = [path for path in folder.rglob("*") if path.is_file() and
                     not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF" and
                     "BPF" not in must("readelf", "-hW", path)]
            self.assertTrue(found, deb.name)
            for path in found:
                with self.subTest(deb=deb.name, path=path.name):
                    self.assertRegex(must("readelf", "-dW", path), r"FLAGS_1\).*\bNOW\b")
                    self.assertIn("GNU_RELRO", must("readelf", "-lW", path))
                    self.assertRegex(must("readelf", "-hW", path), r"Type: +DYN")
                    symbols = must("readelf", "--dyn-syms", "-W", path)
                    self.assertRegex(symbols, r"__\w+_chk@")
                    self.assertIn("__stack_chk_fail@", symbols)

    def needed(self, deb, *fields):
        return sorted(name for field in fields
                      for name in re.findall(r"(?:^|, )([^ ,]+)", self.field(field, deb)))

    def test_none_needs_another_one(self):
        """Nor has one files of another; only the plugin's package needs OpenSM."""
        for deb, needed in ((self.lab, ["libc6", "libjansson4"]),
                            (self.vlan, ["libbpf1", "libc6", "libjansson4"])):
            self.assertEqual(self.field("Version", deb), cmake_version())
            self.assertEqual(self.needed(deb, "Depends", "Recommends"), needed)
        self.assertEqual(self.needed(self.deb, "Depends", "Recommends"),
                         ["infiniband-diags", "libc6", "libevent-core-2.1-7", "libjansson4", "opensm", "opensm", "python3",
                          "python3-jinja2"])
        for one, other in itertools.combinations(self.debs, 2):
            self.assertEqual(set(files_in_deb(one)) & set(files_in_deb(other)), set())

    def test_each_has_all_of_its_own(self):
        """Command, completion, manual pages and chapter."""
        for deb, name, section, chapter in (
                (self.deb, "portmajor", 1, "guide"), (self.lab, "portmajor-lab", 1, "lab"),
                (self.vlan, "portmajor-vlan", 8, "vlan")):
            files = files_in_deb(deb)
            self.assertLessEqual({
                f"/usr/bin/{name}", f"/usr/share/bash-completion/completions/{name}",
                f"/usr/share/man/man{section}/{name}.{section}.gz",
                f"/usr/share/doc/{name}/{chapter}.md", f"/usr/share/doc/{name}/copyright"},
                set(files))
            for path in files:  # no other command's
                found = re.search(r"portmajor-(?:lab|vlan)(?=[-./@]|$)", path)
                self.assertEqual(found[0] if found else name, name, path)

    def test_rpm_has_the_same_files(self):
        text = (PACKAGING / "portmajor.spec").read_text(encoding="ascii")
        self.assertEqual(re.search(r"Version: +(\S+)", text)[1], cmake_version())
        top = self.folder / "rpm"
        name = f"portmajor-{cmake_version()}"
        (top / "SOURCES").mkdir(parents=True)
        listed = must("git", "-C", pmlab.ROOT, "ls-files", "-z", "--cached", "--others",
                      "--exclude-standard").split("\0")
        with tarfile.open(top / "SOURCES" / f"{name}.tar.gz", "w:gz", compresslevel=1) as tar:
            for path in filter(None, listed):
                if not path.startswith("tests/fuzz") and (pmlab.ROOT / path).exists():
                    tar.add(pmlab.ROOT / path, f"{name}/{path}")
        must("rpmbuild", "-bb", "--nodeps", "--define", f"_topdir {top}",
             "--define", "optflags -O0", "--define", "_smp_mflags -j2",
             PACKAGING / "portmajor.spec")
        lab, vlan, rpm = sorted((top / "RPMS").rglob("*.rpm"), key=lambda path: (
            re.match("portmajor-(lab|vlan|)", path.name)[1] or "~"))
        self.assertIn(opensm_version(), rpm.name)
        for built, deb in ((rpm, self.deb), (lab, self.lab), (vlan, self.vlan)):
            there = [line.rpartition(" ")[2] for line in must(
                "rpm", "-qp", "--qf", "[%{FILEMODES:perms} %{FILENAMES}\n]", built).splitlines()
                if not line.startswith("d")]
            self.assertEqual(sorted(map(plain, there)), sorted(map(plain, files_in_deb(deb))))
        self.assertIn(f"opensm = {opensm_version()}", must("rpm", "-qp", "--requires", rpm))
        for built in (lab, vlan):
            self.assertNotIn("opensm", must("rpm", "-qp", "--requires", built) + built.name)

    @unittest.skipUnless(IS_ROOT, "mounts need root")
    @unittest.skipUnless(shutil.which("debootstrap"), "no debootstrap here")
    def test_in_a_clean_root(self):
        """OpenSM's own service routes without it before, with it once enabled; no file stays."""
        log = self.folder / "log"
        root, work = self.folder / "root", self.folder / "work"
        work.mkdir()
        self.make_root(root, log)
        for deb in self.debs:
            shutil.copy(deb, work)
        (work / "run").write_text(RUN, encoding="ascii")
        pmlab.generate(work / "fabric.net", "two-level", 4, 2, 4, 1)
        vlanfiles.write_macs(work / "fabric.net", work / "macs")
        service = exec_starts((root / SERVICE[1:]).read_text(encoding="ascii"))[-1]

        def inside(text, *args):
            return must(*compatibility.NAMESPACES, "--net", "sh", "-c", compatibility.ENTER, "sh",
                        root, work, "sh", "-ec", text, "sh", *args,
                        env={"PATH": compatibility.PATH, "LC_ALL": "C.UTF-8"})

        # OpenSM makes files of its own, which do not matter here.
        inside(RUN, service)
        before = files_below(root)

        def changed():
            after = files_below(root)
            return {path for path in before.keys() | after.keys()
                    if before.get(path) != after.get(path) and not HALF_WRITTEN.fullmatch(path)}

        # Each of the others alone.
        for deb, line, printed in (
                (self.lab, "portmajor-lab job shift:1:4K leaf-spine-144 --fail spine0 "
                 "--compare ftree", r"(?m)^ftree "),
                (self.vlan, "portmajor-vlan plan --macs /mnt/macs /mnt/fabric.net /mnt/vlans; "
                 "portmajor-vlan show lo 2>&1 || echo $?",
                 r"^VLANs 101 to 102: (?s:.*)\nportmajor-vlan: lo: no Ethernet device\n1\n")):
            name = deb.name.partition("_")[0]
            told = inside(f"dpkg -i /mnt/{deb.name} >/dev/null; ! command -v portmajor; {line}; "
                          f"dpkg --purge {name} >/dev/null")
            self.assertRegex(told, printed)
            self.assertEqual(changed(), set(), name)
        self.assertTrue((work / "vlans" / "hosts").exists())

        inside(f"dpkg -i /mnt/{self.deb.name}; ldconfig -p | grep libportmajor")
        told = inside(RUN + '! grep portmajor "$log"', service)
        self.assertEqual(told, "")

        # As in the drop-in.
        text = (root / SHARED).read_text(encoding="ascii")
        enable = re.findall(r"(?m)^#   ((?:mkdir|ln) .*)$", text)
        self.assertEqual(len(enable), 2)
        inside("; ".join(enable))
        self.assertEqual(os.readlink(root / ENABLED / "portmajor.conf"), f"/{SHARED}")
        preflight = re.search(r"(?m)^ExecStartPre=-(.*)$", text)[1]
        self.assertEqual(inside(preflight), "")
        told = inside(RUN + "found 'portmajor tables configured on all switches'; "
                      "until_true portmajor status >/dev/null; portmajor status",
                      exec_starts(text)[-1])
        self.assertIn("engine", told)

        self.check_upgrade(inside, work, exec_starts(text)[-1])

        inside("portmajor drain -q -n /mnt/fabric.net leaf0:5")
        self.assertEqual(len(list(root.glob("var/cache/opensm/portmajor.*/requests"))), 1)

        # The others beside it; portmajor-vlan with a link as `systemctl enable` makes it.
        link = root / ENABLED_VLAN
        link.parent.mkdir(exist_ok=True)
        inside(f"dpkg -i /mnt/{self.lab.name} /mnt/{self.vlan.name}")
        link.symlink_to("/usr/lib/systemd/system/portmajor-vlan@.service")
        self.assertTrue((root / os.readlink(link)[1:]).exists())

        inside("dpkg --purge portmajor portmajor-lab portmajor-vlan")
        self.assertEqual(changed(), set())

    def check_upgrade(self, inside, work, service):
        """A plan of an unknown format is kept and named, and LIDs stay."""
        shutil.copy(self.deb, work / "old.deb")
        shutil.copy(next_version(self.deb, self.folder / "next", b"portmajor-plan 4",
                                 b"portmajor-plan 5"), work / "new.deb")
        told = inside(RUN + UPGRADE, service)
        formats = {}
        for step, kind, number in re.findall(r"(?m)^(\w+) (plan|plan\.bad) portmajor-plan (\d)$",
                                             told):
            formats.setdefault(step, []).append((kind, number))
        self.assertEqual(formats, {
            "old": [("plan", "4")],
            "to_new": [("plan", "5"), ("plan.bad", "4")],
            "to_old": [("plan", "4"), ("plan.bad", "4"), ("plan.bad", "5")],
            "restored": [("plan", "4")]}, told)
        self.assertEqual(re.findall(r"(?m)^(\w+) log and renamed to \S+/plan\.bad-\S+: .*: "
                                    r"a plan of format (\d); this version reads format (\d)$",
                                    told), [("to_new", "4", "5"), ("to_old", "5", "4")], told)
        lids = [pmlab.Dump(work / f"{step}.dump").ports for step in formats]
        self.assertEqual(len(lids[0]), 4 + 2 + 16)
        for step, there in zip(formats, lids):
            self.assertEqual(there, lids[0], step)

    def make_root(self, root, log):
        release = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
        suite = re.search(r"(?m)^VERSION_CODENAME=(\S+)$", release)[1]
        compatibility.run([*compatibility.NAMESPACES, "debootstrap", "--variant=minbase",
                           f"--include={IN_ROOT}", suite, root,
                           compatibility.find_mirror(log)], log)


def plain(path):
    """With libraries where Debian's packages from CMake have them."""
    return re.sub(r"^/usr/lib(64|/[^/]+-linux-gnu)?/(?=libportmajor)", "/usr/lib/", path)


if __name__ == "__main__":
    labtest.main()
