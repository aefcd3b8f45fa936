/* scrape.c - see scrape.h */
#include "cmds/services/scrape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/services/owner_messages.h"
#include "cmds/services/runfile.h"
#include "cmds/services/scrape_interval.h"
#include "cmds/services/server_metrics.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

#define LOAD_FILE "load"
#define SAID_MAX  16 /* of a server that is well now and then */

struct scrape {
	struct scrape_ops ops;
	struct fetch *fetch; /* NULL: of the file */
	struct server_metrics reader;
	struct load last;
	struct scrape_interval interval;
	bool wanted, hurry;
	bool said; /* why the load is not known, since it was known */
	unsigned times_said;
	int64_t began_ms, next_ms;
	int64_t cpu_us; /* of this process, when it began */
};

struct scrape *scrape_new(
        struct loop *loop, struct server_address *target, const struct scrape_ops *ops)
{
	struct scrape *s = xcalloc(1, sizeof(*s));

	s->ops = *ops;
	if (strcmp(ops->preset, SCRAPE_FILE) != 0)
		s->fetch = fetch_new(loop, target);
	return s;
}

/* --- what has come ---------------------------------------------------------------------------- */

static bool is_same(const struct load *a, const struct load *b)
{
	if (a->known != b->known)
		return false;
	for (int i = 0; a->known && i < LOAD_FIELDS; i++)
		if (a->has[i] != b->has[i] || a->v[i] < b->v[i] || a->v[i] > b->v[i])
			return false;
	return true;
}

static void say_why(struct scrape *s, const struct error *err)
{
	if (s->said || s->times_said == SAID_MAX)
		return;
	s->said = true;
	s->times_said++;
	owner_message("the load is not known: %s", err->text);
}

/* `err`: why it is not known. */
static void take(struct scrape *s, const struct load *l, const struct error *err)
{
	int64_t took_ms = loop_now_ms() - s->began_ms;
	int64_t used_us = clock_us(CLOCK_PROCESS_CPUTIME_ID) - s->cpu_us;

	if (l->known)
		s->said = false;
	else
		say_why(s, err);
	s->next_ms = s->began_ms +
	             scrape_interval_next_ms(&s->interval, !is_same(l, &s->last), took_ms, used_us);
	if (s->hurry)
		s->next_ms = s->began_ms + SCRAPE_HURRY_MS;
	s->last = *l;
	s->ops.load(s->ops.arg, l, s->began_ms);
}

static void on_body(void *arg, const void *data, size_t len)
{
	struct scrape *s = arg;

	metrics_feed(&s->reader.metrics, data, len);
}

static int read_answer(
        struct scrape *s, const struct fetch_end *end, struct load *l, struct error *err)
{
	if (end->err) {
		*err = *end->err;
		return -1;
	}
	if (end->status != 200)
		return error_set(err, ERR_PROTOCOL, "%s: status %u", s->ops.path, end->status);
	if (end->cut)
		return error_set(err, ERR_PROTOCOL, "%s: more than %d MiB", s->ops.path,
		        SCRAPE_BODY_MAX >> 20);
	if (end->framed)
		metrics_feed(&s->reader.metrics, "\n", 1);
	if (!metrics_end(&s->reader.metrics))
		return error_set(err, ERR_PROTOCOL, "%s: it breaks off", s->ops.path);
	return server_metrics_end(&s->reader, l, err);
}

static void on_answer(void *arg, const struct fetch_end *end)
{
	struct scrape *s = arg;
	struct load l = { 0 };
	struct error err = { 0 };

	if (read_answer(s, end, &l, &err) < 0)
		l = (struct load){ 0 };
	take(s, &l, &err);
}

static void read_file(struct scrape *s)
{
	char text[LOAD_FILE_MAX + 1];
	struct load l = { 0 };
	struct error err = { 0 };
	int64_t age_s = 0;
	int n = runfile_read(s->ops.run_dir, LOAD_FILE, text, sizeof(text), &age_s, &err);

	if (n >= 0 && age_s > LOAD_FILE_AGE_S)
		error_set(&err, ERR_TIMEOUT, "the file %s is %" PRId64 " s old", LOAD_FILE, age_s);
	else if (n >= 0 && load_from_text(text, (size_t)n, &l, &err) < 0)
		error_wrap(&err, "the file %s", LOAD_FILE);
	take(s, &l, &err);
}

/* --- when ------------------------------------------------------------------------------------- */

static void begin(struct scrape *s, int64_t now_ms)
{
	struct fetch_request r = { .path = s->ops.path,
		.max_body = SCRAPE_BODY_MAX,
		.timeout_ms = s->ops.timeout_ms,
		.body = on_body,
		.done = on_answer,
		.arg = s };

	s->began_ms = now_ms;
	s->cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
	if (!s->fetch) {
		read_file(s);
		return;
	}
	server_metrics_begin(&s->reader, s->ops.preset);
	fetch_start(s->fetch, &r);
}

void scrape_want(struct scrape *s, bool wanted)
{
	if (!s || s->wanted == wanted)
		return;
	s->wanted = wanted;
	s->next_ms = 0;
	s->last.known = false;
	if (!wanted && s->fetch)
		fetch_cancel(s->fetch);
}

void scrape_hurry(struct scrape *s)
{
	if (!s)
		return;
	s->hurry = true;
	if (s->next_ms > s->began_ms + SCRAPE_HURRY_MS)
		s->next_ms = s->began_ms + SCRAPE_HURRY_MS;
}

int64_t scrape_wake_ms(const struct scrape *s)
{
	if (!s || !s->wanted)
		return INT64_MAX;
	return s->fetch && fetch_is_busy(s->fetch) ? fetch_wake_ms(s->fetch) : s->next_ms;
}

void scrape_tick(struct scrape *s, int64_t now_ms)
{
	if (now_ms < scrape_wake_ms(s))
		return;
	if (s->fetch && fetch_is_busy(s->fetch))
		fetch_tick(s->fetch, now_ms);
	else
		begin(s, now_ms);
}
