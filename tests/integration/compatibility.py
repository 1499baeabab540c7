#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Builds portmajor against other OpenSMs, compilers and libraries, and tries the results.

debootstrap makes a root folder for each suite of Debian, from the mirror in this machine's apt
sources; the folder is kept for the next time. In it the last commit of this checkout is built with
warnings as errors (without, if that fails), the unit tests run, and a few parts fail and return on
ibsim (short_events.py), also with multicast groups: the Sets must be those that `portmajor whatif`
predicts. Builds lie outside the root and are removed. Mounts are made in a mount namespace of their
own, and end with it.

With --source the same is done on this machine with an OpenSM from a folder. The plugin built with
this machine's own headers is then loaded into that opensm, too, which may refuse it. If the
versions of the two OpenSMs differ (a package can name nothing else), the .deb of that build is
installed in a folder (dpkg --root): beside this machine's package opensm it must be refused, beside
one of that OpenSM installed; the installed files then pass the same trials.

Prints the table; exit status 0 if all is well, else 1.
"""

import contextlib
import dataclasses
import datetime
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import measuring
import simlab

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "compatibility.md"
SCRIPTS = pathlib.Path("/usr/share/debootstrap/scripts")
HEADERS = pathlib.Path("/usr/include/infiniband/opensm/osm_version.h")

SUITES = ("bullseye", "bookworm", "trixie", "forky", "sid")
PACKAGES = ("gcc,libc6-dev,make,cmake,pkg-config,python3,opensm,libopensm-dev,libibumad-dev,"
            "ibsim-utils,infiniband-diags,libcmocka-dev,libevent-dev,libjansson-dev")

# A root takes 0.5 to 0.6 GB, and a third more while it is made.
NEEDED_GB = 2

TIMEOUT_S = 1800
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Both in namespaces: their processes and mounts end with the first process.
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
ENTER = """set -e
root=$1 work=$2
shift 2
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$work" "$root/mnt"
chroot "$root" "$@"
"""


class Fault(Exception):
    """An object could not be made, built or tried."""


def say(text):
    measuring.tell(f"== {text}")


def run(argv, log, **kwargs):
    """The output of a command, which goes to the log, too. Fault if the command fails."""
    try:
        process = simlab.start_process(list(map(str, argv)), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       text=True, errors="replace", **kwargs)
    except FileNotFoundError as error:
        raise Fault(f"no {error.filename} here: install it first") from error
    with process:
        try:
            told = process.communicate(timeout=TIMEOUT_S)[0].strip()
        except subprocess.TimeoutExpired as error:
            raise Fault(f"{argv[0]}: not done after {TIMEOUT_S} s") from error
        finally:
            process.kill()
    with open(log, "a", encoding="utf-8") as out:
        out.write(told + "\n")
    if process.returncode:
        last = told.rpartition("\n")[2]
        raise Fault(f"{last or 'nothing printed'} ({log} has it all)")
    return told


# -------------------------------------------------------------------------- places

@dataclasses.dataclass
class Place:
    """The place of a build: a suite's root folder, or this machine.

    enter      argv prefix of what runs there
    checkout   the project's folder as seen there; builds go into it
    include    of OpenSM, where CMake would not find it
    environ    further environment of opensm
    """
    name: str
    log: pathlib.Path
    made: str
    enter: list
    checkout: pathlib.Path
    include: pathlib.Path = None
    environ: dict = dataclasses.field(default_factory=dict)

    def run(self, *argv, **environ):
        return run(self.enter + list(argv), self.log,
                   env={"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8",
                        "PYTHONDONTWRITEBYTECODE": "1", **environ})

    def build(self, name, *options):
        """Configures and builds a folder of that name; the number of warnings."""
        folder = self.checkout / name
        say(f"{self.name}: building {name}")
        self.run("cmake", "-S", self.checkout, "-B", folder,
                 "-DCMAKE_BUILD_TYPE=RelWithDebInfo", *options)
        told = self.run("cmake", "--build", folder, "-j", os.cpu_count())
        return len(re.findall(r"^\S+: warning: ", told, re.M))

    def events(self, name, *options):
        """The report of short_events.py about the plugin in that folder."""
        told = self.run("python3", self.checkout / "tests/integration/short_events.py", *options,
                        PORTMAJOR_BUILD=str(self.checkout / name), **self.environ)
        return json.loads(told.splitlines()[-1])


def copy_checkout(work, log):
    """The last commit, without history."""
    tar = work / "checkout.tar"
    run(["git", "-C", ROOT, "archive", "-o", tar, "HEAD"], log)
    run(["tar", "xf", tar, "-C", work], log)
    tar.unlink()


# -------------------------------------------------------------------------- suites

def find_mirror(log):
    """The mirror of this machine's own release, from apt's sources."""
    release = dict(line.split("=", 1) for line in
                   pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    own = release.get("VERSION_CODENAME", "").strip('"')
    for line in run(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)",
                     "Created-By: Packages"], log).splitlines():
        suite, _, uri = line.partition(" ")
        if suite == own and release.get("ID") == "debian":
            return uri
    raise Fault("this machine's apt sources name no mirror of Debian")


def check_no_mounts(folder):
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        if pathlib.Path(line.split()[1]).is_relative_to(folder):
            raise Fault(f"{line.split()[1]} is mounted: unmount it first")


def make_root(cache, suite, log):
    """The root folder of a suite: the last one, if it has all that is needed."""
    root, stamp = cache / suite, cache / suite / "etc" / "portmajor-packages"
    if stamp.is_file() and stamp.read_text() == PACKAGES:
        return root
    new = cache / f"{suite}.new"
    for old in (root, new):
        check_no_mounts(old)
        shutil.rmtree(old, ignore_errors=True)
    if shutil.disk_usage(cache).free < NEEDED_GB << 30:
        raise Fault(f"less than {NEEDED_GB} GB free in {cache}")
    say(f"{suite}: debootstrap into {root}")
    script = SCRIPTS / suite
    try:
        run([*NAMESPACES, "debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite,
             new, find_mirror(log), script if script.exists() else SCRIPTS / "sid"], log)
        for waste in ("var/cache/apt", "var/lib/apt/lists"):
            shutil.rmtree(new / waste)
        (new / stamp.relative_to(root)).write_text(PACKAGES)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return new.rename(root)


def open_suite(cache, suite, work, log):
    root = make_root(cache, suite, log)
    made = datetime.date.fromtimestamp((root / "etc" / "portmajor-packages").stat().st_mtime)
    # --net: otherwise simulators in two pid namespaces could take the same socket name.
    return Place(f"Debian {suite}", log, str(made),
                 [*NAMESPACES, "--net", "sh", "-c", ENTER, "sh", root, work],
                 pathlib.Path("/mnt"))


# ------------------------------------------------------------------ OpenSM's source

def check_source(folder):
    """Fault unless the folder has OpenSM's source, and OpenSM was built there."""
    try:
        is_opensm = "AC_INIT(opensm," in (folder / "configure.ac").read_text(errors="replace")
    except OSError:
        is_opensm = False
    if not is_opensm:
        raise Fault(f"{folder} is no folder of OpenSM's source")
    for name in ("include/opensm/osm_config.h", "include/opensm/osm_version.h",
                 "opensm/.libs/opensm"):
        if not (folder / name).is_file():
            raise Fault(f"{folder} has no {name}: build OpenSM there first")


