/* login_command.c - see login_command.h
 *
 * One request over HTTP, small enough to be written here: a library would be one more that gweb
 * loads. Browsers use https to a proxy in front of gweb; the command connects to gweb itself
 * (--at), and sends the name that browsers use (--url).
 */
#include "cmds/web/auth/login_command.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <jansson.h>

#include "cmds/api/client.h"
#include "cmds/cli/cmd.h"
#include "cmds/web/auth/sessions.h"
#include "common/base/fd_close.h"
#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "common/net/munge.h"

#define ANSWER_MAX (256 * 1024)
#define BODY_MAX   (8 << 20)
#define TIMEOUT_S  30

struct login {
	const char *url, *at, *token_days;
	const char *words[3]; /* of `gweb sign` */
	size_t n_words;
	bool sign;
	char *host, *prefix; /* of the URL: HOST:PORT, and all that stands before a path */
};

/* --- addresses -------------------------------------------------------------------------------- */

/* "http://HOST:PORT/path": what a browser sends as Host, and where the path begins. */
static int read_url(struct login *l, const char *url, const char **path, struct error *err)
{
	const char *host = strstr(url, "://");
	size_t n;

	if (!host || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0))
		return error_set(
		        err, ERR_USAGE, "%.200s: expected http://HOST:PORT or https://HOST", url);
	host += 3;
	n = strcspn(host, "/?#");
	if (!n || memchr(host, '@', n))
		return error_set(err, ERR_USAGE, "%.200s: names no host", url);
	l->host = xstrndup(host, n);
	l->prefix = xstrndup(url, (size_t)(host - url) + n);
	*path = host[n] == '/' ? host + n : "/";
	return 0;
}

static int connect_unix(const char *path, struct error *err)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(sun.sun_path))
		return error_set(err, ERR_USAGE, "%.200s: the path of a socket is shorter", path);
	strcpy(sun.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0)
		return fd;
	error_set(err, ERR_UNREACHABLE, "no gweb at %.200s: %s", path, strerror(errno));
	fd_close(fd);
	return -1;
}

static int connect_tcp(const char *at, struct error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(at, ':'), *end = strrchr(at, ']');
	const char *port = colon && (!end || colon > end) ? colon + 1 : "80";
	size_t n = port == colon + 1 ? (size_t)(colon - at) : strlen(at);
	bool v6 = at[0] == '[' && end;
	char *host = v6 ? xstrndup(at + 1, (size_t)(end - at) - 1) : xstrndup(at, n);
	struct addrinfo *list, *ai;
	int fd = -1, rc = getaddrinfo(*host ? host : "127.0.0.1", port, &hints, &list);

	free(host);
	if (rc)
		return error_set(err, ERR_UNREACHABLE, "%.200s: %s", at, gai_strerror(rc));
	for (ai = list; ai && fd < 0; ai = ai->ai_next) {
		fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol);
		if (fd >= 0 && connect(fd, ai->ai_addr, ai->ai_addrlen) < 0) {
			error_set(
			        err, ERR_UNREACHABLE, "no gweb at %.200s: %s", at, strerror(errno));
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

static int connect_to(const struct login *l, struct error *err)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	int fd;

	if (!l->at && !strncmp(l->prefix, "https://", 8)) {
		error_set(err, ERR_USAGE, "%.200s: this program speaks no https", l->prefix);
		return error_hint(
		        err, "--at=ADDRESS says where gweb itself listens, behind the proxy");
	}
	if (l->at && !strncmp(l->at, "unix:", 5))
		fd = connect_unix(l->at + 5, err);
	else
		fd = connect_tcp(l->at ? l->at : l->host, err);
	if (fd < 0)
		return error_hint(
		        err, "--url=http://HOST:PORT or %s says where it is", LOGIN_URL_VARIABLE);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	return fd;
}

/* --- signing ---------------------------------------------------------------------------------- */

/* The credential over one request; the caller frees it. NULL with `err`. */
static char *make_credential(const struct login *l, const char *method, const char *path,
        const void *body, size_t len, struct error *err)
{
	struct client *c = client_new(NULL, err);
	const struct mcred_ops *ops;
	char *text, *cred = NULL;

	if (!c)
		return NULL;
	ops = client_mcred(c);
	text = auth_signed_text(method, path, l->host, body, len);
	if (ops->encode(ops, text, strlen(text), MCRED_ANY_UID, &cred, err) < 0)
		cred = NULL;
	free(text);
	client_free(c);
	return cred;
}

static int read_file(const char *path, struct strbuf *out, struct error *err)
{
	FILE *f = !strcmp(path, "-") ? stdin : fopen(path, "re");
	char buf[65536];
	size_t n;
	int rc = 0;

	if (!f)
		return error_set(err, ERR_USAGE, "%.200s: %s", path, strerror(errno));
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0 && out->len <= BODY_MAX)
		strbuf_add(out, buf, n);
	if (ferror(f))
		rc = error_set(err, ERR_SYSTEM, "%.200s: %s", path, strerror(errno));
	else if (out->len > BODY_MAX)
		rc = error_set(err, ERR_USAGE, "%.200s: more than %d MiB", path, BODY_MAX >> 20);
	if (f != stdin)
		fclose(f);
	return rc;
}

