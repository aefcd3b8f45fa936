#!/usr/bin/python3
"""A real model behind it: tesseract reads pages, a burst of eight clients brings replicas, and its end takes them"""

import pathlib
import shutil

from stage import NotSo, narrate  # first: it says where the others are
from test_services import PARTITIONS, Services

DEMO = pathlib.Path(__file__).resolve().parents[2] / "etc/demo"
NEEDED = {"tesseract": "tesseract-ocr", "text2image": "tesseract-ocr"}
TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")


def show(stage):
    for program, package in NEEDED.items():
        if not shutil.which(program):
            raise NotSo(f"{program} is there (Debian: {package})")
    work = stage.c.dir / "demo"
    work.mkdir()
    (work / "page01.orig").write_text(" ".join(TEXT.read_text().split())[:2200])
    stage.say("The part of etc/quickstart that serves: etc/examples/services/ocr.sh, which --metrics=vllm reads")
    stage.type(DEMO / "service", stage.c.dir)
    stage.type("gserve", "show", "ocr")
    stage.stop("ocr")


def make():
    return Services(partitions=PARTITIONS)


if __name__ == "__main__":
    narrate(__file__, show, make, __doc__)