def open_source(folder, work, log):
    libraries = ":".join(str(folder / name / ".libs")
                         for name in ("complib", "libvendor", "libopensm"))
    return Place(f"`{folder.name}`", log, "-", [], work, folder / "include",
                 {"SIMLAB_OPENSM": str(folder / "opensm" / ".libs" / "opensm"),
                  "LD_LIBRARY_PATH": libraries})


# --------------------------------------------------------------------------- trying

@dataclasses.dataclass
class Result:
    """A row of the table."""
    name: str
    made: str = "-"
    opensm: str = "-"
    compiler: str = "-"
    libc: str = "-"
    ibsim: str = "-"
    build: str = "-"
    unit: str = "-"
    events: list = dataclasses.field(default_factory=list)
    foreign: str = ""  # the fate of a plugin built for another OpenSM
    package: str = ""  # the fate of the .deb for that OpenSM
    fault: str = ""

    def note_events(self, told):
        self.opensm, self.events = told["opensm"], told["events"]
        faults = [f"{event['name']}: {fault}" for event in self.events
                  for fault in event["faults"]]
        if told["loaded"] != told["opensm"]:
            faults.append(f"built for OpenSM {told['loaded']}")
        self.fault = "; ".join(faults)

    def cells(self):
        """Each failed part: Sets when it fails and returns, the predicted ones in brackets."""
        counts = {}
        for event in self.events:
            name, _, verb = event["name"].rpartition(" ")
            counts[name, verb] = event
        lost = [f"{counts[name, 'lost']['wire']}, {counts[name, 'back']['wire']} "
                f"({counts[name, 'lost']['whatif']})" if (name, "lost") in counts else "-"
                for name in EVENTS]
        return [self.name, self.made, self.opensm, self.compiler, self.libc, self.ibsim,
                self.build, self.unit, *lost, self.fault or "ok"]


