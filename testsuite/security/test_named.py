"""README.md of this folder names a test for every attack: here they must be."""

import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SUITE = HERE.parent
ROWS = dict(re.findall(r"^\| (\d+|[a-z]) \| [^|]+ \| (.+) \|$", (HERE / "README.md").read_text(), re.M))
OPEN = {18}  # README.md says why


def test_every_row_is_there_or_said_to_be_open():
    assert {int(n) for n in ROWS if n.isdigit()} | OPEN == set(range(1, 19))
    said = (HERE / "README.md").read_text().split("## What is not covered")[1]
    for n in OPEN:
        assert re.search(rf"^\* .*\b{n}\b", said, re.M), n


@pytest.mark.parametrize("row", ROWS)
def test_what_is_named_exists(row):
    names = re.findall(r"`([^`]+)`", ROWS[row])
    assert names
    for name in names:
        if "::" in name:
            path, function = name.split("::")
            path = SUITE / path if "/" in path else HERE / path
            assert re.search(rf"^def {function}\(", path.read_text(), re.M), name
        elif name.startswith("unit/"):
            path, function = name.split(":")
            text = (SUITE / path).read_text()
            assert re.search(rf"^static void {function}\(", text, re.M) and \
                re.search(rf"(cmocka_unit_test\w*|CLIENT_TEST)\(\s*{function}\b", text), name
        else:
            kind, target = name.split("/")
            assert kind == "fuzz" and (SUITE / f"fuzz/fuzz_{target}.c").exists() and \
                any((SUITE / f"fuzz/corpus/{target}").iterdir()), name


def test_every_attack_of_this_folder_has_its_row():
    named = " ".join(ROWS.values())
    for path in HERE.glob("test_*.py"):
        if path.name != "test_named.py":
            assert f"`{path.name}::" in named, path.name
