/* manager_pmix.c - what the PMIx servers of a step's nodes say to one another; see manager.h
 *
 * A fence is known by its tasks: the node of each of them contributes once, and when all have, each
 * hears the data of all. A fetch goes to the node that has the task, and its answer goes back.
 */
#include <stdlib.h>
#include <string.h>

#include "cmds/steps/manager_impl.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"

#define FENCE_DATA_MAX (STEPLINK_MESSAGE_MAX - 1024)

struct fence {
	struct fence *next;
	uint32_t *tasks; /* in ascending order; none: all */
	size_t n_tasks;
	struct {
		bool is_in, said;
		uint64_t id; /* the server's own */
	} * of; /* of the step's nodes */
	size_t n_waits;
	struct strbuf data;
	bool failed;
};

struct fetch {
	struct fetch *next;
	uint64_t id, own_id; /* ours; that of the server which asked */
	uint32_t from, to;
};

struct mpmix {
	size_t *node_at; /* in the step, by rank in the job */
	struct fence *fences;
	struct fetch *fetches;
	size_t n_fences, n_fetches;
	uint64_t next_id;
};

bool mpmix_is_asked(const struct mstep *s)
{
	for (size_t i = 0; i < s->n_parts; i++)
		if (!strncmp(s->parts[i].request->mpi, "pmix", 4))
			return true;
	return false;
}

static void send(struct manager *m, const struct mstep *s, uint32_t rank, const Gpusched__StepPmix *p)
{
	size_t len = gpusched__step_pmix__get_packed_size(p);
	uint8_t *data = xcalloc(len, 1);

	gpusched__step_pmix__pack(p, data);
	m->ops.to_node(m->ops.arg, rank, STEP_PMIX, s->id, data, len);
	free(data);
}

/* --- fences ----------------------------------------------------------------------------------- */

static void drop_fence(struct mpmix *p, struct fence *f)
{
	struct fence **at = &p->fences;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	p->n_fences--;
	free(f->tasks);
	free(f->of);
	strbuf_free(&f->data);
	free(f);
}

static struct fence *find_fence(const struct mpmix *p, const uint32_t *tasks, size_t n)
{
	for (struct fence *f = p->fences; f; f = f->next)
		if (f->n_tasks == n && (!n || !memcmp(f->tasks, tasks, n * sizeof(*tasks))))
			return f;
	return NULL;
}

static struct fence *add_fence(struct mstep *s, const Gpusched__StepPmix *p)
{
	struct fence *f = xcalloc(1, sizeof(*f));
	size_t n = p->n_tasks ? p->n_tasks : s->tasks;

	f->next = s->pmix->fences;
	s->pmix->fences = f;
	s->pmix->n_fences++;
	f->n_tasks = p->n_tasks;
	f->of = xcalloc(s->n_nodes, sizeof(*f->of));
	if (p->n_tasks) {
		f->tasks = xcalloc(p->n_tasks, sizeof(*f->tasks));
		memcpy(f->tasks, p->tasks, p->n_tasks * sizeof(*f->tasks));
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t task = p->n_tasks ? p->tasks[i] : (uint32_t)i;
		size_t node = s->pmix->node_at[s->task_rank[task]];

		f->n_waits += !f->of[node].is_in;
		f->of[node].is_in = true;
	}
	return f;
}

static void end_fence(struct manager *m, struct mstep *s, struct fence *f)
{
	Gpusched__StepPmix p = GPUSCHED__STEP_PMIX__INIT;

	p.kind = GPUSCHED__STEP_PMIX__KIND__FENCE;
	p.failed = f->failed;
	if (!f->failed)
		p.data = (ProtobufCBinaryData){ f->data.len, (uint8_t *)f->data.s };
	for (size_t i = 0; i < s->n_nodes; i++) {
		p.id = f->of[i].id;
		if (f->of[i].is_in)
			send(m, s, s->nodes[i].rank, &p);
	}
	drop_fence(s->pmix, f);
}