EVENTS = ("cable", "switch", "host", "router", "groups")
HEADER = ["where", "packages of", "OpenSM", "compiler", "libc", "ibsim", "build", "unit tests",
          *EVENTS, "result"]


def build_strictly(place, result):
    """Builds with warnings as errors, or, if that fails, without."""
    include = [f"-DOPENSM_INCLUDE={place.include}"] if place.include else []
    try:
        place.build("strict", "-DPORTMAJOR_WERROR=ON", *include)
        result.build = "no warning"
        return "strict"
    except Fault as fault:
        say(f"{place.name}: {fault}")
    result.build = f"{place.build('lenient', *include)} warnings"
    return "lenient"


def try_foreign(place):
    """The reaction of the folder's opensm to a plugin that was built for this machine's own."""
    if not HEADERS.is_file():
        return ""
    own = re.search(r'OSM_VERSION "(.*)"', HEADERS.read_text())[1]
    place.build("foreign", f"-DOPENSM_INCLUDE={HEADERS.parents[1]}")
    told = place.events("foreign", "--refused")
    why = (f'refused, "{told["refused"]}"' if told["refused"] else
           "loaded" if told["loaded"] else "not loaded, and the log has no reason")
    routes = f"{', '.join(told['engines'])} routes" if told["engines"] else "SUBNET UP never comes"
    return (f"The plugin built for this machine's {own} in OpenSM {told['opensm']} of "
            f"{place.name}: {why}; {routes}.")


def make_opensm(place, source, version):
    """A stand-in for Debian's package: the OpenSM of that folder."""
    stage = place.checkout / "opensm"
    for name, target in (("opensm/.libs/opensm", "usr/sbin"), ("complib/.libs/*.so.*", "usr/lib"),
                         ("libvendor/.libs/*.so.*", "usr/lib"),
                         ("libopensm/.libs/*.so.*", "usr/lib")):
        (stage / target).mkdir(parents=True, exist_ok=True)
        for path in source.glob(name):
            shutil.copy(path, stage / target, follow_symlinks=False)
    (stage / "DEBIAN").mkdir()
    (stage / "DEBIAN" / "control").write_text(
        f"Package: opensm\nVersion: {version}-1\n"
        f"Architecture: {place.run('dpkg', '--print-architecture')}\n"
        "Maintainer: nobody <nobody@invalid.invalid>\nDescription: OpenSM from its source\n")
    deb = place.checkout / "opensm.deb"
    place.run("dpkg-deb", "--root-owner-group", "-b", stage, deb)
    return deb


def make_database(root):
    """A folder in which dpkg sees the packages of this machine, but none of ours."""
    admin = root / "var" / "lib" / "dpkg"
    for name in ("info", "updates", "triggers"):
        (admin / name).mkdir(parents=True)
    status = pathlib.Path("/var/lib/dpkg/status").read_text(encoding="utf-8").split("\n\n")
    (admin / "status").write_text("\n\n".join(
        stanza for stanza in status if not stanza.startswith("Package: portmajor")) + "\n",
        encoding="utf-8")


def try_package(place, result, build):
    """Tries the .deb of that build: where it can be installed, and whether it works there."""
    source, root = place.include.parent, place.checkout / "root"
    place.run("cpack", "--config", place.checkout / build / "CPackConfig.cmake", "-G", "DEB",
              "-B", place.checkout / "deb")
    deb, = (place.checkout / "deb").glob("portmajor_*.deb")
    make_database(root)
    dpkg = ["dpkg", f"--root={root}", "--force-script-chrootless"]
    own = place.run("dpkg-query", "-W", "-f", "${Version}", "opensm")
    place.run(*dpkg, "--unpack", deb)
    told = place.run("sh", "-c", '! "$@"', "sh", *dpkg, "--configure", "portmajor")
    if "portmajor depends on opensm" not in told:
        raise Fault(f"{deb.name} beside opensm {own}: {told}")
    version = re.search(r"opensm(.*)", place.run("dpkg-deb", "-f", deb, "Version"))[1]
    place.run(*dpkg, "-i", make_opensm(place, source, version), deb)
    state = place.run(*dpkg[:2], "-s", "portmajor")
    if "Status: install ok installed" not in state:
        raise Fault(f"{deb.name}: {state}")
    installed = place.checkout / "installed"  # as a build folder, for the tests
    shutil.copytree(place.checkout / build, installed, symlinks=True,
                    ignore=shutil.ignore_patterns("CMakeFiles", "test_*", "*.a"))
    for path in ("usr/bin/portmajor", "usr/lib/libportmajor.so"):
        shutil.copy(root / path, installed)
    environ = dict(place.environ, SIMLAB_OPENSM=str(root / "usr/sbin/opensm"),
                   LD_LIBRARY_PATH=str(root / "usr/lib"))
    told = dataclasses.replace(place, environ=environ).events("installed")
    faults = [fault for event in told["events"] for fault in event["faults"]]
    if faults or told["loaded"] != told["opensm"]:
        raise Fault(f"{deb.name}: {'; '.join(faults) or told['loaded']}")
    result.package = (f"`{deb.name}`: refused beside Debian's opensm {own}; installed beside one "
                      f"of {place.name}, where OpenSM {told['opensm']} loads it and "
                      f"{len(told['events'])} events are as predicted.")


