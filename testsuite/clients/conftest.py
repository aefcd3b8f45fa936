import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(p) for p in sorted((HERE.parent / "system").iterdir()) if p.is_dir())]

import pytest  # noqa: E402
from desk import Desk  # noqa: E402


@pytest.fixture(scope="module")
def desk():
    with Desk() as d:
        yield d
