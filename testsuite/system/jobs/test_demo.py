"""Demonstrations of services (testsuite/demo): those that take a few seconds; `make demo-services` shows all."""

import subprocess

import pytest

from cluster import DEADLINE, TOP
from tools import need


@pytest.mark.parametrize("number", [1, 5, 6])
def test_is_shown(number):
    need("curl", *(["haproxy"] if number == 6 else []))
    r = subprocess.run([TOP / "testsuite/demo/run", str(number)], capture_output=True, text=True, timeout=10 * DEADLINE, check=False)
    assert r.returncode == 0 and f"\ndemonstration {number}: shown\n" in r.stdout, r.stdout + r.stderr


def test_what_is_not_so_is_said():
    r = subprocess.run([TOP / "testsuite/demo/run", "99"], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert r.returncode == 2 and "there is no demonstration 99" in r.stderr
