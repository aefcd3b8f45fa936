/* manager.c - see manager.h */
#include "cmds/steps/manager.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/steps/manager_impl.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

struct manager *manager_new(const struct manager_ops *ops, const char *const *nodes, size_t n_nodes)
{
	struct manager *m = xcalloc(1, sizeof(*m));

	m->ops = *ops;
	m->names = nodes;
	layout_init(&m->layout, nodes, n_nodes);
	m->asked = xcalloc(n_nodes, sizeof(bool));
	return m;
}

void manager_free(struct manager *m)
{
	while (m->steps)
		mstep_free(m, m->steps);
	layout_clear(&m->layout);
	free(m->asked);
	free(m);
}

void manager_go_on(struct manager *m, uint32_t number)
{
	m->next_id = number;
}

uint32_t manager_next_number(const struct manager *m)
{
	return m->next_id;
}

size_t manager_steps(const struct manager *m)
{
	return m->n_steps;
}

void manager_node_known(struct manager *m, uint32_t rank, uint32_t cpus, uint32_t gpus)
{
	if (rank >= m->layout.n)
		return;
	m->asked[rank] = true;
	layout_know(&m->layout, rank, cpus, gpus);
	mstart_try(m);
}

/* --- what the files share --------------------------------------------------------------------- */

static void free_part(struct manager *m, struct mpart *part)
{
	layout_release(&m->layout, &part->place);
	layout_place_clear(&part->place);
	free(part->allowed);
	free(part->must);
	gpusched__step_request__free_unpacked(part->request, NULL);
}

void mstep_free(struct manager *m, struct mstep *s)
{
	struct mstep **at = &m->steps;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	m->n_steps--;
	m->n_running -= s->runs;
	for (size_t i = 0; i < s->n_parts; i++)
		free_part(m, &s->parts[i]);
	pmi_free(s->pmi);
	mpmix_free(s->pmix);
	free(s->parts);
	free(s->nodes);
	free(s->task_rank);
	free(s->pieces);
	free(s);
}

static void say(struct manager *m, uint64_t client, unsigned kind, uint32_t step,
        const ProtobufCMessage *msg)
{
	size_t len = protobuf_c_message_get_packed_size(msg);
	uint8_t *data = xcalloc(len, 1);

	protobuf_c_message_pack(msg, data);
	m->ops.to_client(m->ops.arg, client, kind, step, data, len);
	free(data);
}

void mstep_say(struct manager *m, struct mstep *s, unsigned kind, const ProtobufCMessage *msg)
{
	if (s->client)
		say(m, s->client, kind, s->runs ? s->id : STEP_NONE, msg);
}

void mstep_to_nodes(struct manager *m, struct mstep *s, unsigned kind, const void *data, size_t len)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (!s->nodes[i].done)
			m->ops.to_node(m->ops.arg, s->nodes[i].rank, kind, s->id, data, len);
}

static void mstep_signal(struct manager *m, struct mstep *s, uint32_t task, uint32_t sig)
{
	uint8_t b[8];

	put_u32(b, sig);
	put_u32(b + 4, task);
	mstep_to_nodes(m, s, STEP_SIGNAL, b, sizeof(b));
}

void mstep_terminate(struct manager *m, struct mstep *s)
{
	if (s->kill_ms)
		return;
	s->kill_ms = m->ops.now_ms(m->ops.arg) + MANAGER_KILL_MS;
	mstep_signal(m, s, STEP_NONE, SIGCONT);
	mstep_signal(m, s, STEP_NONE, SIGTERM);
}

/* --- clients ---------------------------------------------------------------------------------- */

static struct mstep *find_client(struct manager *m, uint64_t client)
{
	for (struct mstep *s = m->steps; s; s = s->next)
		if (s->client == client)
			return s;
	return NULL;
}

static struct mstep *find_running(struct manager *m, uint32_t id)
{
	for (struct mstep *s = m->steps; s; s = s->next)
		if (s->runs && s->id == id)
			return s;
	return NULL;
}

static void cancel(struct manager *m, struct mstep *s)
{
	Gpusched__StepState state = GPUSCHED__STEP_STATE__INIT;

	s->cancelled = true;
	state.state = GPUSCHED__STEP_STATE__STATE__CANCELLED;
	state.step = s->id;
	mstep_say(m, s, STEP_STATE, &state.base);
	mstep_signal(m, s, STEP_NONE, SIGKILL);
}

static size_t signal_steps(struct manager *m, const Gpusched__StepControl *c)
{
	size_t n = 0;

	for (struct mstep *s = m->steps; s; s = s->next) {
		if (!s->runs || (c->step != STEP_NONE && c->step != s->id))
			continue;
		n++;
		if (c->signal == SIGKILL)
			cancel(m, s);
		else
			mstep_signal(m, s, STEP_NONE, c->signal);
	}
	return n;
}

