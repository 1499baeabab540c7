#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Slurm: the reference's sweep as an array of jobs, and the topology.conf that plan --slurm writes."""

import os
import pwd
import re
import shutil
import socket
import subprocess
import unittest

import labtest
import netns
import pmlab
import simlab

TOOLS = ("slurmctld", "slurmd", "munged", "sbatch")
TASKS = 4
GUESS = ("hosts with as many adapters at switches of other hosts, so that their place is a guess "
         "(name adapters for storage in --io_guid_file): ")
LEFT_OUT = ("left out I/O nodes; Slurm 22.05 gives no jobs to nodes that are not in the file: ")
LATE_S = 30

CONF = """
ClusterName=lab
SlurmctldHost={host}({address})
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort={ctld}
SlurmdPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,sched_min_interval=0
TopologyPlugin=topology/tree
NodeName=DEFAULT CPUs=2 RealMemory=1000
NodeName=h0-1 NodeHostname={host} NodeAddr={address}
{others}
PartitionName=one Nodes=h0-1 Default=YES State=UP
"""


def expand(hostlist):
    """The names of a list, in its order; brackets are at names' ends."""
    names = []
    for prefix, inside in re.findall(r"([^\[,]+)(?:\[([^]]+)\])?,?", hostlist):
        for piece in inside.split(",") if inside else [""]:
            first, _, last = piece.partition("-")
            names += ([prefix + f"{n:0{len(first)}}" for n in range(int(first), int(last) + 1)]
                      if last else [prefix + first])
    return names


