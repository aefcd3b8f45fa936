/* client.c - see client.h */
#include "cmds/api/client.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmds/api/pastfile.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"

#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 1000
#define TELL_MS      1000

struct client {
	struct conf_client conf;
	struct mcred_ops *mcred;
	uid_t server_uid;
	struct dial *dial;     /* NULL: not connected */
	int reader_fd;         /* or -1 */
	struct pastfile *file; /* what is asked instead of a controller; NULL: none */
	uint64_t generation;
	struct backoff backoff;
	int64_t retry_ms;
	int64_t failing_since_ms; /* -1: all is well */
	bool told;
	void (*tell)(const struct error *why, void *arg);
	void *tell_arg;
	void (*warn)(const char *text, void *arg);
	void *warn_arg;
	void (*progress)(size_t done, size_t all, void *arg);
	void *progress_arg;
};

/* A user's name or number. */
static int find_uid(const char *user, const char *whose, uid_t *uid, struct error *err)
{
	char buf[4096];
	struct passwd pw, *found;
	uint64_t n;
	int rc;

	if (count_parse(user, 0, UINT32_MAX - 1, &n, NULL) == 0) {
		*uid = (uid_t)n;
		return 0;
	}
	rc = getpwnam_r(user, &pw, buf, sizeof(buf), &found);
	if (!found) {
		error_set(err, ERR_CONFIG, "the %s '%s': %s", whose, user,
		        rc ? strerror(rc) : "no such user on this host");
		return error_hint(err, "in the configuration it may be a number");
	}
	*uid = found->pw_uid;
	return 0;
}

static int read_retry(int64_t *ms, struct error *err)
{
	const char *value = getenv(CLIENT_RETRY_VARIABLE);
	uint64_t n;

	*ms = CLIENT_RETRY_MS;
	if (!value || !*value)
		return 0;
	if (duration_parse_ms(value, DURATION_BARE_S, &n, err) < 0)
		return error_wrap(err, "%s=%s", CLIENT_RETRY_VARIABLE, value);
	*ms = n > INT64_MAX ? -1 : (int64_t)n;
	return 0;
}

static struct client *make_client(void)
{
	struct client *c = xcalloc(1, sizeof(*c));

	c->failing_since_ms = c->reader_fd = -1;
	return c;
}

struct client *client_new(const char *conf, struct error *err)
{
	struct client *c = make_client();

	if (conf_client_load(conf, &c->conf, err) < 0) {
		free(c);
		return NULL;
	}
	if (find_uid(c->conf.controller_user, "controller's user", &c->server_uid, err) < 0 ||
	        read_retry(&c->retry_ms, err) < 0)
		goto error;
	c->mcred = mcred_munge_new(c->conf.munge_socket, c->conf.munge_socket_2);
	if (!c->mcred) {
		error_set(err, ERR_SYSTEM, "out of memory");
		goto error;
	}
	return c;
error:
	client_free(c);
	return NULL;
}

struct client *client_new_file(const char *path, struct error *err)
{
	struct client *c = make_client();

	c->file = pastfile_open(path, err);
	if (c->file) {
		c->conf.cluster = xstrdup(pastfile_cluster(c->file));
		return c;
	}
	error_wrap(err, "--file=%s", path);
	client_free(c);
	return NULL;
}

struct client *client_new_with(
        const struct conf_client *conf, struct mcred_ops *mcred, uid_t server_uid)
{
	struct client *c = make_client();

	c->conf = *conf;
	c->mcred = mcred;
	c->server_uid = server_uid;
	c->retry_ms = CLIENT_RETRY_MS;
	return c;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	dial_close(c->dial);
	pastfile_close(c->file);
	mcred_ops_free(c->mcred);
	conf_client_clear(&c->conf);
	free(c);
}

const struct conf_client *client_conf(const struct client *c)
{
	return &c->conf;
}

const struct mcred_ops *client_mcred(const struct client *c)
{
	return c->mcred;
}

int client_agent_uid(const struct client *c, uid_t *uid, struct error *err)
{
	return find_uid(c->conf.agent_user ? c->conf.agent_user : "root", "agents' user", uid, err);
}

void client_set_retry(struct client *c, int64_t ms)
{
	c->retry_ms = ms;
}

int64_t client_retry(const struct client *c)
{
	return c->retry_ms;
}

void client_on_retry(struct client *c, void (*tell)(const struct error *why, void *arg), void *arg)
{
	c->tell = tell;
	c->tell_arg = arg;
}

void client_on_warning(struct client *c, void (*warn)(const char *text, void *arg), void *arg)
{
	c->warn = warn;
	c->warn_arg = arg;
}

