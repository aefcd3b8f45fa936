"""The end of a job's output on its page: for its owner, by the owner's and the site's consent, and through nothing else."""

import contextlib
import html
import os
import pathlib
import pwd
import re
import signal
import threading

import pytest
from cluster import BIN, ROOT, wait_until
from webserver import WEB_USER, missing, web_cluster

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.skipif(not ROOT, reason="needs other users")]

OWNER, OTHER, OPERATOR = "games", "bin", "daemon"
READERS = f"--output-readers={WEB_USER}"
NO_CONSENT = "its owner has not agreed that it is shown (gsubmit --show-output)"
LINES = 30000  # far more than 64 KiB


@pytest.fixture(scope="module", name="web")
def fixture_web():
    with web_cluster(nodes=("n1", "n2"), roles=f'operators = [ "{OPERATOR}" ];') as w:
        c = w.c
        c.agents["n1"].kill()
        c.start_agent("n1", READERS)
        c.wait_nodes()
        yield w


def submit(web, script, *options, node="n1", show=True, wait="COMPLETED", **kw):
    """A job of the owner that has ended, and the page that may have its output."""
    job = web.c.submit(script, f"--nodelist={node}", *(["--show-output"] if show else []), *options, user=OWNER, **kw)
    if wait:
        web.c.wait_state(job, wait)
    return job


def page(browser, job):
    """The page's status and text."""
    r = browser.get(f"/output/{job}")
    return r.status, r.body.decode()


