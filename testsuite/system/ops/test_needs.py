"""testsuite/fresh/check_needs, which `make check` runs: what is included is what configure.ac checks and etc/setup installs."""

import os
import pathlib
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("GPUSCHED_BUILD", TOP / "build-gcc"))


@pytest.fixture
def tree(tmp_path):
    """This tree, with a folder cmds of its own to plant in."""
    for name in ["common", "ctld", "noded", "etc", "testsuite", "configure.ac"]:
        (tmp_path / name).symlink_to(TOP / name)
    shutil.copytree(TOP / "cmds", tmp_path / "cmds")
    return tmp_path


def check(tree):
    done = subprocess.run([TOP / "testsuite/fresh/check_needs"], cwd=BUILD, env={**os.environ, "srcdir": str(tree)}, text=True, capture_output=True)
    return done.returncode, done.stdout


def test_this_tree_needs_what_it_names(tree):
    assert check(tree) == (0, "")


@pytest.mark.parametrize("line", ["#include <uthash.h>", "  #  include <sys/capability.h> /* libcap */"])
def test_an_include_that_configure_does_not_check(tree, line):
    (tree / "cmds/planted.c").write_text(line + "\n")
    code, said = check(tree)
    header = line.partition("<")[2].partition(">")[0]
    assert code == 1 and f"FAIL: <{header}> is neither ISO C nor POSIX, and configure.ac does not check it" in said
    assert "cmds/planted.c" in said


def test_an_include_of_a_package_that_setup_does_not_install(tree):
    (tree / "cmds/planted.c").write_text("#include <sys/acl.h>\n")
    text = (TOP / "configure.ac").read_text()
    (tree / "configure.ac").unlink()
    (tree / "configure.ac").write_text(text.replace("\nNEEDS_MET\n", "\nNEED_HEADERS([libacl1-dev], [sys/acl.h])\nNEEDS_MET\n"))
    code, said = check(tree)
    assert code == 1 and "<sys/acl.h> is of libacl1-dev, which is in no set of etc/setup that is installed for it: build\n" in said
