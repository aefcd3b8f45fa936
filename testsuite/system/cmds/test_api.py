"""libgpusched as programs of others use it: they are compiled against what `make install` puts there, and run."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from cluster import BUILD, SANITIZED, TOP, Cluster, wait_until
from tools import need

CC = (os.environ.get("CC") or "cc").split()[-1]
STRICT = ["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-pedantic", "-Werror"]


@pytest.fixture(name="prefix", scope="module")
def fixture_prefix(tmp_path_factory):
    """The header alone, as it is installed; the library as it was built."""
    include = tmp_path_factory.mktemp("include")
    shutil.copy(TOP / "cmds/api/gpusched.h", include)
    return include


@pytest.fixture(name="c", scope="module")
def fixture_c():
    with Cluster(nodes=("n1",), gpus="h100:2") as c:
        yield c


def compiled(prefix, source):
    """The program that a C file makes, with nothing but gpusched.h and -lgpusched."""
    lib = BUILD / ".libs"
    program = prefix / pathlib.Path(source).stem
    subprocess.run([CC, *STRICT, *(["-fsanitize=address,undefined"] if SANITIZED else []), f"-I{prefix}", "-o", program, source,
                    f"-L{lib}", f"-Wl,-rpath,{lib}", "-lgpusched"], check=True)
    return program


def run(c, program, *argv, stdin="", **kw):
    return subprocess.run([program, *argv], input=stdin, env=c.env, cwd=c.dir / "jobs", capture_output=True, text=True, timeout=120,
                          check=True, **kw).stdout


def test_the_header_stands_alone(prefix):
    need("g++")
    for compiler, language in ((CC, "c"), ("g++", "c++")):
        subprocess.run([compiler, *([] if language == "c++" else STRICT), "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                        "-x", language, prefix / "gpusched.h"], check=True)


def test_every_function_is_in_the_library_and_in_the_manual(prefix):
    need("nm")
    header = re.sub(r"/\*.*?\*/", "", (prefix / "gpusched.h").read_text(), flags=re.S)
    declared = set(re.findall(r"\b(gpusched_[a-z_]+)\(", re.sub(r"typedef .*", "", header)))
    symbols = subprocess.run(["nm", "-D", "--defined-only", BUILD / ".libs/libgpusched.so"], capture_output=True, text=True,
                             check=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in symbols.splitlines() if line.split()[-1].startswith("gpusched_")}
    inline = {name for name in declared if f"{name}_sized" in declared}  # they pass the size of the program's struct
    assert declared - inline == exported
    manual = (TOP / "man/gpusched.3").read_text()
    assert {n for n in declared if not n.endswith("_sized")} == set(re.findall(r"^\.F[no] (gpusched_[a-z_]+)", manual.split(".Sh DESCRIPTION")[0], flags=re.M))


def test_the_example_of_the_manual(prefix, c):
    text = (TOP / "man/gpusched.3").read_text()
    code = text.split(".Sh EXAMPLES\n.Bd -literal\n")[1].split(".Ed")[0].replace("\\e", "\\")
    source = prefix / "manual.c"
    assert "h100:2|l40s:4" in code
    source.write_text(code.replace("|l40s:4", ""))  # which this cluster does not have
    program = compiled(prefix, source)
    env = dict(c.env)
    job = subprocess.run([program], env=env, cwd=c.dir / "jobs", capture_output=True, text=True, check=True).stdout.strip()
    assert c.job(int(job))["gpus"] and run(c, program).strip() == job  # it has a token


def test_many_under_way_at_once(prefix, c):
    program = compiled(prefix, TOP / "etc/examples/api/submit_many.c")
    script = "#!/bin/sh\nexit 0\n"
    out = run(c, program, "700", "monday", stdin=script).split()
    assert out[::2] == [str(i) for i in range(700)]
    ids = [int(i) for i in out[1::2]]
    assert len(set(ids)) == 700
    assert run(c, program, "700", "monday", stdin=script).split() == out
    more = run(c, program, "710", "monday", stdin=script).split()
    assert more[:1400] == out and not set(map(int, more[1401::2])) & set(ids)


# Ends the process when the second answer of the controller is there to be read: the first is the handshake's.
KILLS_ITSELF = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	static int n;
	ssize_t (*next)(int, void *, size_t, int) = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");

	if (++n == atoi(getenv("KILL_AT")))
		raise(SIGKILL);
	return next(fd, buf, len, flags);
}
"""


