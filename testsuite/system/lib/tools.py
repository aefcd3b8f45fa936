"""What the tests call of other Debian packages. `need()` says before a test that all is there: where a program is missing the test is
skipped, and in CI (CI is set) it fails, since there nothing may be missing. testsuite/fresh/check_needs compares the packages with
etc/setup."""

import os
import shutil

import pytest

PACKAGES = {
    "bash": "bash",
    "curl": "curl",
    "g++": "g++",
    "git": "git",
    "haproxy": "haproxy",
    "ip": "iproute2",
    "ipcmk": "util-linux",
    "ipcs": "util-linux",
    "mkfs.ext4": "e2fsprogs",
    "mount": "mount",
    "nginx": "nginx-light",
    "nm": "binutils",
    "nsenter": "util-linux",
    "objdump": "binutils",
    "ps": "procps",
    "tmux": "tmux",
    "unshare": "util-linux",
}
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def need(*programs):
    """Those are there, or the test ends here."""
    missing = [p for p in programs if not shutil.which(p, path=PATH)]
    if missing:
        text = ", ".join(f"{p} (Debian: {PACKAGES[p]})" for p in missing) + " missing: etc/setup packages test installs it"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(text)
