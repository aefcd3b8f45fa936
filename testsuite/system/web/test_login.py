"""Who sends a request: links, cookies, tokens, credentials, a proxy; and what does not count."""

import json
import os
import pwd

import pytest
from cluster import ROOT, wait_until
from webserver import GWEB, missing, web_cluster

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.skipif(not ROOT, reason="needs other users")]

ANA, BOB, OPERATOR = "games", "mail", "bin"


@pytest.fixture(scope="module", name="web")
def fixture_web():
    with web_cluster(roles=f'operators = [ "{OPERATOR}" ];') as w:
        yield w


def whoami(answer):
    return answer.json["user"] if answer.json["known"] else None



def test_nobody(web):
    assert whoami(web.get("/v1/whoami")) is None
    for path in ("/v1/jobs", "/v1/nodes", "/v1/watch", "/v1/job/1/why", "/slurm/v0.0.38/jobs", "/slurm/v0.0.40/diag"):
        r = web.get(path)
        assert r.status == 401, path
        if path.startswith("/v1/"):
            assert r.error == "auth" and "gweb login" in r.json["error"]["hint"]
    for path in ("/v1/openapi.json", "/login", "/metrics"):
        assert web.get(path).status == 200, path


def test_link_and_cookie(web):
    link = web.login(ANA).stdout.strip()
    assert link.startswith(web.url + "/login?link=")
    path = link.removeprefix(web.url)
    assert web.request("HEAD", path).status == 200  # a program that looks ahead
    first = web.get(path)
    assert first.status == 200
    cookie = first.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie and "Secure" not in cookie
    assert first.headers["Cache-Control"] == "no-store" and first.headers["Referrer-Policy"] == "no-referrer"
    sent = cookie.split(";")[0]
    assert whoami(web.get("/v1/whoami", Cookie=sent)) == ANA
    again = web.get(path)
    assert again.status == 403 and not again.headers["Set-Cookie"]
    for wrong in ("gweb=", "gweb=x", sent[:-1], sent + "x", "gweb=" + path.split("=")[1]):
        assert whoami(web.get("/v1/whoami", Cookie=wrong)) is None, wrong
    assert web.get("/v1/jobs", Cookie=sent).status == 200


def test_a_form_of_another_site(web):
    b = web.browser(ANA)
    for headers in ({}, {"Origin": "http://evil.example"}, {"X_Gweb_Proof": "x"}, {"X_Gweb_Proof": b.cookie.split("=")[1]}):
        r = b.post("/logout", **headers)
        assert r.status == 403, headers
    assert b.post("/logout", "proof=nonsense").status == 403
    assert b.post("/v1/jobs", "{}").status == 403 and b.post("/login").status == 403 and b.post("/token").status == 403
    assert whoami(b.get("/v1/whoami")) == ANA


def test_logout(web):
    b, other = web.browser(ANA), web.browser(ANA)
    proof = b.get("/v1/whoami").json["proof"]
    assert other.post("/logout", f"proof={proof}").status == 403  # that of another session
    assert b.post("/logout", f"proof={proof}", Origin="http://evil.example").status == 403
    assert b.post("/logout", f"proof={proof}", Sec_Fetch_Site="cross-site").status == 403
    assert b.post("/logout", f"proof={proof}", Origin="null", Sec_Fetch_Site="cross-site").status == 403
    with_null = web.browser(ANA)  # a form of a page that tells no referrer
    mine = with_null.get("/v1/whoami").json["proof"]
    assert with_null.post("/logout", f"proof={mine}", Origin="null").status == 200
    r = b.post("/logout", f"a=b&proof={proof}", Origin=web.url, Sec_Fetch_Site="same-origin")
    assert r.status == 200 and "Max-Age=0" in r.headers["Set-Cookie"]
    assert whoami(b.get("/v1/whoami")) is None  # replayed
    assert b.get("/v1/jobs").status == 401
    assert whoami(other.get("/v1/whoami")) == ANA


def test_credential(web):
    header = web.sign("GET", "/v1/whoami?x=1", user=ANA)
    assert web.request("GET", "/v1/whoami", headers=header).status == 401  # another query
    header = web.sign("GET", "/v1/whoami", user=ANA)
    assert whoami(web.request("GET", "/v1/whoami", headers=header)) == ANA
    r = web.request("GET", "/v1/whoami", headers=header)
    assert r.status == 401 and "used before" in r.json["error"]["text"]
    header = web.sign("GET", "/v1/whoami", user=ANA)
    assert web.request("GET", "/v1/nodes", headers=header).status == 401
    header = web.sign("POST", "/v1/jobs", body="a", user=ANA)
    assert web.request("POST", "/v1/jobs", "b", header).status == 401
    header = web.sign("GET", "/v1/whoami", user=ANA)
    other = {**header, "Host": f"localhost:{web.port}"}
    assert web.request("GET", "/v1/whoami", headers=other).status == 401  # made for another name
    for wrong in ("Munge x", "Munge MUNGE:AAAA:", "Munge " + "A" * 4000):
        assert web.request("GET", "/v1/whoami", headers={"Authorization": wrong}).status == 401, wrong
    # What is wrong is refused, also where nobody would do.
    assert web.request("GET", "/metrics", headers={"Authorization": "Munge x"}).status == 401