static int sign(struct login *l, struct error *err)
{
	struct strbuf body = { 0 };
	const char *path;
	char *cred;

	if (l->n_words < 2)
		return error_set(err, ERR_USAGE, "expected METHOD URL [FILE]");
	if (read_url(l, l->words[1], &path, err) < 0 ||
	        (l->n_words > 2 && read_file(l->words[2], &body, err) < 0))
		return -1;
	cred = make_credential(l, l->words[0], path, body.s, body.len, err);
	strbuf_free(&body);
	if (!cred)
		return -1;
	printf("Authorization: Munge %s\n", cred);
	free(cred);
	return EXIT_DONE;
}

/* --- logging in ------------------------------------------------------------------------------- */

static int send_all(int fd, const char *s, size_t n, struct error *err)
{
	while (n) {
		ssize_t k = send(fd, s, n, MSG_NOSIGNAL);

		if (k < 0 && errno != EINTR)
			return error_set(err, ERR_UNREACHABLE, "gweb: %s", strerror(errno));
		s += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
	return 0;
}

static int receive_all(int fd, struct strbuf *out, struct error *err)
{
	char buf[4096];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 && out->len < ANSWER_MAX)
		strbuf_add(out, buf, (size_t)n);
	if (n < 0)
		return error_set(err, ERR_UNREACHABLE, "gweb: %s",
		        errno == EAGAIN ? "no answer in time" : strerror(errno));
	return 0;
}

/* The status of an answer and its body; -1 with `err`. */
static int read_answer(const struct strbuf *answer, const char **body, struct error *err)
{
	const char *head = answer->s ? strstr(answer->s, "\r\n\r\n") : NULL;
	int status;

	if (!head || sscanf(answer->s, "HTTP/1.%*d %d", &status) != 1)
		return error_set(err, ERR_PROTOCOL, "what answers there is no gweb");
	*body = head + 4;
	return status;
}

/* What gweb says is foreign: it goes to a terminal only as text without control characters. */
static int refused(int status, const char *body, struct error *err)
{
	json_t *j = json_loads(body, 0, NULL);
	const char *text = json_string_value(json_object_get(json_object_get(j, "error"), "text"));
	char shown[300];

	text = text ? text : body;
	text_escape(shown, sizeof(shown), text, strcspn(text, "\n"));
	error_set(err, status == 401 || status == 403 ? ERR_NOT_PERMITTED : ERR_UNREACHABLE,
	        "gweb answers %d: %s", status, shown);
	json_decref(j);
	return -1;
}

/* Send a POST that is signed. On success *answer is the JSON. */
static int post(const struct login *l, const char *path, json_t **answer, struct error *err)
{
	char *cred = make_credential(l, "POST", path, NULL, 0, err);
	struct strbuf request = { 0 }, got = { 0 };
	const char *body = "";
	int fd = cred ? connect_to(l, err) : -1, status = -1;

	if (fd >= 0) {
		strbuf_addf(&request,
		        "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Munge %s\r\n"
		        "Content-Length: 0\r\nConnection: close\r\n\r\n",
		        path, l->host, cred);
		if (send_all(fd, request.s, request.len, err) == 0 &&
		        receive_all(fd, &got, err) == 0)
			status = read_answer(&got, &body, err);
		close(fd);
	}
	if (status >= 0 && status != 200)
		status = refused(status, body, err);
	*answer = status == 200 ? json_loads(body, 0, NULL) : NULL;
	if (status == 200 && !*answer)
		status = error_set(err, ERR_PROTOCOL, "gweb's answer is no JSON");
	strbuf_free(&request);
	strbuf_free(&got);
	free(cred);
	return status < 0 ? -1 : 0;
}

