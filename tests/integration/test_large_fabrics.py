#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The large fabrics of real machines: test_real_fabrics.py's tests, for minutes each."""

import labtest
import real_fabrics
import test_real_fabrics


class Large(test_real_fabrics.Real):
    @classmethod
    def options(cls):
        return {}  # too many pairs of hosts for ibdmchk


class SeleneStorage(Large, labtest.LabCase):
    REAL = real_fabrics.STORAGE


class Director(Large, labtest.LabCase):
    REAL = real_fabrics.DIRECTOR


class SeleneCompute(Large, labtest.LabCase):
    REAL = real_fabrics.COMPUTE
    # A few management machines are below switches without a common one above for most others; paths
    # over the hub would have to turn up before it.
    NOT_JOINED = {"A>H": 1948, "H>A": 40, "H>H": 36}

    test_events = None  # takes an hour: see scripts/fabric-costs --real


class SeleneComputeRoots(SeleneCompute):
    """The same with OpenSM's root_guid_file."""

    @classmethod
    def options(cls):
        path = test_real_fabrics.write_roots(cls.folder / "roots", cls.netlist, cls.levels)
        cls.WALK = ("--root_guid_file", path)
        return {"conf": {"root_guid_file": path}}


class Beside(test_real_fabrics.EnginesBeside):
    def test_ndr_pod(self):
        self.check(real_fabrics.NDR_POD)


if __name__ == "__main__":
    labtest.main()
