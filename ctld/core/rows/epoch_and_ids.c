/* epoch_and_ids.c - see epoch_and_ids.h
 *
 * The durable numbers of the core itself: the epoch, where the leases of job ids and event numbers
 * end, the open range of a bulk, and texts by key.
 *
 * An id is durable only with a row, and a row for each id would double the writes of a submit. So
 * ids are leased: a row says that all ids below a bound may have been given out, and they are
 * given out without another row until the bound is reached. A crash skips the rest of a lease, so
 * no id is ever given out twice; a clean end gives the rest back (meta_give_back()). A lease
 * doubles while it does not last for a while, so that its rows stay rare at any rate.
 */
#include "ctld/core/rows/epoch_and_ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/taskset.h"
#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"

/* A job that this state does not know may be an array, and its tasks have the next ids. */
#define ARRAY_IDS (TASK_MAX + 1)

enum number {
	EPOCH,
	NEXT_JOB,
	NEXT_EVENT,
	BULK_FIRST,
	BULK_END,
	TAKEOVER_EPOCH,
	FOREIGN_FIRST,
	FOREIGN_END,
	NUMBERS
};

static const char *const number_names[NUMBERS] = { "epoch", "next_job", "next_event", "bulk_first",
	"bulk_end", "takeover_epoch", "foreign_first", "foreign_end" };

/* Kept also when it is empty again: a row once written stays. */
struct said {
	char *key, *text;
};

/* Numbers that may be handed out without another row. */
struct lease {
	uint64_t next;
	uint64_t size;  /* of the last one; 0: none since the start */
	usec_t renewed; /* mono */
};

struct meta {
	struct mark mark;
	struct dirty *dirty;
	char *cluster;            /* NULL: a new database */
	uint64_t number[NUMBERS]; /* durable: the epoch, where the leases end, the open range */
	struct lease jobs, events;
	uint64_t bulk;            /* the next one of the open range */
	struct said *said;        /* durable */
	size_t n_said;
};

struct meta *meta_new(struct dirty *dirty)
{
	struct meta *m = xcalloc(1, sizeof(*m));

	m->mark.table = TABLE_META;
	m->dirty = dirty;
	m->number[NEXT_JOB] = m->number[NEXT_EVENT] = 1;
	return m;
}

void meta_free(struct meta *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_said; i++) {
		free(m->said[i].key);
		free(m->said[i].text);
	}
	free(m->said);
	free(m->cluster);
	free(m);
}

static bool is(const struct value *v, const char *text)
{
	return v->n == strlen(text) && !memcmp(v->p, text, v->n);
}

/* A walk over all: there are as many as operators have set something. */
static struct said *find_said(const struct meta *m, const char *key, size_t len)
{
	for (size_t i = 0; i < m->n_said; i++) {
		if (strlen(m->said[i].key) == len && !memcmp(m->said[i].key, key, len))
			return &m->said[i];
	}
	return NULL;
}

/* Returns whether it is another text than before. */
static bool say(struct meta *m, const char *key, size_t key_len, const char *text, size_t len)
{
	struct said *s = find_said(m, key, key_len);

	if (s && strlen(s->text) == len && !memcmp(s->text, text, len))
		return false;
	if (!s) {
		m->said = xrealloc(m->said, m->n_said + 1, sizeof(*m->said));
		s = &m->said[m->n_said++];
		s->key = xstrndup(key, key_len);
		s->text = NULL;
	}
	free(s->text);
	s->text = xstrndup(text, len);
	return true;
}

const char *meta_text(const struct meta *m, const char *key)
{
	const struct said *s = find_said(m, key, strlen(key));

	return s ? s->text : "";
}

/* Nothing is written for a key that is empty and was never set. */
void meta_set_text(struct meta *m, const char *key, const char *text)
{
	if ((*text || find_said(m, key, strlen(key))) &&
	        say(m, key, strlen(key), text, strlen(text)))
		dirty_put(m->dirty, &m->mark);
}

