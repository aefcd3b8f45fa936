/* manager_run.c - a step that runs: its input, output and tasks; see manager.h */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/steps/manager_impl.h"
#include "common/base/each.h"
#include "common/base/hostlist.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

static struct mnode *find_node(struct mstep *s, uint32_t rank)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].rank == rank)
			return &s->nodes[i];
	return NULL;
}

/* --- reports ---------------------------------------------------------------------------------- */

static char *all_nodes(const struct manager *m, const struct mstep *s)
{
	const char **names = xcalloc(s->n_nodes, sizeof(*names));
	char *list;

	for (size_t i = 0; i < s->n_nodes; i++)
		names[i] = m->names[s->nodes[i].rank];
	list = hostlist_compress(names, s->n_nodes);
	free(names);
	return list;
}

void mrun_report(struct manager *m, const struct mstep *s, bool ended)
{
	Gpusched__StepReport r = GPUSCHED__STEP_REPORT__INIT;

	r.step = s->id;
	r.name = s->parts[0].request->name;
	r.nodelist = all_nodes(m, s);
	r.nodes = (uint32_t)s->n_nodes;
	r.tasks = s->tasks;
	for (size_t i = 0; i < s->n_parts; i++)
		for (size_t k = 0; k < s->parts[i].place.n; k++) {
			r.cpus += (uint32_t)s->parts[i].place.parts[k].n_cpus;
			r.gpus += (uint32_t)s->parts[i].place.parts[k].n_gpus;
		}
	r.start_time = s->start_time;
	r.end_time = ended ? m->ops.time(m->ops.arg) : 0;
	COPY_FIELDS(&r, s, exit_code, exit_signal, cancelled, timeout, cpu_time_us, max_rss_kb);
	m->ops.report(m->ops.arg, &r);
	free(r.nodelist);
}

/* --- output ----------------------------------------------------------------------------------- */

static void credit(struct manager *m, struct mstep *s, uint32_t rank, uint32_t n)
{
	const struct mnode *node = find_node(s, rank);
	uint8_t b[4];

	put_u32(b, n);
	if (node && !node->done)
		m->ops.to_node(m->ops.arg, rank, STEP_TAKEN, s->id, b, sizeof(b));
}

static void note_piece(struct mstep *s, uint32_t rank, uint32_t n)
{
	if (s->piece_at == s->n_pieces)
		s->piece_at = s->n_pieces = 0;
	if (s->n_pieces > s->piece_at && s->pieces[s->n_pieces - 1].rank == rank &&
	        s->pieces[s->n_pieces - 1].left < STEP_WINDOW) {
		s->pieces[s->n_pieces - 1].left += n;
		return;
	}
	if (s->n_pieces == s->pieces_size && s->piece_at > s->n_pieces / 2) {
		s->n_pieces -= s->piece_at;
		memmove(s->pieces, s->pieces + s->piece_at, s->n_pieces * sizeof(*s->pieces));
		s->piece_at = 0;
	}
	*XADD(s->pieces, s->n_pieces, s->pieces_size) = (struct mpiece){ rank, n };
}

static void take_pieces(struct manager *m, struct mstep *s, uint64_t n)
{
	while (n && s->piece_at < s->n_pieces) {
		struct mpiece *p = &s->pieces[s->piece_at];
		uint32_t part = n < p->left ? (uint32_t)n : p->left;

		credit(m, s, p->rank, part);
		p->left -= part;
		n -= part;
		if (!p->left)
			s->piece_at++;
	}
}

static int take_output(struct manager *m, struct mstep *s, uint32_t rank,
        const struct steplink_message *msg, struct error *err)
{
	if (msg->len < 4)
		return error_set(err, ERR_PROTOCOL, "output without a task");
	if (!s->client) {
		credit(m, s, rank, (uint32_t)msg->len - 4);
		return 0;
	}
	note_piece(s, rank, (uint32_t)msg->len - 4);
	m->ops.to_client(m->ops.arg, s->client, msg->kind, s->id, msg->data, msg->len);
	return 0;
}

