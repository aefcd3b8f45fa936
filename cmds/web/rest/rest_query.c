/* rest_query.c - see rest_query.h */
#include "cmds/web/rest/rest_query.h"

#include <stdlib.h>
#include <string.h>

#include "cmds/cli/parse_time.h"
#include "common/base/hostlist.h"
#include "common/base/strbuf.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/base/xalloc.h"

#define TEXT_MAX 4096 /* bytes of a value */

const struct rest_param rest_params[REST_N_PARAMS] = {
#define X(bit, name, kind, about) { name, kind, about },
	REST_PARAMS(X)
#undef X
};

/* --- reading ---------------------------------------------------------------------------------- */

static int read_time(const char *name, const char *value, int64_t *us, struct error *err)
{
	uint64_t s;

	if (value[0] && value[strspn(value, "0123456789")] == '\0') {
		if (count_parse(value, 0, UINT32_MAX * UINT64_C(4), &s, err) < 0)
			return cmd_blame(name, value, err);
		*us = (int64_t)s * 1000000;
		return 0;
	}
	return parse_time(value, parse_time_now(), us, err) < 0 ? cmd_blame(name, value, err) : 0;
}

static int read_number(const char *name, const char *value, uint64_t min, uint64_t max, uint64_t *n,
        struct error *err)
{
	return count_parse(value, min, max, n, err) < 0 ? cmd_blame(name, value, err) : 0;
}

static int read_file(
        const char *name, const char *value, enum tail_which *file, struct error *err)
{
	*file = !strcmp(value, "stderr") ? TAIL_STDERR : TAIL_STDOUT;
	if (*file == TAIL_STDERR || !strcmp(value, "stdout"))
		return 0;
	error_set(err, ERR_USAGE, "neither stdout nor stderr");
	return cmd_blame(name, value, err);
}

static int take_filter(
        struct rest_query *q, enum rest_param_number nr, const char *value, struct error *err)
{
	static const enum filter_what what[REST_N_PARAMS] = {
		[REST_NR_IDS] = FILTER_IDS,
		[REST_NR_USER] = FILTER_USERS,
		[REST_NR_ACCOUNT] = FILTER_ACCOUNTS,
		[REST_NR_PARTITION] = FILTER_PARTITIONS,
		[REST_NR_QOS] = FILTER_QOS,
		[REST_NR_STATE] = FILTER_STATES,
		[REST_NR_NAME] = FILTER_NAMES,
		[REST_NR_NODE] = FILTER_NODES,
	};

	return filter_add(&q->filter, what[nr], rest_params[nr].name, value, err);
}

static int take(
        struct rest_query *q, enum rest_param_number nr, const char *value, struct error *err)
{
	const char *name = rest_params[nr].name;
	uint64_t limit;

	switch (nr) {
	case REST_NR_LIMIT:
		if (read_number(name, value, 1, REST_LIMIT_MAX, &limit, err) < 0)
			return -1;
		q->limit = (unsigned)limit;
		return 0;
	case REST_NR_AFTER:
		return read_number(name, value, 0, INT64_MAX, &q->after, err);
	case REST_NR_JOB:
		return read_number(name, value, 1, INT64_MAX, &q->job, err);
	case REST_NR_CURSOR:
		return read_number(name, value, 0, UINT64_MAX, &q->cursor, err);
	case REST_NR_TAIL:
		return read_number(name, value, 1, TAIL_LINES_MAX, &q->tail, err);
	case REST_NR_FILE:
		return read_file(name, value, &q->file, err);
	case REST_NR_SINCE:
		return read_time(name, value, &q->since_us, err);
	case REST_NR_UNTIL:
		return read_time(name, value, &q->until_us, err);
	case REST_NR_KIND:
		return cmd_list_add(&q->kinds, value, err) < 0 ? cmd_blame(name, value, err) : 0;
	default:
		return take_filter(q, nr, value, err);
	}
}

struct reading {
	struct rest_query *q;
	unsigned allowed;
	struct error *err;
	int rc;
};

static int refuse(const struct reading *rd, const char *name)
{
	const char *names[REST_N_PARAMS + 1] = { NULL };
	const char *near;
	char shown[80];
	size_t n = 0;

	for (size_t i = 0; i < REST_N_PARAMS; i++)
		if (rd->allowed & 1U << i)
			names[n++] = rest_params[i].name;
	text_escape(shown, sizeof(shown), name, strlen(name));
	error_set(rd->err, ERR_USAGE, "%s: there is no such parameter here", shown);
	near = n ? text_nearest(name, names) : NULL;
	if (near)
		error_hint(rd->err, "perhaps %s", near);
	return -1;
}

static void read_param(const char *name, const char *value, void *arg)
{
	struct reading *rd = arg;
	unsigned nr = 0;

	if (rd->rc < 0)
		return;
	while (nr < REST_N_PARAMS &&
	        (!(rd->allowed & 1U << nr) || strcmp(rest_params[nr].name, name)))
		nr++;
	if (nr == REST_N_PARAMS)
		rd->rc = refuse(rd, name);
	else if (rd->q->given & 1U << nr)
		rd->rc = error_set(rd->err, ERR_USAGE, "%s is there twice; a list has commas",
		        rest_params[nr].name);
	else if (text_check(rest_params[nr].name, value, TEXT_MAX, rd->err) < 0)
		rd->rc = -1;
	else
		rd->rc = take(rd->q, nr, value, rd->err);
	rd->q->given |= nr < REST_N_PARAMS ? 1U << nr : 0;
}