def read_topology(text):
    """{switch: (whether it is a leaf, names below it)}."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, kind, names = re.fullmatch(r"SwitchName=(\S+) (Nodes|Switches)=(\S+)",
                                             line).groups()
            assert name not in found, line
            found[name] = (kind == "Nodes", expand(names))
    return found


class Topology(labtest.Folders):
    def topology(self, net, *options, notes=(), cut=""):
        done = pmlab.run_cli("plan", "-q", "--slurm", "/dev/stdout", *options, net)
        self.assertEqual((done.returncode, done.stderr),
                         (int(bool(cut)), "".join(f"portmajor: --slurm: {note}\n"
                                                  for note in notes) + cut))
        return read_topology(done.stdout)

    def hosts_below(self, topology, name):
        leaf, names = topology[name]
        return set(names) if leaf else set().union(*(self.hosts_below(topology, one)
                                                     for one in names))

    def check_tree(self, topology, roots=1):
        """Each is below another one, except for the roots, and joins at least two."""
        below = [name for leaf, names in topology.values() if not leaf for name in names]
        self.assertEqual(len(below), len(set(below)))
        self.assertEqual(len(set(topology) - set(below)), roots)
        hosts = [name for leaf, names in topology.values() if leaf for name in names]
        self.assertEqual(len(hosts), len(set(hosts)))
        self.assertTrue(all(leaf or len(names) > 1 for leaf, names in topology.values()))
        return set(hosts)

    def check_leaves(self, topology, net):
        """As in the netlist."""
        netlist = simlab.Netlist(net)
        wanted = {}
        for node in netlist.nodes.values():
            hosts = {peer for peer, _ in node.ports.values()
                     if not netlist.nodes[peer].is_switch} if node.is_switch else ()
            if hosts:
                wanted[node.name] = hosts
        self.assertEqual({name: set(names) for name, (leaf, names) in topology.items() if leaf},
                         wanted)

    def test_two_levels(self):
        net = pmlab.generate(self.folder / "two.net", "two-level", 12, 6, 6, 1)
        topology = self.topology(net)
        self.check_tree(topology)
        self.check_leaves(topology, net)
        self.assertEqual(topology["level1.0"], (False, [f"leaf{i}" for i in range(12)]))
        self.assertEqual(len(topology), 13)

    def test_director(self):
        """Pods, of all chassis' line cards, below all of them."""
        net = pmlab.generate(self.folder / "director.net", "director", 36)
        topology = self.topology(net)
        self.check_tree(topology)
        self.check_leaves(topology, net)
        netlist = simlab.Netlist(net)
        lines = {frozenset(peer for peer, _ in node.ports.values() if peer.startswith("leaf"))
                 for node in netlist.nodes.values() if node.is_switch} - {frozenset()}
        self.assertEqual({frozenset(names) for name, (_, names) in topology.items()
                          if name.startswith("level1.")}, lines - {frozenset(lines)})
        self.assertGreater(len(lines), 1)
        self.assertEqual(self.hosts_below(topology, "level2.0"), set(netlist.hosts))

    def test_lost(self):
        """A pod without its line cards is connected to nothing: two trees."""
        net = pmlab.generate(self.folder / "pods.net", "xgft", 3, "4,3,2", "1,2,2")
        whole = self.topology(net)
        self.check_tree(whole)
        self.check_leaves(whole, net)
        netlist = simlab.Netlist(net)
        leaf = next(name for name, (is_leaf, _) in whole.items() if is_leaf)
        up = {peer for peer, _ in netlist.nodes[leaf].ports.values()
              if netlist.nodes[peer].is_switch}
        options = [word for name in up for word in ("--fail", name)]
        topology = self.topology(net, *options, cut="portmajor: after the failure: no cables join "
                                 "192 of 276 pairs of hosts, such as h0-1 and h1-1\n")
        pod = {peer for name in up for peer, _ in netlist.nodes[name].ports.values()
               if peer in whole and whole[peer][0]}
        self.check_tree(topology, roots=1 + len(pod))
        self.assertEqual(self.check_tree(topology, roots=1 + len(pod)), self.check_tree(whole))
        self.assertEqual(self.topology(net, "--fail", leaf).keys(), whole.keys() - {leaf})

    def write(self, text):
        path = self.folder / "odd.net"
        path.write_text(text, encoding="ascii")
        return path

    def test_odd_names(self):
        """First words, each once; switches of one name by GUID; no I/O nodes; no routers."""
        hosts = ["node01 mlx5_0", "node02 HCA-1", "node10", "x y", "node01 mlx5_1", "disk"]
        text = ""
        for sw in range(2):
            text += f'switchguid=0x{0x100 + sw:x}\nSwitch 8 "S-{sw}" # "MF0;a:b/U1"\n'
            text += "".join(f'[{1 + n}] "H-{3 * sw + n}"[1]\n' for n in range(3))
            text += f'[8] "S-2"[{1 + sw}]\n\n'
        text += 'switchguid=0x102\nSwitch 8 "S-2" # "top"\n[1] "S-0"[8]\n[2] "S-1"[8]\n\n'
        for n, name in enumerate(hosts):
            text += (f'caguid=0x{0x200 + n:x}\nCa 1 "H-{n}" # "{name}"\n'
                     f'[1](0x{0x300 + n:x}) "S-{n // 3}"[{1 + n % 3}]\n\n')
        roles = self.folder / "io"
        roles.write_text("0x305\n", encoding="ascii")
        topology = self.topology(self.write(text), "--io_guid_file", roles, notes=(
            GUESS + "1, node01", LEFT_OUT + "1, disk"))
        self.assertEqual(topology, {
            "MF0_a_b_U1_0000000000000100": (True, ["node02", "node10"]),
            "MF0_a_b_U1_0000000000000101": (True, ["node01", "x"]),
            "level1.0": (False, ["MF0_a_b_U1_0000000000000100", "MF0_a_b_U1_0000000000000101"])})


    def leaves_of(self, switches, *options, notes=()):
        """{leaf: its hosts in the file}, for {leaf: hosts' adapters} below one spine."""
        text, guid = "", 0x1000
        for number, (name, adapters) in enumerate(switches.items()):
            text += f'switchguid=0x{0x100 + number:x}\nSwitch 24 "{name}"\n'
            text += f'[24] "top"[{number + 1}]\n'
            text += "".join(f'[{n + 1}] "{name}.{n}"\n' for n in range(len(adapters))) + "\n"
            for n, host in enumerate(adapters):
                guid += 0x10
                text += (f'caguid=0x{guid:x}\nCa 1 "{name}.{n}" # "{host} mlx5_{guid}"\n'
                         f'[1] "{name}"[{n + 1}]\n\n')
        text += 'switchguid=0x200\nSwitch 24 "top"\n' + "".join(
            f'[{n + 1}] "{name}"[24]\n' for n, name in enumerate(switches))
        topology = self.topology(self.write(text), *options, notes=notes)
        self.check_tree(topology)
        return {name: hosts for name, (leaf, hosts) in topology.items() if leaf}

    def test_several_leaves(self):
        """If a host's adapters are at several leaves, the tree follows the compute ports."""
        one, two = ["a", "b"], ["c", "d"]
        with self.subTest("two for compute, one for storage"):
            self.assertEqual(self.leaves_of({"disks": one + two, "leaf1": one + one,
                                             "leaf2": two + two}), {"leaf1": one, "leaf2": two})
        with self.subTest("a switch for each of four rails, two for storage"):
            self.assertEqual(self.leaves_of(
                {"disks": 2 * (one + two), **{f"rail{n}": one for n in range(4)},
                 **{f"side{n}": two for n in range(4)}}), {"rail0": one, "side0": two})
        with self.subTest("one and one"):
            self.assertEqual(self.leaves_of({"disks": one + two, "leaf1": one, "leaf2": two},
                                            notes=(GUESS + "4, a, b, c, d",)),
                             {"leaf1": one, "leaf2": two})
        with self.subTest("two ports at a pair of leaves"):
            self.assertEqual(self.leaves_of({"leaf1": one, "leaf2": one, "leaf3": two,
                                             "leaf4": two}), {"leaf1": one, "leaf3": two})

    def test_hosts_above_leaves(self):
        """A host at a spine has a place, too: nodes without one never get a job."""
        net = pmlab.generate(self.folder / "two.net", "two-level", 12, 6, 6, 1)
        spine, port = next((name, number) for name, node in simlab.Netlist(net).nodes.items()
                           for number in range(1, 41) if node.is_switch
                           and name.startswith("spine") and number not in node.ports)
        text = net.read_text("ascii").replace("\n\n", "\n\n\n")
        head = re.search(rf'Switch\s+\d+\s+"{spine}".*\n', text)
        text = (text[:head.start()]
                + re.sub(r"Switch(\s+)\d+", rf"Switch\g<1>{max(port, 36)}", head[0])
                + f'[{port}]\t"login"[1]\n' + text[head.end():]
                + f'\nCa 1 "login"\n[1] "{spine}"[{port}]\n')
        topology = self.topology(self.write(text))
        self.check_tree(topology)
        self.assertEqual(topology[spine], (True, ["login"]))
        self.assertIn(spine, topology["level1.0"][1])
        self.assertEqual(len(topology["level1.0"][1]), 13)

    def test_yaml(self):
        """topology.yaml has the same switches as topology.conf."""
        net = pmlab.generate(self.folder / "director.net", "director", 36)
        for name in ("topology.yaml", "topology.yml"):
            path = self.folder / name
            done = pmlab.run_cli("plan", "-q", "--slurm", path, net)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            head, *switches = path.read_text("ascii").split("      - switch: ")
            self.assertRegex(head, r"^(#.*\n)+- topology: portmajor\n  cluster_default: true\n"
                                   r"  tree:\n    switches:\n$")
            found = {}
            for switch in switches:
                label, kind, names = re.fullmatch(
                    r'"(\S+)"\n        (nodes|children): "(\S+)"\n', switch).groups()
                found[label] = (kind == "nodes", expand(names))
            self.assertEqual(found, self.topology(net))


