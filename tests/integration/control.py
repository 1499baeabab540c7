# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The plugin's control socket, as a client of it, and the file of requests beside it."""

import json
import os
import socket

import pmlab


def path_of(cache):
    return pmlab.kept(cache, "control")


def requests_of(cache):
    """The content of the file; empty if there is none."""
    path = pmlab.kept(cache, "requests")
    return json.loads(path.read_text("utf-8")) if path.exists() else {
        "number": 0, "drains": [], "releases": [], "rebalance": None, "acknowledged": []}


def drained(cache):
    """[(GUID, port, name)] in the file."""
    return [(d["guid"], d["port"], d.get("label", d["name"])) for d in requests_of(cache)["drains"]]


def part(guid, port=0, label=None):
    return {"guid": f"{guid:#018x}", "port": port, **({"label": label} if label else {})}


class Client:
    """A connection. An answer is a dict; None: the connection ended without one."""

    def __init__(self, cache, timeout=pmlab.TIMEOUT_S):
        self.socket = socket.socket(socket.AF_UNIX)
        folder = os.open(path_of(cache).parent, os.O_PATH)
        try:  # however long the path is
            self.socket.connect(f"/proc/self/fd/{folder}/control")  # waits for its turn
        finally:
            os.close(folder)
        self.socket.settimeout(timeout)
        self.lines = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n")

    def answer(self):
        try:
            line = self.lines.readline()
        except ConnectionError:
            return None
        return json.loads(line) if line else None

    def ask(self, request, **members):
        self.send({"request": request, **members})
        return self.answer()

    def close(self):
        self.lines.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def ask(cache, request, **members):
    with Client(cache) as client:
        return client.ask(request, **members)


def write(cache, port=1, **members):
    """Makes a folder with this file, of a port that no OpenSM uses; returns the folder."""
    folder = cache / f"portmajor.{port:016x}"
    folder.mkdir(exist_ok=True)
    if members:
        (folder / "requests").write_text(json.dumps(
            {"schema": "portmajor-requests", "version": 1, "number": 1, "drains": [],
             "releases": [], "rebalance": None, "acknowledged": [], **members}), "utf-8")
    return folder


def drain(guid, port, name, **members):
    """A drain, as in the file."""
    return {"guid": f"{guid:#018x}", "name": name, "port": port, "number": 1, "since": 7,
            "by": None, "reason": None, **members}
