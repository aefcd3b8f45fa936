"""install.py - the clients from their packages, outside of the source tree

Each line of `versions` is a folder in $GPUSCHED_CLIENTS, by default /var/cache/gpusched-clients (root) or
~/.cache/gpusched-clients: a virtual environment of Python, a program that Go compiles, or a package of npm's. One that is
complete has a file `installed` with its line of `versions`.
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = os.geteuid() == 0
CACHE = pathlib.Path(os.environ.get("GPUSCHED_CLIENTS") or (
    "/var/cache/gpusched-clients" if ROOT else pathlib.Path.home() / ".cache/gpusched-clients"))
LIMIT = int(os.environ.get("GPUSCHED_CLIENTS_TIMEOUT", "1200"))  # seconds that one client's installation may take


class Missing(Exception):
    """A client that cannot be installed here; the text is the reason."""


def packages():
    lines = [line.split() for line in (HERE / "versions").read_text().splitlines() if line and line[0] != "#"]
    return {name: list(words) for name, *words in lines}


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def run(what, argv, env=None):
    try:
        r = subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=False, timeout=LIMIT, env={**os.environ, **(env or {})})
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Missing(f"{what}: {e}") from None
    if r.returncode:
        raise Missing(f"{what}: {last_line(r.stderr or r.stdout)}")


def python(home, words):
    debian("python3-venv", [sys.executable, "-c", "import ensurepip"])
    run(home.name, [sys.executable, "-m", "venv", home])
    run(" ".join(words), [home / "bin/pip", "install", "-q", "--retries", "1", *words])


def go(home, words):
    """A main package, MODULE/PATH@VERSION, and its build tags; what Go needs to compile it does not stay."""
    package, *tags = words
    if not shutil.which("go"):
        raise Missing(f"{home.name}: there is no go")
    work = home / "work"
    run(package, ["go", "install", "-tags", ",".join(tags), package], {
        "GOBIN": str(home / "bin"), "GOPATH": str(work / "go"), "GOCACHE": str(work / "cache"), "GOFLAGS": "-modcacherw -p=1"})
    shutil.rmtree(work)


def npm(home, packages):
    """Packages in home/node_modules; nothing of theirs is run."""
    if not shutil.which("npm"):
        raise Missing(f"{home.name}: there is no npm")
    run(" ".join(packages), ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home, *packages])


def venv(name):
    """The folder of the client's programs; installs it if it is not there."""
    words, home = packages()[name], CACHE / name
    stamp = home / "installed"
    if stamp.exists() and stamp.read_text().split() == words:
        return home / "bin"
    if HERE.parents[1] in home.resolve().parents:
        raise Missing(f"{home} is inside the source tree")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    kinds = {"go": go, "npm": npm}
    kinds[words[0]](home, words[1:]) if words[0] in kinds else python(home, words)
    stamp.write_text(" ".join(words) + "\n")
    return home / "bin"


def debian(package, present):
    """A package of Debian's: `present` is a command that succeeds where it is installed. Root installs it."""
    def there():
        try:
            return subprocess.run(present, capture_output=True, check=False).returncode == 0
        except OSError:
            return False
    if there():
        return
    if not ROOT or not shutil.which("apt-get"):
        raise Missing(f"Debian's {package} is not installed")
    r = subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package], capture_output=True, text=True,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, check=False)
    if r.returncode or not there():
        raise Missing(f"{package}: {last_line(r.stderr)}")


def main():
    for name in sys.argv[1:] or packages():
        try:
            print(f"{name}: {venv(name)}", flush=True)
        except Missing as e:
            print(f"{name}: skipped: {e}", flush=True)


if __name__ == "__main__":
    main()
