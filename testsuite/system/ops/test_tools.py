"""A test that lacks a program is skipped, and in CI it fails."""

import _pytest.outcomes
import pytest
import tools


@pytest.mark.parametrize("ci, outcome", [(None, _pytest.outcomes.Skipped), ("", _pytest.outcomes.Skipped), ("true", _pytest.outcomes.Failed)])
def test_a_missing_program(monkeypatch, tmp_path, ci, outcome):
    monkeypatch.setattr(tools, "PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    if ci is not None:
        monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match=r"ps \(Debian: procps\) missing"):
        tools.need("ps")


def test_one_that_is_there(monkeypatch, tmp_path):
    (tmp_path / "ps").touch(mode=0o755)
    monkeypatch.setattr(tools, "PATH", str(tmp_path))
    tools.need("ps")
