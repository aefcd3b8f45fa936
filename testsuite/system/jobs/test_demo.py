"""Demonstrations of services (testsuite/demo), long ones in their short forms; `make demo-services` shows all.

The seventh, a real model, is the end of the quickstart, which testsuite/fresh runs."""

import os
import subprocess

import pytest

from cluster import DEADLINE, TOP
from tools import need


SHORT = {"SHORT": "1", "SOAK": "--seconds 5 --seed 7"}
SHOWN = {1: [], 2: [], 3: [], 4: ["haproxy"], 5: [], 6: ["haproxy"], 10: ["haproxy", "ip"]}  # and what they need


@pytest.mark.parametrize("number", SHOWN)
def test_is_shown(number):
    need("curl", *SHOWN[number])
    r = subprocess.run(
        [TOP / "testsuite/demo/run", str(number)],
        capture_output=True, text=True, timeout=10 * DEADLINE, check=False, env={**os.environ, **SHORT},
    )
    assert r.returncode == 0 and f"\ndemonstration {number}: shown" in r.stdout, r.stdout + r.stderr


def test_what_is_not_so_is_said():
    r = subprocess.run([TOP / "testsuite/demo/run", "99"], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert r.returncode == 2 and "there is no demonstration 99" in r.stderr