@pytest.mark.skipif(SANITIZED, reason="its library has to be the first")
def test_a_client_killed_between_sending_and_answer(prefix, c):
    """The job was accepted and nobody heard of it: the repeat gets its id, and there is one."""
    source, shim = prefix / "kills.c", prefix / "kills.so"
    source.write_text(KILLS_ITSELF)
    subprocess.run([CC, "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    (c.dir / "jobs/some").write_text('{"wrap": "true", "hold": true}\n' * 200)
    for token, options, n in (("alone", ["--wrap=true", "--hold"], 1), ("array", ["--wrap=true", "--hold", "--array=0-99"], 1),
                              ("bulk", ["--bulk=some"], 200)):
        before = set(c.jobs())
        argv = ["gsubmit", "--parsable", f"--token={token}", "--export=NONE", *options]
        killed = 0
        for at in range(2, 8):  # of a bulk some of its parts are answered before
            r = c.run(*argv, check=False, env={"LD_PRELOAD": str(shim), "KILL_AT": str(at)})
            killed += r.returncode == -9 and not r.stdout
            if r.returncode == 0:
                break
        assert killed
        wait_until(lambda b=before, m=n: len(set(c.jobs()) - b) in (0, m), "all or none")
        ids = [int(i) for i in c.run(*argv).stdout.split()]
        assert len(set(ids)) == n and set(c.jobs()) - before == set(ids)


def test_none_is_lost_or_twice_through_a_killed_controller(prefix):
    """Groups under way when the controller dies are sent again by the same process; a killed one is begun again."""
    with Cluster(nodes=("n1",), partitions='( { name = "batch"; nodes = "ALL"; default = true; state = "down"; } )') as c:
        program = compiled(prefix, TOP / "etc/examples/api/submit_many.c")
        env = {**c.env, "GPUSCHED_RETRY": "60s"}
        script = "#!/bin/sh\nexit 0\n"

        def begin():
            p = subprocess.Popen([program, "3000", "once"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=c.dir / "jobs",
                                 text=True)
            p.stdin.write(script)
            p.stdin.close()
            p.stdin = None
            return p

        def some():
            before = len(c.jobs())
            wait_until(lambda: len(c.jobs()) > before + 50, "some to be accepted")
        p = begin()
        some()
        p.kill()
        p.communicate()
        p = begin()
        some()
        c.ctld.kill()
        c.start_ctld()
        out = p.communicate(timeout=120)[0].split()
        assert p.returncode == 0 and len(set(out[1::2])) == 3000
        assert set(map(int, out[1::2])) == set(c.jobs())


VERSIONS = r"""
#include <stdio.h>
#include <string.h>
#include <gpusched.h>

static int print(const struct gpusched_job *job, void *arg)
{
	(void)arg;
	printf("%s %s %u\n", job->name, job->state, job->attempt);
#ifdef LATER
	printf("%d %d\n", GPUSCHED_HAS(job, name), GPUSCHED_HAS(job, of_tomorrow));
#endif
	return 0;
}

int main(int argc, char **argv)
{
	struct { struct gpusched_spec v[3]; char guard[64]; } specs;
	struct { struct gpusched_filter f; char guard[64]; } filter;
	struct { struct gpusched_pong p; char guard[64]; } pong;
	struct { struct gpusched_verdict v; char guard[64]; } verdict;
	const char *names[] = { "second", NULL };
	const char script[] = "#!/bin/sh\nexit 0\n";
	struct gpusched_error err;
	struct gpusched *g = gpusched_open(NULL, &err);
	uint64_t ids[3];
	uint32_t done;
	int rc;

	memset(&specs, 'g', sizeof(specs));
	memset(&filter, 'g', sizeof(filter));
	memset(&pong, 'g', sizeof(pong));
	memset(&verdict, 'g', sizeof(verdict));
	for (int i = 0; i < 3; i++) {
		gpusched_spec_init(&specs.v[i]);
		specs.v[i].script = script;
		specs.v[i].script_len = strlen(script);
		specs.v[i].name = i == 1 ? "second" : "other";
		specs.v[i].hold = true;
	}
	gpusched_filter_init(&filter.f);
	filter.f.names = names;
#ifdef LATER
	if (argc > 1 && strcmp(argv[1], "spec") == 0)
		specs.v[1].of_tomorrow = 1;
	if (argc > 1 && strcmp(argv[1], "filter") == 0)
		filter.f.of_tomorrow = names;
#else
	(void)argc, (void)argv;
#endif
	if (gpusched_ping(g, &pong.p, &err) < 0 || !pong.p.uid == !!pong.p.epoch || gpusched_test(g, &specs.v[0], &verdict.v, &err) < 0)
		return printf("%s\n", err.text), 2;
	if (gpusched_submit(g, specs.v, 3, ids, &err) < 0)
		return printf("submit: %s\n", err.text), gpusched_close(g), 3;
	rc = gpusched_control(g, GPUSCHED_CANCEL, &filter.f, 0, NULL, &done, &err);
	if (rc < 0)
		printf("control: %s\n", err.text);
	else
		printf("cancelled %d\n", rc);
	memset(&filter.f, 0, sizeof(filter.f));
	gpusched_filter_init(&filter.f);
	filter.f.ids = ids;
	filter.f.n_ids = 3;
	filter.f.ended = true;
	gpusched_list_jobs(g, &filter.f, print, NULL, &err);
	for (size_t i = 0; i < 64; i++)
		if (specs.guard[i] != 'g' || filter.guard[i] != 'g' || pong.guard[i] != 'g' || verdict.guard[i] != 'g')
			return printf("overwritten\n"), 4;
	filter.f.ended = false;
	gpusched_control(g, GPUSCHED_CANCEL, &filter.f, 0, NULL, &done, &err);
	gpusched_close(g);
	return 0;
}
"""

# The last members of each struct: an older header lacks them, a later one has one more.
LAST = {"gpusched_spec": "const char \\*qos;", "gpusched_filter": "const char \\*const \\*accounts;", "gpusched_pong": "uint32_t uid;",
        "gpusched_verdict": "size_t n_nodes;", "gpusched_job": "const char \\*comment;"}


def header_of(version, folder):
    """gpusched.h as it was before the last members came, or as it will be after another one has come."""
    text = (TOP / "cmds/api/gpusched.h").read_text()
    for struct, first in LAST.items():
        if version == "older":
            text, n = re.subn(rf"(struct {struct} {{\n(?:(?!^}};)[^\n]*\n)*?)\t{first}(?:(?!^}};)[^\n]*\n)*", r"\1", text, flags=re.M)
        else:
            text, n = re.subn(rf"(struct {struct} {{\n(?:(?!^}};)[^\n]*\n)*)", r"\1\tconst void *of_tomorrow;\n", text, flags=re.M)
            text = text.replace("const void *of_tomorrow;\n};\n#define GPUSCHED_UNLIMITED", "uint64_t of_tomorrow;\n};\n#define GPUSCHED_UNLIMITED")
        assert n == 1, struct
    (folder / "gpusched.h").write_text(text)


@pytest.mark.parametrize("version", ["older", "later"])
def test_a_program_of_another_version(c, tmp_path, version):
    header_of(version, tmp_path)
    source = tmp_path / "version.c"
    source.write_text(("#define LATER\n" if version == "later" else "") + VERSIONS.replace("!pong.p.uid == !!pong.p.epoch", "!pong.p.epoch"))
    program = compiled(tmp_path, source)
    out = run(c, program).splitlines()
    assert out[0] == "cancelled 1"
    jobs = [line.split()[:2] for line in out[1:] if line[0] not in "01"]
    assert jobs == [["other", "PENDING"], ["second", "CANCELLED"], ["other", "PENDING"]]
    if version == "later":
        assert out.count("1 0") == 3  # the library says how much of a job it knows
        refused = subprocess.run([program, "spec"], env=c.env, cwd=c.dir / "jobs", capture_output=True, text=True, timeout=60)
        assert refused.returncode == 3 and "does not know" in refused.stdout  # asked for, so not to be ignored
        out = run(c, program, "filter")
        assert "control: the program sets a member of struct gpusched_filter" in out and "cancelled" not in out.split("control")[0]
        assert "second CANCELLED" not in out


def test_symbols_have_versions_and_pkg_config_finds_the_library(tmp_path):
    symbols = subprocess.run(["objdump", "-T", BUILD / ".libs/libgpusched.so"], capture_output=True, text=True, check=True).stdout
    defined = [line.split() for line in symbols.splitlines() if " gpusched_" in line and "*UND*" not in line]
    assert defined and all("GPUSCHED_0.1" in "".join(line) for line in defined)
    env = {**os.environ, "PKG_CONFIG_PATH": str(BUILD / "cmds/api")}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gpusched"], env=env, capture_output=True, text=True, check=True).stdout
    assert "-lgpusched" in flags and "-I" in flags