def test_token(web):
    token = web.login(ANA, "--token=30").stdout.strip()
    for headers in ({"Authorization": f"Bearer {token}"}, {"X-SLURM-USER-TOKEN": token, "X-SLURM-USER-NAME": "whoever"}):
        assert whoami(web.request("GET", "/v1/whoami", headers=headers)) == ANA
        assert web.request("POST", "/login", headers=headers).status == 403
        assert web.request("POST", "/v1/jobs", "{}", headers=headers).status == 403
    forged = token.replace(f".{pwd.getpwnam(ANA).pw_uid}.", ".0.")
    assert forged != token
    for wrong in (forged, token[:-1], "gweb1.0.99999999999.", ""):
        assert web.request("GET", "/v1/whoami", headers={"X-SLURM-USER-TOKEN": wrong}).status == 401, wrong
    assert web.login(ANA, "--token=99999", check=False).returncode != 0


def test_key_outlives_a_restart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("key")
    folder.chmod(0o755)
    key = folder / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o640)
    os.chown(key, 0, pwd.getpwnam("www-data").pw_gid)
    for p in folder.parents:
        if p.stat().st_uid == 0 and p != p.parent:
            p.chmod(p.stat().st_mode | 0o011)
    with web_cluster(f"--key={key}") as w:
        token = w.login(ANA, "--token=1").stdout.strip()
        browser = w.browser(ANA)
        w.close()
        w.start()
        assert whoami(w.request("GET", "/v1/whoami", headers={"Authorization": f"Bearer {token}"})) == ANA
        assert whoami(browser.get("/v1/whoami")) is None
        key.chmod(0o644)
        r = w.c.run(GWEB, f"--key={key}", check=False)
        assert r.returncode == 1 and "others can read" in r.stderr


def test_a_proxy(web):
    """X-Remote-User counts at the unix socket alone."""
    header = {"X-Remote-User": ANA}
    assert whoami(web.request("GET", "/v1/whoami", headers=header)) is None
    assert whoami(web.request("GET", "/v1/whoami", headers=header, unix=True)) == ANA
    assert whoami(web.request("GET", "/v1/whoami", unix=True)) is None
    assert web.request("GET", "/v1/whoami", headers={"X-Remote-User": "no-such-user"}, unix=True).status == 401
    evil = {**header, "Host": "gpus.example", "Origin": "https://evil.example"}
    assert web.request("POST", "/v1/jobs", "{}", evil, unix=True).status == 403
    for origin, site, status in (("null", None, 403), ("null", "cross-site", 403), ("null", "same-origin", 400), (None, None, 400)):
        sent = {**header, **({"Origin": origin} if origin else {}), **({"Sec-Fetch-Site": site} if site else {})}
        assert web.request("POST", "/v1/jobs", "{}", sent, unix=True).status == status, (origin, site)
    link = web.login(ANA, f"--at=unix:{web.unix}").stdout.strip().removeprefix(web.url)
    r = web.request("GET", link, headers={"X-Forwarded-Proto": "https"}, unix=True)
    assert "; Secure" in r.headers["Set-Cookie"] and r.headers["Set-Cookie"].startswith("__Host-gweb=")
    cookie = r.headers["Set-Cookie"].split(";")[0]
    assert whoami(web.get("/v1/whoami", Cookie=cookie)) == ANA


def test_roles_are_the_controllers(web):
    for user, role in ((ANA, "user"), (OPERATOR, "operator"), (None, "administrator")):
        r = web.as_user("/v1/whoami", user=user).json
        assert (r["user"], r["role"]) == (user or "root", role)
    assert web.as_user("/v1/events", user=OPERATOR).status == 200
    assert web.as_user("/v1/events", user=ANA).status == 200  # one's own


def test_gweb_that_is_no_web_user():
    with web_cluster() as w:
        w.c.policy = ""
        w.c.write_conf()
        w.c.run("gctl", "reconfigure")

        def refused():
            r = w.as_user("/v1/jobs", user=BOB)
            return r.status == 403 and r
        assert "look as another user" in wait_until(refused, "a refusal").json["error"]["text"]


def test_a_gone_controller_leaves_logins_as_they_are():
    with web_cluster() as w:
        b = w.browser(ANA)
        w.c.submit("true", "--hold", user=ANA)
        wait_until(lambda: b.get("/v1/jobs").json["jobs"], "the job")
        w.c.ctld.stop()
        assert b.get("/v1/jobs").json["jobs"]
        assert b.get("/v1/job/1/why").status in (502, 504)
        w.c.start_ctld()
        wait_until(lambda: b.get("/v1/job/1/why").status == 200, "the controller")


def test_what_another_program_says(web):
    """gweb login prints only what a link may be."""
    r = web.c.run(GWEB, "login", "--url=http://127.0.0.1:1", check=False, user=ANA)
    assert r.returncode == 4 and "GPUSCHED_WEB" in r.stderr
    for url in ("ftp://h", "127.0.0.1", "http://", "https://gpus.example.org"):
        assert web.c.run(GWEB, "login", f"--url={url}", check=False, user=ANA).returncode == 2, url
    assert json.loads(web.get("/v1/whoami").body)