static int parse(const struct row *row, uint64_t *number, struct error *err)
{
	const struct value *v = &row->v[COL_META_value];
	char text[24], *end;

	if (!v->n || v->n >= sizeof(text))
		return row_error(row, COL_META_value, err, "not a number");
	memcpy(text, v->p, v->n);
	text[v->n] = '\0';
	*number = strtoull(text, &end, 10);
	if (*end || *number > INT64_MAX)
		return row_error(row, COL_META_value, err, "not a number");
	return 0;
}

/* Keys that are not the core's are passed over. */
int meta_load(struct meta *m, const struct row *row, struct error *err)
{
	const struct value *key = &row->v[COL_META_key];

	if (is(key, "cluster")) {
		free(m->cluster);
		m->cluster = xstrndup(row->v[COL_META_value].p, row->v[COL_META_value].n);
		return 0;
	}
	for (int n = 0; n < NUMBERS; n++) {
		if (is(key, number_names[n]))
			return parse(row, &m->number[n], err);
	}
	if (key->n > strlen(META_PARTITION) &&
	        !memcmp(key->p, META_PARTITION, strlen(META_PARTITION)))
		say(m, key->p, key->n, row->v[COL_META_value].p, row->v[COL_META_value].n);
	return 0; /* the store's own (schema version) */
}

/* A start has an epoch of its own, above that of all controllers before it: agents obey no lower
 * one. */
int meta_start(struct meta *m, const char *cluster, struct error *err)
{
	if (m->cluster && strcmp(m->cluster, cluster))
		return error_set(err, ERR_CLUSTER,
		        "the database is of cluster '%s', the configuration of '%s'", m->cluster,
		        cluster);
	if (!m->cluster)
		m->cluster = xstrdup(cluster);
	m->number[EPOCH]++;
	m->jobs.next = m->number[NEXT_JOB];
	m->events.next = m->number[NEXT_EVENT];
	dirty_put(m->dirty, &m->mark);
	return 0;
}

uint64_t meta_epoch(const struct meta *m)
{
	return m->number[EPOCH];
}

uint64_t meta_next_job(const struct meta *m)
{
	return m->jobs.next;
}

/* The lease of ids doubles if the last one was used up within LEASE_LASTS, and else begins with one
 * id again. */
static void renew(struct meta *m, struct lease *lease, enum number end, usec_t mono)
{
	if (!lease->size || mono - lease->renewed >= LEASE_LASTS)
		lease->size = 1;
	else if (lease->size < LEASE_MAX)
		lease->size *= 2;
	lease->renewed = mono;
	m->number[end] = lease->next + lease->size;
	dirty_put(m->dirty, &m->mark);
}

/* One id at a time renews the lease; several at once extend it by just what is missing. */
static uint64_t take(
        struct meta *m, struct lease *lease, enum number end, uint64_t n, usec_t mono)
{
	uint64_t first = lease->next;

	if (n == 1 && first >= m->number[end])
		renew(m, lease, end, mono);
	if (first + n > m->number[end]) {
		m->number[end] = first + n;
		dirty_put(m->dirty, &m->mark);
	}
	lease->next += n;
	return first;
}

uint64_t meta_take_job(struct meta *m, usec_t mono)
{
	return take(m, &m->jobs, NEXT_JOB, 1, mono);
}

uint64_t meta_take_jobs(struct meta *m, uint32_t n, usec_t mono)
{
	return take(m, &m->jobs, NEXT_JOB, n, mono);
}

uint64_t meta_take_event(struct meta *m, usec_t mono)
{
	return take(m, &m->events, NEXT_EVENT, 1, mono);
}

void meta_give_back(struct meta *m)
{
	if (m->number[NEXT_JOB] == m->jobs.next && m->number[NEXT_EVENT] == m->events.next)
		return;
	m->number[NEXT_JOB] = m->jobs.next;
	m->number[NEXT_EVENT] = m->events.next;
	dirty_put(m->dirty, &m->mark);
}

