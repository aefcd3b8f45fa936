/* rest_lists.c - /v1/: what the snapshot answers: jobs, nodes, partitions, shares, services, stats
 *
 * An answer of which nothing changes while the snapshot stays has an ETag: a client that asks again
 * gets 304 until there is another snapshot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/web/rest/hide_private_runs.h"
#include "cmds/web/rest/rest.h"
#include "cmds/web/rest/rest_query.h"
#include "cmds/web/snapshot.h"
#include "cmds/web/viewer.h"
#include "common/base/hostlist.h"
#include "common/base/units.h"
#include "common/net/msgjson.h"

/* --- what all have ---------------------------------------------------------------------------- */

static bool no_snapshot(const struct http_request *r, struct http_answer *a)
{
	struct error err;

	if (r->snap)
		return false;
	error_set(&err, ERR_UNREACHABLE, "the controller was not reached yet%s%.300s",
	        *r->trouble ? ": " : "", r->trouble);
	rest_error_status(r, a, 503, &err);
	return true;
}

/* The query; false: it is refused. */
static bool read_query(
        const struct http_request *r, struct http_answer *a, unsigned params, struct rest_query *q)
{
	struct error err;

	if (no_snapshot(r, a))
		return false;
	if (rest_query_read(r, params, q, &err) < 0) {
		rest_error(r, a, &err);
		return false;
	}
	rest_query_bind(q, r->snap);
	return true;
}

/* True: the client has it already. The tag is of this snapshot, viewer and address. */
static bool unchanged(const struct http_request *r, struct http_answer *a)
{
	const char *has = http_header(r, "If-None-Match");
	char tag[64];

	snprintf(tag, sizeof(tag), "W/\"%llx-%llx-%llx\"", (unsigned long long)r->snap->taken_us,
	        (unsigned long long)r->snap->serial,
	        r->viewer->known ? (unsigned long long)r->viewer->uid : ~0ULL);
	http_answer_header(a, "ETag", tag);
	a->cache = "private, no-cache";
	a->type = "application/json";
	if (!has || (strcmp(has, "*") != 0 && !strstr(has, tag)))
		return false;
	a->status = 304;
	return true;
}

static void not_found(const struct http_request *r, struct http_answer *a, int code,
        const char *what, const char *hint)
{
	struct error err;

	error_set(&err, code, "there is no %s %.80s", what, r->name);
	if (hint)
		error_hint(&err, "%s", hint);
	rest_error_status(r, a, 404, &err);
}

