"""What etc/quickstart does before it brings anything up: it reads files of its folder as commands, so it takes none that another user
could have laid there. What it brings up: test_story.py; on a machine that has nothing: testsuite/fresh."""

import contextlib
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile

import pytest
from cluster import BUILD, ROOT, TOP, wait_until

QUICKSTART = TOP / "etc/quickstart"
needs_root = pytest.mark.skipif(not ROOT, reason="needs a second user")
OPTIONS = [["--no-demo"], ["--start"], ["--stop"]]


class Place:
    """A folder for everybody, as /tmp is, and a payload that shows when a file of it was read as commands."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gpusched-test-"))
        self.dir.chmod(0o1777)
        self.folder = self.dir / "try"
        self.marker = self.dir / "read"
        self.other = pwd.getpwnam("nobody" if ROOT else pwd.getpwuid(os.geteuid()).pw_name)

    def plant(self, folder, mode=0o755):
        """A folder with a cluster in it, made by the other user."""
        folder.mkdir()
        (folder / "munge").mkdir()
        for name in ("env", "cluster"):
            (folder / name).write_text(f"touch {self.marker}\nnodes=0\n")
        if ROOT:
            for path in (folder, *folder.iterdir()):
                os.chown(path, self.other.pw_uid, self.other.pw_gid)
        folder.chmod(mode)

    def run(self, *options, env=None):
        return subprocess.run([QUICKSTART, *map(str, options)], capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "GPUSCHED_BUILD": str(BUILD), **(env or {})})

    def refuses(self, text, *options):
        r = self.run(*options)
        assert not self.marker.exists(), f"a file of another user was read as commands\n{r.stdout}{r.stderr}"
        assert r.returncode == 1 and re.search(text, r.stderr) and "hint: " in r.stderr, r.stdout + r.stderr


@pytest.fixture(name="place")
def fixture_place():
    p = Place()
    yield p
    if (p.folder / "gpusched.conf").exists():
        p.run("--stop", p.folder)
    shutil.rmtree(p.dir)


@needs_root
@pytest.mark.parametrize("options", OPTIONS)
def test_a_folder_of_another_user(place, options):
    place.plant(place.folder)
    place.refuses("belongs to nobody", *options, place.folder)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
@pytest.mark.parametrize("options", OPTIONS)
def test_a_folder_that_others_may_write_to(place, options, mode):
    place.plant(place.folder)
    os.chown(place.folder, os.geteuid(), place.other.pw_gid)
    place.folder.chmod(mode)
    if mode == 0o775 and not ROOT:
        pytest.skip("its group is the user's own")
    place.refuses("others may write to", *options, place.folder)


@needs_root
@pytest.mark.parametrize("name", ["env", "cluster"])
@pytest.mark.parametrize("options", [["--start"], ["--stop"]])
def test_a_file_of_another_user(place, options, name):
    place.plant(place.folder)
    for path in (place.folder, *place.folder.iterdir()):
        if path.name != name:
            os.chown(path, 0, 0)
    place.refuses(f"{name} is not", *options, place.folder)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_link(place, options):
    """Where it leads to may change."""
    place.plant(place.dir / "there")
    place.folder.symlink_to(place.dir / "there")
    if ROOT:
        os.chown(place.dir / "there", 0, 0)
        os.chown(place.folder, place.other.pw_uid, place.other.pw_gid, follow_symlinks=False)
    place.refuses("is a link", *options, place.folder)


@pytest.mark.parametrize("owner, mode, text", [("other", 0o755, "above it, belongs to nobody"), ("own", 0o777, "above it, others may write to")])
def test_a_folder_below_one_of_others(place, owner, mode, text):
    """They could put another in its place."""
    if owner == "other" and not ROOT:
        pytest.skip("needs a second user")
    below = place.folder / "deep/er"
    below.mkdir(parents=True)
    place.plant(below / "try")
    for path in (below / "try", *(below / "try").iterdir()):
        os.chown(path, os.geteuid(), os.getegid())
    if owner == "other":
        os.chown(place.folder, place.other.pw_uid, place.other.pw_gid)
    place.folder.chmod(mode)
    for options in OPTIONS:
        place.refuses(text, *options, below / "try")
        place.marker.unlink(missing_ok=True)


def test_files_that_are_none_of_its_own_are_left_alone(place):
    place.folder.mkdir()
    (place.folder / "thesis").write_text("years")
    place.refuses("is not empty", "--no-demo", place.folder)
    assert [p.name for p in place.folder.iterdir()] == ["thesis"]


def test_its_own_folder_is_begun_anew(place):
    """Of an earlier try nothing stays, also where a umask would let the group write."""
    place.folder.mkdir(mode=0o755)
    (place.folder / "cluster").touch()
    (place.folder / "old").touch()
    r = subprocess.run(["sh", "-c", 'umask 002; exec "$0" "$@"', QUICKSTART, "--no-demo", place.folder], capture_output=True, text=True,
                       timeout=120, check=False, env={**os.environ, "GPUSCHED_BUILD": str(BUILD)})
    assert r.returncode == 0, r.stdout + r.stderr
    assert not (place.folder / "old").exists()
    for options in (["--stop"], ["--start"], ["--stop"]):
        r = place.run(*options, place.folder)
        assert r.returncode == 0, r.stdout + r.stderr


def test_its_end_is_that_of_services_too(place):
    """Replicas would be started again if they were only cancelled."""
    r = place.run("--no-demo", place.folder)
    assert r.returncode == 0, r.stdout + r.stderr
    submit = "gsubmit --service=stays --ports=1 --ready=file --wrap 'touch $GPUSCHED_RUN_DIR/ready; exec sleep 1000'"
    r = subprocess.run(["sh", "-euc", f". {place.folder}/env; {submit}; until [ -n \"$(gserve endpoints stays)\" ]; do sleep 0.1; done"],
                       capture_output=True, text=True, timeout=60, check=False, cwd=place.folder)
    assert r.returncode == 0, r.stdout + r.stderr
    r = place.run("--stop", place.folder)
    assert r.returncode == 0, r.stdout + r.stderr
    def left():
        found = []
        for p in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it may be gone by now, and be anybody's
                found += [line for line in [p.read_bytes()] if str(place.folder).encode() in line]
        return found
    wait_until(lambda: not left(), lambda: f"all processes to end: {left()}")


def test_examples_fit_on_its_gpus(place):
    """They ask for memory of a GPU; of CPUs and memory this host may have less than they ask for."""
    r = place.run("--no-demo", place.folder)
    assert r.returncode == 0, r.stdout + r.stderr
    for name in ("services/vllm.sh", "services/llamacpp.sh", "jobs/vllm-batch.sh"):
        r = subprocess.run(["sh", "-euc", f". {place.folder}/env; gsubmit --test-only --cpus-per-task=1 --mem=1G {TOP}/etc/examples/{name} x y"],
                           capture_output=True, text=True, timeout=60, check=False, cwd=place.folder)
        assert r.returncode == 0, r.stdout + r.stderr


def test_without_a_folder_it_is_a_private_one(place):
    """No place where others may make a folder first."""
    if ROOT:
        r = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", QUICKSTART, "--stop"], capture_output=True,
                           text=True, check=False, env={**os.environ, "HOME": str(place.dir)})
    else:
        r = place.run("--stop", env={"HOME": str(place.dir)})
    assert r.returncode == 1 and f"no cluster in {place.dir}/gpusched-quickstart" in r.stderr, r.stderr
    readme = (TOP / "README").read_text()
    assert "~/gpusched-quickstart" in readme and "/tmp/gpusched-" not in readme
