#!/usr/bin/python3
"""gctld is killed every 5 s, and gfeed, agents and a network besides: no request fails

For ten minutes, unless SOAK says less. SOAK="--seconds 60 --seed 7" are options of testsuite/bench/soak_services.py,
which does it (as root: also the network)."""

import os
import pathlib
import shlex
import subprocess
import sys

SOAK = pathlib.Path(__file__).resolve().parents[1] / "bench/soak_services.py"

if __name__ == "__main__":
    print(f"demonstration 10: {__doc__.splitlines()[0]}")
    words = [str(SOAK), *shlex.split(os.environ.get("SOAK", ""))]
    print(f"$ {shlex.join(['testsuite/bench/soak_services.py', *words[1:]])}", flush=True)
    if subprocess.run(["/usr/bin/python3", *words], check=False).returncode:
        sys.exit("demonstration 10: not shown: requests have failed, or the cluster did not come back")
    print("\ndemonstration 10: shown" + (f" with {' '.join(words[1:])}" if words[1:] else ""))