/* A text of the answer that is of letters that a link or a token has. */
static const char *plain(const json_t *answer, const char *key, struct error *err)
{
	const char *text = json_string_value(json_object_get(answer, key));

	if (text &&
	        text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                          "/?=._-")] == '\0')
		return text;
	error_set(err, ERR_PROTOCOL, "gweb's answer has no %s", key);
	return NULL;
}

static int log_in(struct login *l, struct error *err)
{
	const char *url = l->url ? l->url : getenv(LOGIN_URL_VARIABLE), *rest, *text;
	char *path;
	json_t *answer;
	int rc;

	if (read_url(l, url && *url ? url : LOGIN_URL, &rest, err) < 0)
		return -1;
	path = l->token_days ? xasprintf("/token?days=%s", l->token_days) : xstrdup("/login");
	rc = post(l, path, &answer, err);
	free(path);
	if (rc < 0)
		return -1;
	text = plain(answer, l->token_days ? "token" : "link", err);
	if (text && l->token_days)
		puts(text);
	else if (text)
		printf("%s%s\n", l->prefix, text);
	json_decref(answer);
	return text ? EXIT_DONE : -1;
}

/* --- the commands ----------------------------------------------------------------------------- */

static int take_word(int key, char *value, struct argp_state *state, void *input, struct error *err)
{
	struct login *l = input;

	(void)key, (void)state;
	if (!l->sign || l->n_words == 3)
		return error_set(err, ERR_USAGE, "'%.80s' is one argument too many", value);
	l->words[l->n_words++] = value;
	return 0;
}

static CMD_SETTER(set_days)
{
	if (!*value || value[strspn(value, "0123456789")])
		return error_set(err, ERR_USAGE, "expected a number of days");
	*(const char **)field = value;
	return 0;
}

static const struct cmd_option login_table[] = {
	CMD_ROW(struct login, url, "url", 0, "URL", cmd_set_text,
	        "What a browser calls gweb (" LOGIN_URL ", or $" LOGIN_URL_VARIABLE ")"),
	CMD_ROW(struct login, at, "at", 0, "AT", cmd_set_text,
	        "Where gweb listens, behind a proxy: ADDRESS:PORT or unix:PATH"),
	CMD_ROW(struct login, token_days, "token", 0, "DAYS", set_days,
	        "Print a token for a program that only reads, good for so long"),
	CMD_TABLE_END,
};

static const struct cmd login_cmd = {
	.name = "gweb login",
	.arguments = "",
	.about = "Prove who you are to gweb, and print a link that logs a browser in: once, within "
	         "a "
	         "minute.",
	.examples =
	        "Examples:\n"
	        "  gweb login\n"
	        "  gweb login --url=https://gpus.example.org --at=unix:/run/gweb/http.sock\n"
	        "  gweb login --token=90 >telegraf.token\n"
	        "\n"
	        "Exit status: 0 done; 2 usage; 4 gweb or munge does not answer; 5 not permitted.",
	.take = take_word,
	.table = login_table,
};

static const struct cmd_option sign_table[] = { CMD_TABLE_END };

static const struct cmd sign_cmd = {
	.name = "gweb sign",
	.arguments = "METHOD URL [FILE]",
	.about = "Print the header with which one request proves who you are; FILE is its body.",
	.examples = "Examples:\n"
	            "  url=http://127.0.0.1:7380/v1/jobs?user=ana\n"
	            "  curl -H \"$(gweb sign GET \"$url\")\" \"$url\"\n"
	            "  gsubmit --sign-only job.sh >job.json\n"
	            "  url=http://127.0.0.1:7380/v1/jobs\n"
	            "  curl -H \"$(gweb sign POST $url job.json)\" --data-binary @job.json $url\n"
	            "\n"
	            "Exit status: 0 done; 2 usage; 4 munge does not answer.",
	.take = take_word,
	.table = sign_table,
};

static int run_login(void *input, struct error *err)
{
	return log_in(input, err);
}

static int run_sign(void *input, struct error *err)
{
	return sign(input, err);
}

int login_main(int argc, char **argv)
{
	struct login l = { .sign = !strcmp(argv[0], "sign") };
	int status = cmd_main(
	        l.sign ? &sign_cmd : &login_cmd, argc, argv, &l, l.sign ? run_sign : run_login);

	free(l.host);
	free(l.prefix);
	return status;
}