def try_place(place, result):
    result.compiler = "GCC " + place.run("gcc", "-dumpfullversion")
    result.libc = place.run("getconf", "GNU_LIBC_VERSION")
    result.ibsim = place.run("dpkg-query", "-W", "-f", "${Version}", "ibsim-utils")
    build = build_strictly(place, result)
    say(f"{place.name}: unit tests")
    told = place.run("sh", "-c", f"cd {place.checkout / build} && "
                                 f"ctest -L unit -j {os.cpu_count()}")
    result.unit = re.search(r"tests failed out of (\d+)", told)[1] + " passed"
    say(f"{place.name}: events")
    result.note_events(place.events(build))
    if place.include:
        result.foreign = try_foreign(place)
    if place.include and f'"OpenSM {result.opensm}"' not in HEADERS.read_text(encoding="ascii"):
        say(f"{place.name}: package")
        try_package(place, result, build)


def measure(cache, name, open_place):
    """A Result; open_place(work, log) makes the Place."""
    log = cache / f"{name}.log"
    log.write_text("")
    result = Result(name)
    with tempfile.TemporaryDirectory(prefix="work-", dir=cache) as work:
        try:
            place = open_place(pathlib.Path(work), log)
            result.name, result.made = place.name, place.made
            copy_checkout(pathlib.Path(work), log)
            try_place(place, result)
        except Fault as fault:
            result.fault = str(fault)
            say(f"{name}: {fault}")
    return result


# ------------------------------------------------------------------------- document

HEAD = """# Versions that portmajor was built and tested with

`scripts/compatibility --update` writes this file; `tests/integration/compatibility.py` has the text.

Each row is one build of the same commit, with warnings as errors if the row has "no warning". All
unit tests were run, and OpenSM with the plugin on ibsim: 18 switches, 143 hosts and a router. A
cable, a switch, a host and the router fail and return. Their cells have the LFT Sets counted on the
wire for the failure and for the return, and in brackets the prediction of `portmajor whatif` for the
failure. "ok" also means that the OpenSM for which the plugin was built loaded it, that the plugin
logged as many blocks sent and acknowledged, and that every pair was reachable through tables read
back from the switches.

Debian's suites are folders made by debootstrap, on amd64. A row with a name in `quotes` is a folder
with OpenSM's source, built on Debian {release} and given with `--source`.

"groups" has the MFT Sets for a link that most of 12 multicast groups use. For groups "ok" means that
packets of each group came once to each member through MFTs read back, and that no MFT Set was sent in
a sweep without changes.

"""