void client_on_progress(
        struct client *c, void (*progress)(size_t done, size_t all, void *arg), void *arg)
{
	c->progress = progress;
	c->progress_arg = arg;
}

void client_progress(const struct client *c, size_t done, size_t all)
{
	if (c->progress)
		c->progress(done, all, c->progress_arg);
}

void client_warn(const struct client *c, const char *text)
{
	if (*text && c->warn)
		c->warn(text, c->warn_arg);
}

void client_worked(struct client *c)
{
	c->failing_since_ms = -1;
}

bool client_pause(struct client *c, const struct error *why)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC), pause;
	struct timespec ts;

	if (!dial_may_retry(why))
		return false;
	if (c->failing_since_ms < 0) {
		c->failing_since_ms = now;
		c->told = false;
		backoff_init(&c->backoff, PAUSE_MIN_MS, PAUSE_MAX_MS,
		        (uint64_t)now ^ ((uint64_t)getpid() << 32));
	}
	pause = backoff_next_ms(&c->backoff);
	if (c->retry_ms >= 0 && now + pause > c->failing_since_ms + c->retry_ms)
		return false;
	if (c->tell && !c->told && now - c->failing_since_ms > TELL_MS) {
		c->told = true;
		c->tell(why, c->tell_arg);
	}
	ts = (struct timespec){ pause / 1000, pause % 1000 * 1000000 };
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
	return true;
}

void client_for_reader(struct client *c, int fd)
{
	c->reader_fd = fd;
	if (c->dial)
		dial_for_reader(c->dial, fd);
}

struct dial *client_dial(struct client *c, struct error *err)
{
	struct dial_to to = {
		.host = c->conf.host,
		.port = c->conf.port,
		.cluster = c->conf.cluster,
		.server_uid = c->server_uid,
		.mcred = c->mcred,
	};
	struct error why;

	while (!c->dial) {
		c->dial = dial_open(&to, &why);
		if (c->dial) {
			dial_for_reader(c->dial, c->reader_fd);
			c->generation++;
		} else if (!client_pause(c, &why)) {
			if (err)
				*err = why;
			return NULL;
		}
	}
	return c->dial;
}

const struct dial *client_connection(const struct client *c)
{
	return c->dial;
}

uint64_t client_generation(const struct client *c)
{
	return c->generation;
}

void client_drop(struct client *c)
{
	dial_close(c->dial);
	c->dial = NULL;
}

/* --- one request ---------------------------------------------------------------------------- */

struct counted {
	const struct client *client;
	const struct client_call *call;
	bool handed_over; /* part of the answer */
	bool ours;        /* the callee ended it */
};

static int count_chunk(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct counted *counted = arg;
	int rc = call_part(counted->call, type, m, err);

	counted->handed_over = true;
	counted->ours = rc < 0;
	return rc;
}

static void pass_warning(const char *text, void *arg)
{
	const struct counted *counted = arg;

	client_warn(counted->client, text);
}

/* May the connection be used again after this failure? A refusal is an answer like any other. */
static bool is_answer(const struct error *err)
{
	switch (err->code) {
	case ERR_UNREACHABLE:
	case ERR_TIMEOUT:
	case ERR_PROTOCOL:
	case ERR_SYSTEM:
	case ERR_INTERNAL:
	case ERR_BUSY:
		return false;
	default:
		return true;
	}
}

static int check_size(const struct client_call *call, struct error *err)
{
	const struct msg_type *type = msg_type(call->type);
	size_t n = protobuf_c_message_get_packed_size(call->request);

	if (!type || n <= type->max_len)
		return 0;
	return error_set(err, ERR_USAGE,
	        "%zu bytes of names and numbers; at most %u in one request: ask in several", n,
	        type->max_len);
}

int client_call(struct client *c, const struct client_call *call, struct error *err)
{
	if (check_size(call, err) < 0)
		return -1;
	if (c->file)
		return pastfile_call(c->file, call, err);
	for (;;) {
		struct counted counted = { .client = c, .call = call };
		struct dial_call dc = { call->type, call->request, count_chunk, &counted,
			call->timeout_ms, pass_warning };
		struct error why = { .code = ERR_NONE };
		struct dial *d = client_dial(c, err);

		if (!d)
			return -1;
		if (dial_call(d, &dc, &why) >= 0) {
			client_worked(c);
			return 0;
		}
		if (counted.ours || !is_answer(&why))
			client_drop(c);
		else
			client_worked(c);
		if (counted.ours || !call->repeatable || counted.handed_over ||
		        !client_pause(c, &why)) {
			if (err)
				*err = why;
			return -1;
		}
	}
}
