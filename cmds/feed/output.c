/* output.c - see output.h */
#include "cmds/feed/output.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/feed/haproxy.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define HAPROXY "haproxy"

/* --- the command line ------------------------------------------------------------------------- */

static int set_service(struct output *o, const char *value, struct error *err)
{
	o->service = value;
	return feed_is_name(value)
	               ? 0
	               : error_set(err, ERR_USAGE, "'%.80s' is no name of a service", value);
}

static int set_port(struct output *o, const char *value, struct error *err)
{
	uint64_t n;

	if (count_parse(value, 1, ENDPOINT_PORTS, &n, err) < 0)
		return -1;
	o->how.port = (size_t)n - 1;
	return 0;
}

/* What is plain, and means nothing in the language of any of these programs. */
static int check_plain(const char *value, const char *also, struct error *err)
{
	static const char plain[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:/";
	const char *mark = strstr(value, "%s");
	size_t n = strspn(value, plain);

	for (; value[n] && strchr(also, value[n]); n += strspn(value + n, plain))
		n++;
	if (mark && mark == value + n)
		n += 2 + strspn(mark + 2, plain);
	if (*value && !value[n])
		return 0;
	return error_set(err, ERR_USAGE, "expected letters, digits and -._:/, and one %%s at most");
}

static int set_backend(struct output *o, const char *value, struct error *err)
{
	o->backend = value;
	return check_plain(value, "", err);
}

static int set_server(struct output *o, const char *value, struct error *err)
{
	o->server = value;
	return check_plain(value, "", err);
}

static int set_slots(struct output *o, const char *value, struct error *err)
{
	uint64_t n;

	if (count_parse(value, 1, 100000, &n, err) < 0)
		return -1;
	o->slots = (uint32_t)n;
	return 0;
}

static int set_backup(struct output *o, const char *value, struct error *err)
{
	o->how.backup = value;
	if (!strchr(value, ':') || strstr(value, "%s"))
		return error_set(err, ERR_USAGE, "expected HOST:PORT");
	return check_plain(value, "[]", err);
}

static int set_model(struct output *o, const char *value, struct error *err)
{
	o->how.model = value;
	return check_plain(value, "", err);
}

static int set_path(struct output *o, const char *value, struct error *err)
{
	o->how.path = value;
	return check_plain(value, "", err);
}

static int set_reload(struct output *o, const char *value, struct error *err)
{
	o->reload.command = value;
	return *value ? 0 : error_set(err, ERR_USAGE, "expected a command");
}

static const struct key {
	const char *name, *only; /* of that output, NULL: of all; "file": of all but haproxy */
	int (*set)(struct output *o, const char *value, struct error *err);
} keys[] = {
	{ "service", NULL, set_service },
	{ "port", NULL, set_port },
	{ "backend", HAPROXY, set_backend },
	{ "server", HAPROXY, set_server },
	{ "slots", HAPROXY, set_slots },
	{ "backup", "nginx", set_backup },
	{ "model", "litellm", set_model },
	{ "path", "litellm", set_path },
	{ "reload", "file", set_reload },
};

static bool takes(const struct output *o, const struct key *k)
{
	return !k->only || !strcmp(k->only, o->word) || (o->format && !strcmp(k->only, "file"));
}

static int set_key(struct output *o, char *text, struct error *err)
{
	char *value = strchr(text, '=');

	for (size_t i = 0; value && i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t len = strlen(keys[i].name);

		if (len != (size_t)(value - text) || strncmp(text, keys[i].name, len) != 0 ||
		        !takes(o, &keys[i]))
			continue;
		return keys[i].set(o, value + 1, err) < 0 ? error_wrap(err, "%s", keys[i].name) : 0;
	}
	error_set(err, ERR_USAGE, "'%.40s': no such key", text);
	return error_hint(err, "%s",
	        o->format
	                ? "FILE[,service=NAME][,port=N][,reload=COMMAND]; nginx: backup=HOST:PORT; "
	                  "litellm: model=, path="
	                : "SOCKET,backend=NAME[,service=NAME][,server=PREFIX][,slots=N][,port=N]");
}

static int parse(struct output *o, struct error *err)
{
	char *s = strchr(o->text, ',');

	o->target = o->text;
	if (text_plain_prefix(o->text, strlen(o->text)) != strlen(o->text) || !*o->text ||
	        s == o->text)
		return error_set(err, ERR_USAGE, "expected a path");
	while (s) {
		char *next = strncmp(s + 1, "reload=", 7) != 0 ? strchr(s + 1, ',') : NULL;

		*s = '\0';
		if (next)
			*next = '\0';
		if (set_key(o, s + 1, err) < 0)
			return -1;
		s = next;
	}
	if (!o->format && !o->backend)
		return error_set(err, ERR_USAGE, "backend=NAME is missing");
	return 0;
}

int output_parse(const char *word, const char *value, struct output *out, struct error *err)
{
	*out = (struct output){ .word = word, .format = format_find(word), .text = xstrdup(value) };
	if (parse(out, err) == 0)
		return 0;
	output_clear(out);
	return -1;
}

void output_clear(struct output *o)
{
	free(o->text);
	*o = (struct output){ .text = NULL };
}

bool output_is_per_service(const struct output *o)
{
	return strstr(o->format ? o->target : o->backend, "%s");
}

int output_settle(struct output *o, char *const *names, size_t n, struct error *err)
{
	bool of_one = o->how.backup || (!o->format && !output_is_per_service(o));

	if (!of_one || o->service)
		return 0;
	if (n == 1)
		o->service = names[0];
	else if (!o->format && feed_is_name(o->backend))
		o->service = o->backend;
	else
		return error_set(err, ERR_USAGE, "--%s=%s: it is for one service: add service=NAME",
		        o->word, o->target);
	return 0;
}

/* The text with the service in place of %s; to be freed. */
static char *of_service(const char *text, const char *service)
{
	struct strbuf out = { 0 };
	const char *mark = strstr(text, "%s");

	strbuf_add(&out, text, mark ? (size_t)(mark - text) : strlen(text));
	if (mark) {
		strbuf_adds(&out, service);
		strbuf_adds(&out, mark + 2);
	}
	return strbuf_take(&out);
}

/* --- what is said ----------------------------------------------------------------------------- */

static void say_failure(struct output *o, const char *where, const struct error *why)
{
	if (!o->failing)
		log_warning("--%s: %s: %s%s%s", o->word, where, why->text, *why->hint ? "; " : "",
		        why->hint);
	o->failing = true;
}

static void say_success(struct output *o)
{
	if (o->failing)
		log_info("--%s=%s: works again", o->word, o->target);
	o->failing = false;
}

/* --- files ------------------------------------------------------------------------------------ */

/* -1: said */
static int write_file(struct output *o, const char *path, const struct feed_service *v, size_t n)
{
	struct strbuf text = { 0 };
	struct error why;
	int rc;

	o->format->write(&text, v, n, &o->how);
	rc = outfile_write(path, text.s ? text.s : "", text.len, &why);
	strbuf_free(&text);
	if (rc < 0)
		say_failure(o, path, &why);
	if (rc > 0)
		reload_wanted(&o->reload);
	return rc;
}

static int write_per_service(struct output *o, const struct feed *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->n; i++) {
		char *path;

		if (o->service && strcmp(o->service, f->v[i].name) != 0)
			continue;
		path = of_service(o->target, f->v[i].name);
		rc |= write_file(o, path, &f->v[i], 1) < 0 ? -1 : 0;
		free(path);
	}
	return rc;
}