uint64_t meta_take_bulk(struct meta *m, uint64_t n)
{
	uint64_t first = m->jobs.next;

	m->jobs.next += n;
	if (m->number[NEXT_JOB] < m->jobs.next)
		m->number[NEXT_JOB] = m->jobs.next;
	m->number[BULK_FIRST] = m->bulk = first;
	m->number[BULK_END] = first + n;
	dirty_put(m->dirty, &m->mark);
	return first;
}

uint64_t meta_bulk_next(struct meta *m, uint32_t n)
{
	uint64_t first = m->bulk;

	m->bulk += n;
	return first;
}

void meta_bulk_over(struct meta *m)
{
	if (!m->number[BULK_END])
		return;
	m->number[BULK_FIRST] = m->number[BULK_END] = 0;
	dirty_put(m->dirty, &m->mark);
}

bool meta_bulk_has(const struct meta *m, uint64_t job)
{
	return job >= m->number[BULK_FIRST] && job < m->number[BULK_END];
}

uint64_t meta_last_event(const struct meta *m)
{
	return m->events.next - 1;
}

/* The last job that is known may be an array, whose tasks have ids too. */
void meta_raise(struct meta *m, uint64_t epoch_above, uint64_t job_above)
{
	if (m->number[EPOCH] <= epoch_above) {
		m->number[EPOCH] = epoch_above + 1;
		dirty_put(m->dirty, &m->mark);
	}
	if (m->jobs.next <= job_above) {
		m->jobs.next = job_above + 1 + ARRAY_IDS;
		if (m->number[NEXT_JOB] < m->jobs.next)
			m->number[NEXT_JOB] = m->jobs.next;
		dirty_put(m->dirty, &m->mark);
	}
}

void meta_taken_over(struct meta *m, uint64_t known_job)
{
	m->number[TAKEOVER_EPOCH] = m->number[EPOCH];
	m->number[FOREIGN_FIRST] = known_job + 1;
	m->number[FOREIGN_END] = m->jobs.next;
	dirty_put(m->dirty, &m->mark);
}

bool meta_before_takeover(const struct meta *m, uint64_t epoch)
{
	return epoch < m->number[TAKEOVER_EPOCH];
}

bool meta_is_foreign(const struct meta *m, uint64_t job)
{
	return job >= m->number[FOREIGN_FIRST] && job < m->number[FOREIGN_END];
}

bool meta_was_restored(const struct meta *m, uint64_t job, uint64_t epoch)
{
	return job < m->number[FOREIGN_FIRST] && meta_before_takeover(m, epoch);
}

void meta_skip_events(struct meta *m, uint64_t n)
{
	m->events.next += n;
	if (m->number[NEXT_EVENT] < m->events.next)
		m->number[NEXT_EVENT] = m->events.next;
	dirty_put(m->dirty, &m->mark);
}

size_t meta_rows(const struct meta *m, meta_row_fn *fn, void *arg)
{
	struct row row;
	char text[24];

	row_begin(&row, TABLE_META, ROW_PUT);
	row.v[COL_META_key] = value_text("cluster");
	row.v[COL_META_value] = value_text(m->cluster ? m->cluster : "");
	fn(arg, &row);
	for (int n = 0; n < NUMBERS; n++) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)m->number[n]);
		row.v[COL_META_key] = value_text(number_names[n]);
		row.v[COL_META_value] = value_text(text);
		fn(arg, &row);
	}
	for (size_t i = 0; i < m->n_said; i++) {
		row.v[COL_META_key] = value_text(m->said[i].key);
		row.v[COL_META_value] = value_text(m->said[i].text);
		fn(arg, &row);
	}
	return NUMBERS + 1 + m->n_said;
}

static void add_hash(void *arg, const struct row *row)
{
	*(uint64_t *)arg += row_hash(row);
}

uint64_t meta_hash(const struct meta *m)
{
	uint64_t sum = 0;

	meta_rows(m, add_hash, &sum);
	return sum;
}