def words(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def parts(text):
    """What stands in each <pre> that is an output, as it is in the file."""
    return [html.unescape(t) for t in re.findall(r"<pre tabindex=\"0\">(.*?)</pre>", text, re.S) if not t.startswith("glog ")]


def read(web, what, job, *uid, user=WEB_USER):
    return web.c.run(BIN["stream_reader"], what, job, 1, "n1", *uid, user=user, check=False)


@pytest.fixture(scope="module", name="owner")
def fixture_owner(web):
    return web.browser(OWNER)


def test_its_owner_sees_the_end(web, owner):
    """Escaped, whatever bytes it is made of; the errors too where they are in a file of their own."""
    job = submit(web, f"seq 1 {LINES}; printf '<b>&amp;\\033[1;31mred\\033[0m\\033]0;title\\007\\377\\0z\\r50%%\\r\\n\\302\\233end\\n'; echo wrong >&2",
                 "--error=%j.err")
    wait_until(lambda: f'href="/output/{job}"' in owner.get(f"/job/{job}").body.decode(), "its page to know that it ran")
    status, text = page(owner, job)
    assert status == 200, text
    out, err = parts(text)
    lines = out.split("\n")
    assert lines[:198] == [str(n) for n in range(LINES - 197, LINES + 1)], lines[:198]
    assert lines[198:] == ["<b>&amp;red\\x1b]0;title\\x07\\xff\\x00z", "50%", "\\xc2\\x9bend", ""]
    assert err == "wrong\n"
    assert "<b>" not in text and "\033" not in text and f"{job}.err" in text and "from byte" in text
    # So many lines as are asked for, and never more than 64 KiB of whole lines.
    two = words(owner.get(f"/output/{job}?tail=1").body.decode())
    assert "\\x9bend" in two and str(LINES) not in two
    whole, = {len(p) for p in parts(owner.get(f"/output/{job}?tail=1000").body.decode())[:1]}
    assert whole < 64 << 10
    for bad in ("0", "-1", "1001", "x", "99999999999999999999"):
        assert owner.get(f"/output/{job}?tail={bad}").status == 400, bad


def test_a_long_line_and_an_empty_file(web, owner):
    long = submit(web, "head -c 1000000 /dev/zero | tr '\\0' x")
    text, = parts(page(owner, long)[1])
    assert text == "x" * (64 << 10)
    assert "Nothing is in it" in page(owner, submit(web, "true"))[1]


def test_nobody_else_sees_it(web):
    job = submit(web, "echo secret words")
    for user in (OTHER, OPERATOR, None):  # the last is root, an administrator
        b = web.browser(user)
        status, text = page(b, job)
        assert status == 403 and "shown to its owner alone" in text and "secret words" not in text, user
        assert b.get(f"/v1/job/{job}/output").status == 403
        assert f"/output/{job}" not in b.get(f"/job/{job}").body.decode()
    assert web.get(f"/output/{job}").status == 401 and web.get(f"/v1/job/{job}/output").status == 401


def test_what_cannot_be_shown_says_why(web, owner):
    def why(job, status=200):
        got, text = page(owner, job)
        assert got == status and not parts(text), text
        return words(text)
    silent = submit(web, "echo secret words", show=False)
    assert NO_CONSENT in why(silent) and f"glog -f {silent}" in why(silent)
    assert "no --output-readers" in why(submit(web, "echo secret words", node="n2"))
    waits = submit(web, "true", "--hold", wait=None)
    assert "PENDING and has not started" in why(waits, 409)
    array = submit(web, "echo task $GPUSCHED_ARRAY_TASK_ID", "--array=1-2", "--output=%A_%a.show", wait=None)
    wait_until(lambda: web.c.run("gctl", "show", "job", array).stdout.split().count("COMPLETED") == 2, "its tasks to end")
    assert "each of its tasks has an output of its own" in why(array, 409)
    assert parts(page(owner, f"{array}_2")[1]) == ["task 2\n"]
    assert "A job is a number" in why("x", 404)
    assert "does not know" in why(99999999, 404)
    gone = submit(web, "echo secret words", "--output=gone.show")
    (web.c.dir / "jobs/gone.show").unlink()
    assert "No such file" in why(gone)
    # A link that stands in its place is not followed: whose folder it is chooses where it leads.
    (web.c.dir / "jobs/gone.show").symlink_to(web.c.dir / f"jobs/gpusched-{silent}.out")
    assert "it is a symbolic link" in why(gone) and "secret words" in web.c.run("glog", gone, user=OWNER).stdout
    (web.c.dir / "jobs/gone.show").unlink()
    os.mkfifo(web.c.dir / "jobs/gone.show")
    assert "is no regular file" in why(gone)
    (web.c.dir / "jobs/gone.show").unlink()
    (web.c.dir / "jobs/gone.show").write_text("root's\n")
    assert "is no regular file of the job's owner" in why(gone)
    (web.c.dir / "jobs/gone.show").chmod(0o600)
    assert "Permission denied" in why(gone)
    web.c.agents["n1"].kill()
    wait_until(lambda: "the agent of node n1 is not connected" in why(gone), "the node to be known as gone")
    web.c.start_agent("n1", READERS)
    web.c.wait_nodes()
    wait_until(lambda: parts(page(owner, f"{array}_1")[1]) == ["task 1\n"], "the new agent to know of it, and of the agreement")


def test_the_reader_by_itself(web):
    """A gweb that was taken over: what its user gets, whatever it says for which visitor it asks."""
    uid = pwd.getpwnam(OWNER).pw_uid
    shown = submit(web, f"seq 1 {LINES}")
    silent = submit(web, "echo secret words", show=False)
    for job in (shown, silent):  # as itself it may do nothing with jobs
        r = read(web, "tail", job)
        assert r.stdout == "" and "refused: job" in r.stderr and "only its owner or an administrator may follow its output" in r.stderr, r
    for what in ("tail", "end", "all", "follow", "attach", "steps", "input"):
        r = read(web, what, silent, uid)
        assert r.stdout == "" and "refused: " + NO_CONSENT in r.stderr, r
    r = read(web, "tail", shown, uid)
    assert (r.stdout, r.stderr) == (f"{LINES - 1}\n{LINES}\n", "ended ok: \n"), r
    r = read(web, "much", shown, uid)
    assert len(r.stdout) <= 64 << 10 and r.stdout.endswith(f"{LINES}\n") and not r.stdout.startswith("1\n"), r.stdout[:20]
    for what in ("end", "all", "beginning", "follow", "attach", "steps", "input"):
        r = read(web, what, shown, uid)
        assert r.stdout == "" and r.stderr.startswith("ended permission: only the end of its output is shown"), r
    # A controller that was taken over says that the job is the visitor's: the node knows better.
    r = read(web, "tail", shown, uid, pwd.getpwnam(OTHER).pw_uid)
    assert r.stdout == "" and r.stderr.startswith("ended permission: it is another user's job"), r
    # Root reads all output on each node anyway, but as gweb only what its owner has agreed to.
    r = read(web, "end", silent, uid, user=None)
    assert r.returncode == 0 and r.stdout == "secret words\n", r
    r = read(web, "tail", silent, uid, user=None)
    assert r.stdout == "" and r.stderr.startswith("ended permission: " + NO_CONSENT), r
    # Other users are no readers, whatever the owner has agreed to.
    r = read(web, "tail", shown, user=OTHER)
    assert r.stdout == "" and "only its owner or an administrator" in r.stderr, r
    c = web.c
    old = c.policy
    try:
        c.policy = old.replace(f'web_users = [ "{WEB_USER}" ]', f'web_users = [ "{WEB_USER}", "{OTHER}" ]')
        c.write_conf()
        c.run("gctl", "reconfigure")
        r = read(web, "tail", shown, uid, user=OTHER)  # the controller alone makes no reader
        assert r.stdout == "" and f"uid {pwd.getpwnam(OTHER).pw_uid} may not read the output" in r.stderr, r
    finally:
        c.policy = old
        c.write_conf()
        c.run("gctl", "reconfigure")


def test_the_controllers_user_is_no_reader(web):
    """Else a controller that was taken over would read outputs by itself."""
    c = web.c
    argv = ["--test", "--node=n1", f"--rundir={c.dir}/none", f"--spool={c.dir}/none"]
    assert c.run(BIN["gnoded"], *argv, READERS, user="root").returncode == 0
    r = c.run(BIN["gnoded"], *argv, f"--output-readers={WEB_USER},{c.ctld_user.pw_name}", user="root", check=False)
    assert r.returncode and f"--output-readers: {c.ctld_user.pw_name} is the controller's user" in r.stderr, r


def test_its_owner_changes_it(web, owner):
    """As all that is signed: of a job that waits, by the owner alone; or as a default."""
    job = submit(web, "echo words", "--hold", show=False, wait=None)
    r = web.c.run("gctl", "update", job, "--show-output", user="root", check=False)
    assert r.returncode == 5 and "only the job's owner can change what was signed" in r.stderr
    assert not web.c.job(job)["show_output"]
    web.c.run("gctl", "update", job, "--show-output", user=OWNER)
    assert web.c.job(job)["show_output"] and web.c.run("gqueue", "--noheader", "-o", "SHOWN", "-j", job).stdout.split() == ["yes"]
    web.c.run("gctl", "update", job, "--no-show-output", user=OWNER)
    assert not web.c.job(job)["show_output"]
    web.c.run("gctl", "update", job, "--show-output", user=OWNER)
    assert web.c.ctld.stop() == 0
    web.c.start_ctld()
    web.c.wait_nodes()
    assert web.c.job(job)["show_output"]
    web.c.run("gctl", "release", job, user=OWNER)
    web.c.wait_state(job, "COMPLETED")
    assert parts(page(owner, job)[1]) == ["words\n"]
    usual = {"GSUBMIT_SHOW_OUTPUT": "yes"}
    assert parts(page(owner, submit(web, "echo usual", show=False, env=usual))[1]) == ["usual\n"]
    assert NO_CONSENT in words(page(owner, submit(web, "echo not", "--no-show-output", show=False, env=usual))[1])
    assert parts(page(owner, submit(web, "#GPUSCHED --show-output\necho line", show=False))[1]) == ["line\n"]


def test_as_json(web):
    job = submit(web, "printf 'one\\ntwo \\377\\033[1m\\nthree'; echo wrong >&2", "--error=%j.err")
    r = web.as_user(f"/v1/job/{job}/output?tail=2", user=OWNER)
    assert r.status == 200
    one, = r.json["outputs"]
    assert one == {"file": "stdout", "path": f"gpusched-{job}.out", "node": "n1", "attempt": 1, "at": 4, "text": "two �\033[1m\nthree"}
    assert web.as_user(f"/v1/job/{job}/output?file=stderr", user=OWNER).json["outputs"][0]["text"] == "wrong\n"
    assert web.as_user(f"/v1/job/{job}/output?file=core", user=OWNER).status == 400
    together = submit(web, "echo wrong >&2")
    assert web.as_user(f"/v1/job/{together}/output?file=stderr", user=OWNER).json["error"]["text"] == "its errors are in its output"
    silent = submit(web, "true", show=False)
    r = web.as_user(f"/v1/job/{silent}/output", user=OWNER)
    assert r.status == 403 and NO_CONSENT in r.json["error"]["text"]
    assert "outputs" in str(web.get("/v1/openapi.json").json["paths"]["/v1/job/{name}/output"])


def halves(c, node):
    """The agent's processes but its supervisor. Others of its children end meanwhile."""
    found, todo = [], [c.agents[node].pid]
    while todo:
        pid = todo.pop()
        with contextlib.suppress(OSError):
            todo += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            if os.readlink(f"/proc/{pid}/exe").endswith("gnoded") and pid != c.agents[node].pid:
                found.append(pid)
    return found


def test_a_node_that_hangs_delays_no_one_else(web, owner):
    """One reading of one visitor at a time, with an end; other pages come meanwhile."""
    job = submit(web, "echo words")
    stopped = halves(web.c, "n1")
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        answers = []
        thread = threading.Thread(target=lambda: answers.append(page(owner, job)))
        thread.start()
        busy = wait_until(lambda: (r := web.as_user(f"/v1/job/{job}/output", user=OWNER)).status == 503 and r, "the second to be refused")
        assert "another output is being read for you" in busy.json["error"]["text"]
        assert owner.get("/queue").status == 200 and owner.get(f"/job/{job}").status == 200
        thread.join()
        assert answers[0][0] == 200 and "no answer in 5 s" in words(answers[0][1]), answers
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    wait_until(lambda: parts(page(owner, job)[1]) == ["words\n"], "the node to answer again")