void mrun_orphan(struct manager *m, struct mstep *s)
{
	s->cancelled = true;
	take_pieces(m, s, UINT64_MAX);
	mstep_terminate(m, s);
}

/* --- input ------------------------------------------------------------------------------------ */

static int send_input(
        struct manager *m, struct mstep *s, const struct steplink_message *msg, struct error *err)
{
	if (msg->len < 4)
		return error_set(err, ERR_PROTOCOL, "input without a task");
	for (size_t i = 0; i < s->n_nodes; i++)
		s->nodes[i].in_sent += msg->len - 4;
	mstep_to_nodes(m, s, msg->kind, msg->data, msg->len);
	return 0;
}

/* What all nodes have taken that have not ended. */
static void tell_input_taken(struct manager *m, struct mstep *s)
{
	uint64_t least = UINT64_MAX;
	uint8_t b[4];

	for (size_t i = 0; i < s->n_nodes; i++) {
		uint64_t taken = s->nodes[i].done ? s->nodes[i].in_sent : s->nodes[i].in_taken;

		least = taken < least ? taken : least;
	}
	if (least <= s->in_told || !s->client)
		return;
	put_u32(b, (uint32_t)(least - s->in_told));
	s->in_told = least;
	m->ops.to_client(m->ops.arg, s->client, STEP_IN_TAKEN, s->id, b, sizeof(b));
}