int rest_query_read(
        const struct http_request *r, unsigned allowed, struct rest_query *q, struct error *err)
{
	struct reading rd = { q, allowed, err, 0 };

	*q = (struct rest_query){ .limit = REST_LIMIT_DEFAULT,
		.tail = TAIL_LINES };
	http_each_query(r, read_param, &rd);
	if (rd.rc < 0)
		rest_query_clear(q);
	return rd.rc;
}

void rest_query_clear(struct rest_query *q)
{
	filter_clear(&q->filter);
	cmd_list_clear(&q->kinds);
	cmd_list_clear(&q->accounts);
}

/* --- choosing jobs ---------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_list(struct strbuf *key, const struct cmd_list *list)
{
	char **sorted = list->n ? xmemdup(list->v, list->n * sizeof(*list->v)) : NULL;

	if (sorted)
		qsort(sorted, list->n, sizeof(*sorted), compare);
	for (size_t i = 0; i < list->n; i++)
		strbuf_addf(key, "%s,", sorted[i]);
	strbuf_adds(key, ";");
	free(sorted);
}

char *rest_query_key(const struct rest_query *q)
{
	struct strbuf key = { 0 };

	for (size_t i = 0; i < FILTER_LISTS; i++)
		add_list(&key, &q->filter.lists[i]);
	for (size_t i = 0; i < q->filter.ids.n; i++)
		strbuf_addf(&key, "%llu,", (unsigned long long)q->filter.ids.v[i].id);
	strbuf_adds(&key, q->filter.ended ? ";ended" : ";");
	return strbuf_take(&key);
}

/* A job that waits in several partitions has "a,b". */
static bool in_partitions(const struct cmd_list *list, const char *partitions)
{
	for (size_t i = 0; i < list->n; i++) {
		size_t n = strlen(list->v[i]);

		for (const char *p = partitions; *p; p += strcspn(p, ","), p += *p == ',')
			if (strcspn(p, ",") == n && !memcmp(p, list->v[i], n))
				return true;
	}
	return !list->n;
}

/* Accounts come depth first: those below one follow it, as long as they are deeper. */
static void add_below(struct cmd_list *list, const struct snapshot *snap, const char *account)
{
	bool inside = false;
	uint32_t depth = 0;

	for (size_t i = 0; i < snap->n_shares; i++) {
		const Gpusched__Share *s = snap->shares[i];

		if (*s->user)
			continue;
		if (inside && s->depth > depth)
			cmd_list_add(list, s->account, NULL);
		else
			inside = false;
		if (!inside && !strcmp(s->account, account)) {
			inside = true;
			depth = s->depth;
		}
	}
}

void rest_query_bind(struct rest_query *q, const struct snapshot *snap)
{
	const struct cmd_list *named = &q->filter.lists[FILTER_ACCOUNTS];

	cmd_list_clear(&q->accounts);
	for (size_t i = 0; i < named->n; i++) {
		cmd_list_add(&q->accounts, named->v[i], NULL);
		add_below(&q->accounts, snap, named->v[i]);
	}
	if (q->accounts.n)
		qsort(q->accounts.v, q->accounts.n, sizeof(*q->accounts.v), compare);
}

static bool in_accounts(const struct cmd_list *list, const char *account)
{
	return !list->n || bsearch(&account, list->v, list->n, sizeof(*list->v), compare);
}

/* Its runs name all nodes of the job; the record's own field only the first. */
static bool on_nodes(const struct cmd_list *list, const struct snapshot_job *job)
{
	Gpusched__Job *m;
	char **nodes, **wanted;
	size_t n_nodes, n_wanted;
	bool found = false;

	if (!list->n)
		return true;
	m = *job->status->node ? snapshot_job_unpack(NULL, job) : NULL;
	if (!m)
		return false;
	if (hostlist_expand(m->nodes, HOSTLIST_MAX, &nodes, &n_nodes, NULL) == 0) {
		for (size_t i = 0; i < list->n && !found; i++) {
			if (hostlist_expand(list->v[i], HOSTLIST_MAX, &wanted, &n_wanted, NULL) < 0)
				continue;
			for (size_t w = 0; w < n_wanted && !found; w++)
				for (size_t k = 0; k < n_nodes && !found; k++)
					found = !strcmp(wanted[w], nodes[k]);
			free(wanted);
		}
		free(nodes);
	}
	gpusched__job__free_unpacked(m, NULL);
	return found;
}

static bool in_ids(const struct cmd_ids *ids, const struct snapshot_job *job)
{
	const struct cmd_id_reported told = { job->id, *job->tasks ? job->tasks : "", job->tasks };

	for (size_t i = 0; i < ids->n; i++)
		if (ids->v[i].id == job->raw_id)
			return true;
	return !ids->n || cmd_ids_miss(ids, &told);
}

bool rest_query_has(const struct rest_query *q, const struct snapshot_job *job)
{
	const struct cmd_list *lists = q->filter.lists;

	if (job->status->ended && !q->filter.ended && !q->filter.ids.n)
		return false;
	return cmd_list_fits(&lists[FILTER_STATES], job->status->state) &&
	       cmd_list_fits(&lists[FILTER_USERS], job->request->user) &&
	       cmd_list_fits(&lists[FILTER_QOS], job->request->qos) &&
	       cmd_list_fits(&lists[FILTER_NAMES], job->name) &&
	       in_partitions(&lists[FILTER_PARTITIONS], job->request->partition) &&
	       in_ids(&q->filter.ids, job) && in_accounts(&q->accounts, job->request->account) &&
	       on_nodes(&lists[FILTER_NODES], job);
}