static int write_files(struct output *o, const struct feed *f)
{
	const struct feed_service *one = o->service ? feed_find(f, o->service) : NULL;

	if (output_is_per_service(o))
		return write_per_service(o, f);
	if (o->service)
		return write_file(o, o->target, one, one != NULL);
	return write_file(o, o->target, f->v, f->n);
}

static void run_command(struct output *o, int64_t now_ms)
{
	struct error why;

	if (reload_tick(&o->reload, now_ms, &why) < 0)
		say_failure(o, "reload", &why);
}

void output_add_known(const struct output *o, struct feed *f)
{
	const char *mark = o->format ? strstr(o->target, "%s") : NULL;
	size_t before = mark ? (size_t)(mark - o->target) : 0;
	char *pattern;
	glob_t found;

	if (!mark || o->service)
		return;
	pattern = of_service(o->target, "*");
	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			char *name = xstrdup(found.gl_pathv[i] + before);
			size_t len = strlen(name), behind = strlen(mark + 2);

			name[len > behind ? len - behind : 0] = '\0';
			feed_add_unknown(f, name);
			free(name);
		}
		globfree(&found);
	}
	free(pattern);
}

/* --- HAProxy ---------------------------------------------------------------------------------- */

static int keep_backend(struct output *o, const char *backend, const struct feed_service *s)
{
	struct haproxy_backend b = { .socket = o->target,
		.backend = backend,
		.prefix = o->server ? o->server : s->name,
		.max = o->slots,
		.port = o->how.port };
	size_t without = 0;
	struct error why;
	int rc = haproxy_sync(&b, s, &without, &why);

	if (rc < 0)
		say_failure(o, backend, &why);
	if (without && !o->skip_logged)
		log_warning("--haproxy: backend %s: %zu of %zu replicas found no server: it needs "
		            "more of them, "
		            "and replicas numeric addresses",
		        backend, without, feed_serving(s));
	o->skip_logged = without;
	return rc;
}

static int keep_backends(struct output *o, const struct feed *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->n; i++) {
		char *backend;

		if (strcmp(o->service ? o->service : f->v[i].name, f->v[i].name) != 0)
			continue;
		backend = of_service(o->backend, f->v[i].name);
		rc |= keep_backend(o, backend, &f->v[i]) < 0 ? -1 : 0;
		free(backend);
	}
	return rc;
}

/* --- both ------------------------------------------------------------------------------------- */

void output_keep(struct output *o, const struct feed *f, int64_t now_ms)
{
	int rc = o->format ? write_files(o, f) : keep_backends(o, f);
	bool was_due = o->reload.command && (o->reload.pid || o->reload.due_ms <= now_ms);

	if (o->format)
		run_command(o, now_ms);
	/* A command that failed is due later. */
	if (rc == 0 && (!o->reload.command || (!was_due && o->reload.due_ms == INT64_MAX)))
		say_success(o);
}