static int take_fence(struct manager *m, struct mstep *s, uint32_t rank,
        const Gpusched__StepPmix *p, struct error *err)
{
	struct fence *f = find_fence(s->pmix, p->tasks, p->n_tasks);
	size_t node = s->pmix->node_at[rank];

	if (!f && s->pmix->n_fences == MANAGER_FENCES_MAX)
		return error_set(err, ERR_PROTOCOL, "more fences than may be");
	f = f ? f : add_fence(s, p);
	if (!f->of[node].is_in || f->of[node].said)
		return error_set(err, ERR_PROTOCOL, "a fence of other nodes");
	f->of[node].said = true;
	f->of[node].id = p->id;
	f->failed |= p->failed || f->data.len + p->data.len > FENCE_DATA_MAX;
	if (!f->failed && p->data.len)
		strbuf_add(&f->data, p->data.data, p->data.len);
	if (--f->n_waits == 0)
		end_fence(m, s, f);
	return 0;
}

/* --- fetches ---------------------------------------------------------------------------------- */

static int take_fetch(struct manager *m, struct mstep *s, uint32_t rank, Gpusched__StepPmix *p,
        struct error *err)
{
	struct fetch *f;

	if (p->n_tasks != 1 || s->pmix->n_fetches == MANAGER_FETCHES_MAX)
		return error_set(err, ERR_PROTOCOL, "a question that cannot be");
	f = xcalloc(1, sizeof(*f));
	*f = (struct fetch){ .next = s->pmix->fetches,
		.id = ++s->pmix->next_id,
		.own_id = p->id,
		.from = rank,
		.to = s->task_rank[p->tasks[0]] };
	s->pmix->fetches = f;
	s->pmix->n_fetches++;
	p->id = f->id;
	send(m, s, f->to, p);
	return 0;
}

static int take_found(struct manager *m, struct mstep *s, uint32_t rank, Gpusched__StepPmix *p,
        struct error *err)
{
	struct fetch **at = &s->pmix->fetches, *f;

	while (*at && ((*at)->id != p->id || (*at)->to != rank))
		at = &(*at)->next;
	f = *at;
	if (!f)
		return error_set(err, ERR_PROTOCOL, "an answer without a question");
	*at = f->next;
	s->pmix->n_fetches--;
	p->id = f->own_id;
	p->n_tasks = 0;
	send(m, s, f->from, p);
	free(f);
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool is_valid(const struct mstep *s, const Gpusched__StepPmix *p)
{
	for (size_t i = 0; i < p->n_tasks; i++)
		if (p->tasks[i] >= s->tasks || (i && p->tasks[i] <= p->tasks[i - 1]))
			return false;
	return true;
}

static int take(struct manager *m, struct mstep *s, uint32_t rank, Gpusched__StepPmix *p,
        struct error *err)
{
	switch (p->kind) {
	case GPUSCHED__STEP_PMIX__KIND__FENCE:
		return take_fence(m, s, rank, p, err);
	case GPUSCHED__STEP_PMIX__KIND__FETCH:
		return take_fetch(m, s, rank, p, err);
	case GPUSCHED__STEP_PMIX__KIND__FOUND:
		return take_found(m, s, rank, p, err);
	case GPUSCHED__STEP_PMIX__KIND__ABORT:
		mstep_terminate(m, s);
		return 0;
	default:
		return error_set(err, ERR_PROTOCOL, "a server's message of kind %d", (int)p->kind);
	}
}

static struct mpmix *mpmix_new(const struct manager *m, const struct mstep *s)
{
	struct mpmix *p = xcalloc(1, sizeof(*p));

	p->node_at = xcalloc(m->layout.n, sizeof(*p->node_at));
	for (size_t i = 0; i < s->n_nodes; i++)
		p->node_at[s->nodes[i].rank] = i;
	return p;
}

int mpmix_take(struct manager *m, struct mstep *s, uint32_t rank,
        const struct steplink_message *msg, struct error *err)
{
	Gpusched__StepPmix *p = gpusched__step_pmix__unpack(NULL, msg->len, msg->data);
	int rc;

	if (!s->pmix)
		s->pmix = mpmix_new(m, s);
	if (p && is_valid(s, p))
		rc = take(m, s, rank, p, err);
	else
		rc = error_set(err, ERR_PROTOCOL, "a server's message that cannot be read");
	if (p)
		gpusched__step_pmix__free_unpacked(p, NULL);
	return rc;
}

void mpmix_free(struct mpmix *p)
{
	if (!p)
		return;
	while (p->fences)
		drop_fence(p, p->fences);
	while (p->fetches) {
		struct fetch *f = p->fetches;

		p->fetches = f->next;
		free(f);
	}
	free(p->node_at);
	free(p);
}