TAIL = """
OpenSM compares the version for which a plugin was built with its own, as text, and refuses other
versions. So a plugin for 3.3.23 cannot harm an OpenSM 3.3.24, in which `osm_subn_opt_t` has one more
member (`max_rate_enum`) and later members have other offsets. The plugin's source is the same for
both. To build for an OpenSM in another folder: `cmake -DOPENSM_INCLUDE=DIR/include`.

## What is not supported

| | reason |
|---|---|
| OpenSM before 3.3.23 | it has no `osm_register_external_routing_engine`; CMake stops with this reason |
| an opensm of the same version, but built with other headers than the plugin | OpenSM compares only the version, but 3.3.23 without the performance manager and upstream's commits between 3.3.23 and 3.3.24 have other structures: build the plugin with the headers of the opensm that runs |
| other subnet managers | the plugin needs the event plugin interface and the structures of OpenSM's headers |
| adaptive routing | it needs vendors' own MADs, which OpenSM 3.3.23 and 3.3.24 do not support; the plan is for LFTs, with one port for each LID |
| SHARP | a separate manager makes its trees; OpenSM 3.3.23 and 3.3.24 do not support it, and ibsim does not simulate it |
| virtual ports (SR-IOV of ConnectX-4 and later) | OpenSM 3.3.23 and 3.3.24 have no virtual ports (doc/opensm-sriov.txt describes alias GUIDs, which such adapters do not use): their functions stay down, and need the vendor's subnet manager (github.com/linux-rdma/opensm/issues/22) |
| NDR, with OpenSM 3.3.23 and 3.3.24 | users report that large packets are lost on Quantum-2 (github.com/linux-rdma/opensm/issues/38); master has a58c675e against it, after 3.3.24. 3.3.23 has no rates of NDR. Not tried here: ibsim has no such switches |
| planning for routers between subnets | a router's port is an end port like a host's (`router` above); OpenSM's SA (`prefix_routes_file`) chooses the router of a path to another subnet |
| other processors than amd64 | not tried |
"""


def format_table(results):
    """The table. Columns that are the same in all rows stand before it instead."""
    rows = [result.cells() for result in results]
    same = {i for i in range(1, len(HEADER) - 1)
            if len(rows) > 1 and len({row[i] for row in rows}) == 1}
    lines = [[cell for i, cell in enumerate(line) if i not in same] for line in (HEADER, *rows)]
    table = measuring.markdown_table(lines, range(len(HEADER)), aligned=False)
    if not same:
        return table
    return ("In all rows: " + "; ".join(f"{HEADER[i]}: {rows[0][i]}" for i in sorted(same))
            + ".\n\n" + table)


def document(results):
    release = pathlib.Path("/etc/debian_version").read_text().strip()
    foreign = "".join(f"\n{text}\n" for result in results
                      for text in (result.foreign, result.package) if text)
    return HEAD.format(release=release) + format_table(results) + foreign + TAIL


# ------------------------------------------------------------------------------ main

def default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "portmajor" / "suites"


def read_arguments():
    parser = measuring.make_parser(__doc__, "scripts/compatibility")
    parser.add_argument("suites", nargs="*", metavar="SUITE",
                        help=f"of {', '.join(SUITES)} (default: all, or none with --source)")
    parser.add_argument("--source", action="append", default=[], type=pathlib.Path,
                        metavar="DIR", help="a folder of OpenSM's source in which OpenSM was "
                        "built; may be given several times")
    parser.add_argument("--cache", type=pathlib.Path, default=default_cache(), metavar="DIR",
                        help="where the suites are kept, 0.6 GB each (default: %(default)s)."
                        " Remove a suite's folder to have it made anew")
    parser.add_argument("--update", action="store_true",
                        help="write docs/compatibility.md, of the rows of this run, if all is well")
    args = parser.parse_args()
    args.suites = args.suites or ([] if args.source else list(SUITES))
    args.source = [folder.resolve() for folder in args.source]
    return args


def check_arguments(args):
    for suite in args.suites:
        if suite not in SUITES:
            raise Fault(f"no suite {suite}: there are {', '.join(SUITES)}")
    for folder in args.source:
        check_source(folder)
    if args.suites and not shutil.which("debootstrap"):
        raise Fault("no debootstrap here: install it first")
    if args.suites and os.geteuid() != 0:
        raise Fault("suites need root: their folders are made with debootstrap and chroot")


@contextlib.contextmanager
def open_cache(cache):
    """Locks the folder, and removes the rest of a run that was killed."""
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Fault(f"{cache} is in use by another run") from error
        for left in cache.glob("work-*"):
            check_no_mounts(left)
            shutil.rmtree(left)
        yield cache


def measure_all(args):
    with open_cache(args.cache.resolve()) as cache:
        return ([measure(cache, suite, lambda work, log, suite=suite:
                         open_suite(cache, suite, work, log)) for suite in args.suites]
                + [measure(cache, folder.name, lambda work, log, folder=folder:
                           open_source(folder, work, log)) for folder in args.source])


def main():
    args = read_arguments()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        check_arguments(args)
        results = measure_all(args)
    except (Fault, OSError) as fault:
        sys.exit(f"compatibility: {fault}")
    print(format_table(results), end="")
    print("".join(f"{text}\n" for result in results
                  for text in (result.foreign, result.package) if text), end="")
    if any(result.fault for result in results):
        sys.exit(1)
    if args.update:
        DOCUMENT.write_text(document(results), encoding="utf-8")


if __name__ == "__main__":
    main()