static void put(struct http_answer *a, const ProtobufCMessage *m, bool *first)
{
	rest_item(a, msgjson(m, 0), first);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void put_job(struct http_answer *a, const struct snapshot *snap,
        const struct snapshot_job *job, bool *first)
{
	Gpusched__Job *m = snapshot_job_unpack(snap, job);

	if (!m)
		return;
	put(a, &m->base, first);
	gpusched__job__free_unpacked(m, NULL);
}

void rest_jobs(const struct http_request *r, struct http_answer *a)
{
	struct rest_query q;
	uint64_t last = 0;
	bool first = true, more = false;
	unsigned n = 0;

	if (!read_query(r, a, REST_JOBS | REST_PAGE, &q))
		return;
	if (!unchanged(r, a)) {
		rest_begin(r, a);
		rest_list(a, "jobs");
		/* An array has several records with one id, and a page ends between jobs. */
		for (size_t i = snapshot_behind(
		             r->snap, (struct snapshot_key){ q.after, UINT64_MAX });
		        i < r->snap->n_jobs && !more; i++) {
			const struct snapshot_job *job = r->snap->jobs[i];

			if (!viewer_sees(r->viewer, job->request->uid, job->request->account) ||
			        !rest_query_has(&q, job))
				continue;
			more = n >= q.limit && job->id != last;
			if (more)
				break;
			put_job(a, r->snap, job, &first);
			last = job->id;
			n++;
		}
		strbuf_adds(&a->body, "]");
		if (more)
			strbuf_addf(&a->body, ",\"next\":%llu", (unsigned long long)last);
		rest_end(a);
	}
	rest_query_clear(&q);
}

/* "12", "40" of an array, the own id of a task. False: no number. */
static bool read_id(const struct http_request *r, uint64_t *id)
{
	return count_parse(r->name, 1, INT64_MAX, id, NULL) == 0;
}

void rest_job(const struct http_request *r, struct http_answer *a)
{
	struct snapshot_job **records = NULL;
	const struct snapshot_job *own;
	struct rest_query q;
	size_t n = 0, shown = 0;
	bool first = true;
	uint64_t id = 0;

	if (!read_query(r, a, 0, &q))
		return;
	rest_query_clear(&q);
	if (read_id(r, &id))
		records = snapshot_records(r->snap, id, &n);
	own = records || !id ? NULL : snapshot_job(r->snap, id);
	if (own) {
		records = (struct snapshot_job **)&own;
		n = 1;
	}
	for (size_t i = 0; i < n; i++)
		shown += viewer_sees(
		        r->viewer, records[i]->request->uid, records[i]->request->account);
	if (!shown) {
		not_found(r, a, ERR_NO_JOB, "job", "jobs of the past: /v1/acct?ids=ID");
		return;
	}
	if (unchanged(r, a))
		return;
	rest_begin(r, a);
	rest_list(a, "jobs");
	for (size_t i = 0; i < n; i++)
		if (viewer_sees(r->viewer, records[i]->request->uid, records[i]->request->account))
			put_job(a, r->snap, records[i], &first);
	strbuf_adds(&a->body, "]");
	rest_end(a);
}

/* --- nodes and partitions --------------------------------------------------------------------- */

struct wanted {
	const char *name;
};

static int is_it(const char *name, void *arg)
{
	const struct wanted *w = arg;

	return !strcmp(name, w->name);
}

static bool is_named(const Gpusched__Node *node, const struct cmd_list *list)
{
	struct wanted w = { node->name };

	for (size_t i = 0; i < list->n; i++)
		if (hostlist_each(list->v[i], HOSTLIST_MAX, is_it, &w, NULL) > 0)
			return true;
	return !list->n;
}

static void put_node(const struct http_request *r, struct http_answer *a,
        const Gpusched__Node *node, bool *first)
{
	Gpusched__Node *seen = hide_private_runs(node, r->viewer, r->snap);

	put(a, &seen->base, first);
	hide_private_runs_free(seen);
}

void rest_nodes(const struct http_request *r, struct http_answer *a)
{
	struct rest_query q;
	bool first = true;

	if (!read_query(r, a, REST_NODE | REST_PARTITION, &q))
		return;
	if (!unchanged(r, a)) {
		rest_begin(r, a);
		rest_list(a, "nodes");
		for (size_t i = 0; i < r->snap->n_nodes; i++) {
			const Gpusched__Node *n = r->snap->nodes[i];

			if (is_named(n, &q.filter.lists[FILTER_NODES]) &&
			        cmd_list_fits_one_of(&q.filter.lists[FILTER_PARTITIONS],
			                n->partitions, n->n_partitions))
				put_node(r, a, n, &first);
		}
		strbuf_adds(&a->body, "]");
		rest_end(a);
	}
	rest_query_clear(&q);
}

/* A list of which all is told; the item that is named, or NULL for all of them. */
static void put_list(const struct http_request *r, struct http_answer *a, const char *list,
        const ProtobufCMessage *const *v, size_t n)
{
	bool first = true;

	if (unchanged(r, a))
		return;
	rest_begin(r, a);
	rest_list(a, list);
	for (size_t i = 0; i < n; i++)
		put(a, v[i], &first);
	strbuf_adds(&a->body, "]");
	rest_end(a);
}

void rest_node(const struct http_request *r, struct http_answer *a)
{
	const Gpusched__Node *node;
	struct rest_query q;
	bool first = true;

	if (!read_query(r, a, 0, &q))
		return;
	rest_query_clear(&q);
	node = snapshot_node(r->snap, r->name);
	if (!node) {
		not_found(r, a, ERR_NO_NODE, "node", NULL);
		return;
	}
	if (unchanged(r, a))
		return;
	rest_begin(r, a);
	rest_list(a, "nodes");
	put_node(r, a, node, &first);
	strbuf_adds(&a->body, "]");
	rest_end(a);
}

#define ALL(v) ((const ProtobufCMessage *const *)(void *)(v))

void rest_partitions(const struct http_request *r, struct http_answer *a)
{
	struct rest_query q;

	if (!read_query(r, a, 0, &q))
		return;
	rest_query_clear(&q);
	put_list(r, a, "partitions", ALL(r->snap->partitions), r->snap->n_partitions);
}

void rest_partition(const struct http_request *r, struct http_answer *a)
{
	const Gpusched__Partition *p;
	const ProtobufCMessage *m;
	struct rest_query q;

	if (!read_query(r, a, 0, &q))
		return;
	rest_query_clear(&q);
	p = snapshot_partition(r->snap, r->name);
	if (!p) {
		not_found(r, a, ERR_NO_PARTITION, "partition", NULL);
		return;
	}
	m = &p->base;
	put_list(r, a, "partitions", &m, 1);
}

/* --- shares, services, stats ------------------------------------------------------------------ */

void rest_shares(const struct http_request *r, struct http_answer *a)
{
	const struct cmd_list *users;
	struct rest_query q;
	bool first = true;

	if (!read_query(r, a, REST_ACCOUNT | REST_USER, &q))
		return;
	users = &q.filter.lists[FILTER_USERS];
	if (!unchanged(r, a)) {
		rest_begin(r, a);
		strbuf_adds(&a->body, ",\"currency\":");
		rest_text(&a->body, r->snap->currency);
		rest_list(a, "shares");
		for (size_t i = 0; i < r->snap->n_shares; i++) {
			const Gpusched__Share *s = r->snap->shares[i];

			if (cmd_list_fits(&q.accounts, s->account) &&
			        (!*s->user || cmd_list_fits(users, s->user)) &&
			        viewer_sees_usage(r->viewer, s->account, s->user))
				put(a, &s->base, &first);
		}
		strbuf_adds(&a->body, "]");
		rest_end(a);
	}
	rest_query_clear(&q);
}

void rest_services(const struct http_request *r, struct http_answer *a)
{
	struct rest_query q;
	bool first = true;

	if (!read_query(r, a, REST_USER, &q))
		return;
	if (!unchanged(r, a)) {
		rest_begin(r, a);
		rest_list(a, "services");
		for (size_t i = 0; i < r->snap->n_services; i++) {
			const Gpusched__Service *s = r->snap->services[i];

			if (cmd_list_fits(&q.filter.lists[FILTER_USERS], s->user) &&
			        viewer_sees(r->viewer, s->uid, s->account))
				put(a, &s->base, &first);
		}
		strbuf_adds(&a->body, "]");
		rest_end(a);
	}
	rest_query_clear(&q);
}

void rest_service(const struct http_request *r, struct http_answer *a)
{
	const Gpusched__Service *s;
	const ProtobufCMessage *m;
	struct rest_query q;

	if (!read_query(r, a, 0, &q))
		return;
	rest_query_clear(&q);
	s = snapshot_service(r->snap, r->name);
	if (!s || !viewer_sees(r->viewer, s->uid, s->account)) {
		not_found(r, a, ERR_NO_SERVICE, "service", NULL);
		return;
	}
	m = &s->base;
	put_list(r, a, "services", &m, 1);
}

void rest_stats(const struct http_request *r, struct http_answer *a)
{
	struct rest_query q;

	if (!read_query(r, a, 0, &q))
		return;
	rest_query_clear(&q);
	put_list(r, a, "stats", ALL(r->snap->stats), r->snap->n_stats);
}