def find_host():
    """This host's short name and its address. With NoInAddrAny Slurm's daemons listen at the
    address of the hostname alone, which root makes one of the loopback: Debian's installer gives it
    127.0.1.1, a container an address of its network, and some machines none."""
    if os.geteuid() == 0:
        netns.rename_host("localhost")
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError:
        address = ""
    if not address.startswith("127."):
        raise unittest.SkipTest("the hostname is no address of the loopback")
    return name.partition(".")[0], address


@unittest.skipUnless(all(map(shutil.which, TOOLS)), "no Slurm here")
class Slurm(labtest.Folders):
    def start(self, *argv):
        """A daemon in the foreground, ended by its process id."""
        log = open(self.folder / f"{argv[0]}.out", "wb")
        self.addCleanup(log.close)
        process = simlab.start_process(list(map(str, argv)), stdout=log, stderr=log,
                                       cwd=self.folder, env=self.env)
        self.addCleanup(simlab.stop_process, process)
        return process

    def run_line(self, line):
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.env, text=True,
                              capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return done.stdout

    def configure(self):
        host, address = find_host()
        net = pmlab.generate(self.folder / "director.net", "director", 36)
        self.hosts = simlab.Netlist(net).hosts
        with socket.socket() as one, socket.socket() as other:
            for each in (one, other):
                each.bind((address, 0))
            ports = one.getsockname()[1], other.getsockname()[1]
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "slurm.conf").write_text(CONF.format(
            host=host, address=address, user=pwd.getpwuid(os.getuid()).pw_name, folder=self.folder, ctld=ports[0],
            port=ports[1], others="\n".join(
                # A port of their own, without a server: a daemon that is asked for other nodes'
                # state while it starts a task takes the task's script for a stray one.
                f"NodeName={name} NodeAddr={address} Port=9 State=DOWN"
                for name in self.hosts if name != "h0-1")),
            encoding="ascii")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="ascii")
        self.env = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"),
                    "PATH": f"{pmlab.BUILD}:{os.environ['PATH']}:/usr/sbin:/sbin"}
        self.run_line("portmajor plan -q --slurm topology.conf director.net")

    def start_slurm(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.start("munged", "--force", "-F", f"--key-file={key}",
                   *(f"--{name}={self.folder / name.replace('-file', '')}.munge"
                     for name in ("pid-file", "log-file", "seed-file")),
                   f"--socket={self.folder / 'munge.socket'}")
        simlab.poll_until((self.folder / "munge.socket").exists, LATE_S, "munged")
        conf = self.folder / "slurm.conf"
        self.start("slurmctld", "-D", "-f", conf)
        simlab.poll_until(lambda: "UP" in self.tell("scontrol", "ping"), LATE_S, "slurmctld")
        self.start("slurmd", "-D", "-f", conf, "-N", "h0-1")
        simlab.poll_until(lambda: "idle" in self.tell(
            "sinfo", "-h", "-N", "-n", "h0-1", "-o", "%T"), LATE_S, "slurmd")

    def tell(self, *argv):
        return subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False,
                              timeout=30).stdout

    def check_topology(self):
        """Slurm has read the file, without an error."""
        shown = self.run_line("scontrol show topology")
        wanted = read_topology((self.folder / "topology.conf").read_text("ascii"))
        found = {}
        for line in shown.splitlines():
            words = dict(word.split("=", 1) for word in line.split())
            leaf = "Switches" not in words
            found[words["SwitchName"]] = (
                leaf, words["Level"], set(self.names(words["Nodes" if leaf else "Switches"])))
        self.assertEqual({name: (leaf, set(names)) for name, (leaf, names) in wanted.items()},
                         {name: (leaf, names) for name, (leaf, _, names) in found.items()})
        self.assertEqual({level for _, level, _ in found.values()}, {"0", "1", "2"})
        self.assertEqual(set(self.names(re.search(r"SwitchName=level2.0 .*Nodes=(\S+)", shown)[1])),
                         set(self.hosts))
        log = (self.folder / "slurmctld.log").read_text("utf-8", errors="replace")
        self.assertNotRegex(log, r"(?i)(error|warning|fatal).*(topology|switch)|"
                                 r"TOPOLOGY: (warning|error)")

    def names(self, hostlist):
        """In Slurm's own output."""
        return self.run_line(f"scontrol show hostnames '{hostlist}'").split()

    def check_array(self):
        """The reference's lines as written, except for the number of tasks."""
        readme = (pmlab.ROOT / "docs" / "reference.md").read_text("utf-8")
        lines = re.search(r"^    (sbatch --array=.*?)\n    (portmajor merge \S+)$", readme,
                          re.M | re.S)
        pmlab.generate(self.folder / "fabric.net", "two-level", 6, 4, 4, 1)
        self.assertIn("1-1000", lines[1])
        self.run_line(lines[1].replace("1000", str(TASKS)))
        simlab.poll_until(lambda: not self.run_line("squeue -h"), LATE_S, "the jobs", every=0.2,
                          state=lambda: self.run_line("squeue"))
        parts = [self.folder / f"part-{task}.json" for task in range(1, TASKS + 1)]
        if not all(path.exists() and path.stat().st_size for path in parts):
            self.fail(self.run_line("scontrol -o show job")
                      + (self.folder / "slurmd.log").read_text("utf-8", errors="replace"))
        for more in ("", " --json"):
            self.assertEqual(self.run_line(lines[2] + more), self.run_line(
                f"portmajor whatif fabric.net --all links --pairs{more}"))

    def test_all(self):
        self.configure()
        self.start_slurm()
        self.check_topology()
        self.check_array()


if __name__ == "__main__":
    unittest.main()