static int take_input_taken(struct manager *m, struct mstep *s, struct mnode *node,
        const struct steplink_message *msg, struct error *err)
{
	if (msg->len != 4)
		return error_set(err, ERR_PROTOCOL, "not a number of bytes");
	node->in_taken += get_u32(msg->data);
	tell_input_taken(m, s);
	return 0;
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* A wait status' order of badness as srun has it: the highest of codes and of 128 + signal. */
static uint32_t badness(uint32_t code, uint32_t signal)
{
	return signal ? 128 + signal : code;
}

static int take_task(
        struct manager *m, struct mstep *s, const struct steplink_message *msg, struct error *err)
{
	Gpusched__StepTask *t = gpusched__step_task__unpack(NULL, msg->len, msg->data);

	if (!t || t->task >= s->tasks) {
		if (t)
			gpusched__step_task__free_unpacked(t, NULL);
		return error_set(err, ERR_PROTOCOL, "a task that the step does not have");
	}
	if (t->ended) {
		s->cpu_time_us += t->cpu_time_us;
		s->max_rss_kb = t->max_rss_kb > s->max_rss_kb ? t->max_rss_kb : s->max_rss_kb;
		if (badness(t->exit_code, t->exit_signal) > badness(s->exit_code, s->exit_signal)) {
			s->exit_code = t->exit_code;
			s->exit_signal = t->exit_signal;
		}
	}
	gpusched__step_task__free_unpacked(t, NULL);
	if (s->client)
		m->ops.to_client(m->ops.arg, s->client, STEP_TASK, s->id, msg->data, msg->len);
	return 0;
}

static void finish(struct manager *m, struct mstep *s)
{
	Gpusched__StepEnd end = GPUSCHED__STEP_END__INIT;
	char text[HOSTLIST_NAME_MAX + 32];

	COPY_FIELDS(&end, s, exit_code, exit_signal, cancelled, timeout);
	if (s->has_lost_node) {
		snprintf(text, sizeof(text), "Node %s has failed", m->names[s->lost_node]);
		end.text = text;
	}
	mstep_say(m, s, STEP_END, &end.base);
	mrun_report(m, s, true);
	mstep_free(m, s);
	mstart_try(m);
}

static void take_done(struct manager *m, struct mstep *s, struct mnode *node)
{
	if (node->done)
		return;
	node->done = true;
	s->n_done++;
	tell_input_taken(m, s);
	mrun_check_end(m, s);
}

void mrun_check_end(struct manager *m, struct mstep *s)
{
	if (s->n_done == s->n_nodes && !s->starting)
		finish(m, s);
}

/* Of the steps that it had: each ends, and the list changes. */
static struct mstep *find_on(struct manager *m, uint32_t rank, struct mnode **node)
{
	for (struct mstep *s = m->steps; s; s = s->next) {
		*node = s->runs ? find_node(s, rank) : NULL;
		if (*node && !(*node)->done)
			return s;
	}
	return NULL;
}

void mrun_lose_node(struct manager *m, uint32_t rank)
{
	struct mnode *node;
	struct mstep *s;

	while ((s = find_on(m, rank, &node))) {
		s->exit_code = s->exit_code ? s->exit_code : 1;
		s->lost_node = rank;
		s->has_lost_node = true;
		mstep_terminate(m, s);
		take_done(m, s, node);
	}
}

/* --- the process management interface --------------------------------------------------------- */

struct answering {
	struct manager *m;
	struct mstep *s;
};

static void answer_pmi(void *arg, uint32_t task, const void *data, size_t len)
{
	const struct answering *a = arg;
	uint8_t *b = xcalloc(4 + len, 1);

	put_u32(b, task);
	memcpy(b + 4, data, len);
	a->m->ops.to_node(a->m->ops.arg, a->s->task_rank[task], STEP_PMI, a->s->id, b, 4 + len);
	free(b);
}

static int take_pmi(
        struct manager *m, struct mstep *s, const struct steplink_message *msg, struct error *err)
{
	struct answering a = { m, s };
	uint32_t task;

	if (msg->len < 5 || (task = get_u32(msg->data)) >= s->tasks)
		return error_set(err, ERR_PROTOCOL, "a question of no task");
	if (!s->pmi) {
		char name[64];

		snprintf(name, sizeof(name), "kvs_%u", s->id);
		s->pmi = pmi_new(s->tasks, s->task_rank, name);
	}
	pmi_ask(s->pmi, task, msg->data + 4, msg->len - 4, answer_pmi, &a);
	if (pmi_is_aborted(s->pmi))
		mstep_terminate(m, s);
	return 0;
}

/* --- messages --------------------------------------------------------------------------------- */

int mrun_client(
        struct manager *m, struct mstep *s, const struct steplink_message *msg, struct error *err)
{
	switch (msg->kind) {
	case STEP_IN:
	case STEP_IN_END:
		return send_input(m, s, msg, err);
	case STEP_SIGNAL:
	case STEP_WINDOW_SIZE:
		if (msg->len < 4)
			return error_set(err, ERR_PROTOCOL, "a message of kind %u", msg->kind);
		mstep_to_nodes(m, s, msg->kind, msg->data, msg->len);
		return 0;
	case STEP_TAKEN:
		if (msg->len != 4)
			return error_set(err, ERR_PROTOCOL, "not a number of bytes");
		take_pieces(m, s, get_u32(msg->data));
		return 0;
	default:
		return error_set(err, ERR_PROTOCOL, "a client's message of kind %u", msg->kind);
	}
}

int mrun_node(struct manager *m, struct mstep *s, uint32_t rank, const struct steplink_message *msg,
        struct error *err)
{
	struct mnode *node = find_node(s, rank);

	if (!node)
		return error_set(err, ERR_PROTOCOL, "a step that this node does not have");
	switch (msg->kind) {
	case STEP_OUT:
	case STEP_ERR:
		return take_output(m, s, rank, msg, err);
	case STEP_TASK:
		return take_task(m, s, msg, err);
	case STEP_IN_TAKEN:
		return take_input_taken(m, s, node, msg, err);
	case STEP_PMI_ASK:
		return take_pmi(m, s, msg, err);
	case STEP_PMIX_ASK:
		return mpmix_take(m, s, rank, msg, err);
	case STEP_DONE:
		take_done(m, s, node);
		return 0;
	default:
		return error_set(err, ERR_PROTOCOL, "a node's message of kind %u", msg->kind);
	}
}