static void reply(struct manager *m, uint64_t client, const struct error *err)
{
	Gpusched__Reply r = GPUSCHED__REPLY__INIT;

	r.code = (uint32_t)err->code;
	r.text = (char *)(uintptr_t)err->text;
	say(m, client, STEP_REPLY, STEP_NONE, &r.base);
}

/* Each step as its own client knows it; the reply follows. */
static void list_steps(struct manager *m, uint64_t client)
{
	for (struct mstep *s = m->steps; s; s = s->next) {
		Gpusched__StepState state;

		if (s->n_parts < s->parts_wanted)
			continue;
		mstart_describe(m, s, &state);
		say(m, client, STEP_STATE, s->runs ? s->id : STEP_NONE, &state.base);
		mstart_description_clear(&state);
	}
}

static int take_control(
        struct manager *m, uint64_t client, const struct steplink_message *msg, struct error *err)
{
	Gpusched__StepControl *c = gpusched__step_control__unpack(NULL, msg->len, msg->data);
	struct error why = { .code = ERR_NONE };

	if (!c)
		return error_set(err, ERR_PROTOCOL, "a control that cannot be read");
	if (c->verb == GPUSCHED__STEP_CONTROL__VERB__SIGNAL) {
		if (!signal_steps(m, c))
			error_set(&why, ERR_JOB_STATE, "no such step");
	} else if (c->verb == GPUSCHED__STEP_CONTROL__VERB__QUIT && m->ops.quit) {
		m->ops.quit(m->ops.arg, c->exit_code);
	} else if (c->verb == GPUSCHED__STEP_CONTROL__VERB__LIST) {
		list_steps(m, client);
	} else {
		error_set(&why, ERR_USAGE, "not understood");
	}
	reply(m, client, &why);
	gpusched__step_control__free_unpacked(c, NULL);
	return 0;
}

int manager_client(
        struct manager *m, uint64_t client, const struct steplink_message *msg, struct error *err)
{
	struct mstep *s;

	if (msg->kind == STEP_NEW)
		return mstart_add(m, client, msg, err);
	if (msg->kind == STEP_CONTROL)
		return take_control(m, client, msg, err);
	s = find_client(m, client);
	return s && s->runs ? mrun_client(m, s, msg, err) : 0;
}

void manager_client_gone(struct manager *m, uint64_t client)
{
	struct mstep *s = find_client(m, client);

	if (!s)
		return;
	s->client = 0;
	if (s->runs)
		mrun_orphan(m, s);
	else
		mstep_free(m, s);
}

int manager_node(
        struct manager *m, uint32_t rank, const struct steplink_message *msg, struct error *err)
{
	struct mstep *s = find_running(m, msg->step);

	return s ? mrun_node(m, s, rank, msg, err) : 0;
}

void manager_node_lost(struct manager *m, uint32_t rank)
{
	if (rank >= m->layout.n)
		return;
	layout_lose(&m->layout, rank);
	mrun_lose_node(m, rank);
	mstart_try(m);
}

/* --- the clock -------------------------------------------------------------------------------- */

static void check_limit(struct manager *m, struct mstep *s, int64_t now)
{
	Gpusched__StepState state = GPUSCHED__STEP_STATE__INIT;

	if (s->limit_ms && now >= s->limit_ms) {
		s->limit_ms = 0;
		s->timeout = true;
		state.state = GPUSCHED__STEP_STATE__STATE__TIME_LIMIT;
		state.step = s->id;
		mstep_say(m, s, STEP_STATE, &state.base);
		mstep_terminate(m, s);
	}
	if (s->kill_ms && now >= s->kill_ms) {
		s->kill_ms = now + MANAGER_KILL_MS;
		mstep_signal(m, s, STEP_NONE, SIGKILL);
	}
}

void manager_tick(struct manager *m)
{
	int64_t now = m->ops.now_ms(m->ops.arg);

	for (struct mstep *s = m->steps; s; s = s->next)
		if (s->runs)
			check_limit(m, s, now);
}

int64_t manager_wait_ms(const struct manager *m)
{
	int64_t least = INT64_MAX, now = m->ops.now_ms(m->ops.arg);

	for (const struct mstep *s = m->steps; s; s = s->next) {
		if (s->limit_ms && s->limit_ms < least)
			least = s->limit_ms;
		if (s->kill_ms && s->kill_ms < least)
			least = s->kill_ms;
	}
	return least == INT64_MAX ? -1 : least > now ? least - now : 0;
}
