"""Where the helpers of ../system are, and what several files here begin with."""

import os
import pathlib
import sys

import pytest

sys.path[:0] = [str(p) for p in sorted((pathlib.Path(__file__).parents[1] / "system").iterdir()) if p.is_dir()]

from launcher import Launcher  # noqa: E402


@pytest.fixture(name="lau")
def fixture_lau():
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture(name="canary")
def fixture_canary(lau):
    """A file of root's in a directory of root's; whatever happens, it stays as it is."""
    folder = lau.dir / "canary"
    folder.mkdir(mode=0o755)
    (folder / "file").write_text("alive\n")
    (folder / "file").chmod(0o644)
    before = (folder / "file").stat()
    yield folder
    after = (folder / "file").stat()
    assert (folder / "file").read_text() == "alive\n"
    assert (before.st_ino, before.st_mode, before.st_uid, before.st_mtime_ns) == \
        (after.st_ino, after.st_mode, after.st_uid, after.st_mtime_ns)
    assert sorted(p.name for p in folder.iterdir()) == ["file"]
    assert folder.stat().st_uid == os.geteuid() and folder.stat().st_mode & 0o777 == 0o755
