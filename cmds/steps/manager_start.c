/* manager_start.c - from a client's request to tasks on nodes; see manager.h */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/steps/manager_impl.h"
#include "common/base/hostlist.h"
#include "common/base/xalloc.h"

static const char why_nodes[] = "Requested node configuration is not available";
static const char why_busy[] = "Requested nodes are busy";

static void refuse(struct manager *m, struct mstep *s, int code, const char *text)
{
	Gpusched__StepState state = GPUSCHED__STEP_STATE__INIT;

	state.state = GPUSCHED__STEP_STATE__STATE__REFUSED;
	state.code = (uint32_t)code;
	state.text = (char *)(uintptr_t)text;
	mstep_say(m, s, STEP_STATE, &state.base);
	mstep_free(m, s);
}

static void tell_waits(struct manager *m, struct mstep *s, const char *text)
{
	Gpusched__StepState state = GPUSCHED__STEP_STATE__INIT;

	if (s->told_waits)
		return;
	s->told_waits = true;
	state.state = GPUSCHED__STEP_STATE__STATE__WAITS;
	state.text = (char *)(uintptr_t)text;
	mstep_say(m, s, STEP_STATE, &state.base);
}

/* --- the request ------------------------------------------------------------------------------ */

struct marking {
	const struct manager *m;
	bool *set;
	bool all_there;
};

static int mark_node(const char *name, void *arg)
{
	struct marking *k = arg;

	for (size_t i = 0; i < k->m->layout.n; i++)
		if (!strcmp(k->m->names[i], name)) {
			k->set[i] = true;
			return 0;
		}
	k->all_there = false;
	return 0;
}

/* The job's nodes that a list names. False: it names others as well, or is none. */
static bool mark_nodes(const struct manager *m, const char *list, bool *set)
{
	struct marking k = { m, set, true };

	return hostlist_each(list, HOSTLIST_MAX, mark_node, &k, NULL) == 0 && k.all_there;
}

static bool read_nodes(const struct manager *m, struct mpart *part)
{
	const Gpusched__StepRequest *r = part->request;
	size_t n = m->layout.n;

	if (*r->nodelist) {
		part->must = xcalloc(n, sizeof(bool));
		if (!mark_nodes(m, r->nodelist, part->must))
			return false;
	}
	if (*r->exclude) {
		part->allowed = xcalloc(n, sizeof(bool));
		mark_nodes(m, r->exclude, part->allowed);
		for (size_t i = 0; i < n; i++)
			part->allowed[i] = !part->allowed[i];
	}
	return true;
}

static void read_ask(struct mpart *part, bool several)
{
	const Gpusched__StepRequest *r = part->request;

	part->ask = (struct layout_ask){ .tasks = r->tasks,
		.tasks_per_node = r->tasks_per_node,
		.cpus_per_task = r->cpus_per_task,
		.nodes_min = r->nodes_min,
		.nodes_max = r->nodes_max,
		.gpus = r->gpus,
		.gpus_per_node = r->gpus_per_node,
		.gpus_per_task = r->gpus_per_task,
		.no_gpus = r->no_gpus,
		.exact = r->exact || several, /* the parts stand beside each other */
		.share_gpus = several,
		.overlap = r->overlap,
		.overcommit = r->overcommit,
		.cyclic = r->cyclic,
		.relative = r->relative,
		.allowed = part->allowed,
		.must = part->must };
}

static bool read_parts(struct manager *m, struct mstep *s)
{
	for (size_t i = 0; i < s->n_parts; i++) {
		if (!read_nodes(m, &s->parts[i]))
			return false;
		read_ask(&s->parts[i], s->n_parts > 1);
	}
	return true;
}

static struct mstep *find_open(struct manager *m, uint64_t client)
{
	for (struct mstep *s = m->steps; s; s = s->next)
		if (s->client == client)
			return s->n_parts < s->parts_wanted ? s : NULL;
	return NULL;
}

static struct mstep *mstep_new(struct manager *m, uint64_t client, size_t parts)
{
	struct mstep *s = xcalloc(1, sizeof(*s)), **at = &m->steps;

	while (*at)
		at = &(*at)->next;
	*at = s;
	m->n_steps++;
	s->client = client;
	s->parts_wanted = parts;
	s->parts = xcalloc(parts, sizeof(*s->parts));
	return s;
}

static int check_request(const Gpusched__StepRequest *r, struct error *err)
{
	if (!r || (!r->n_args && !r->multi_prog.len) || r->parts_follow >= MANAGER_PARTS_MAX ||
	        !r->cwd.len)
		return error_set(err, ERR_PROTOCOL, "a request that cannot be read");
	return 0;
}

static bool try_one(struct manager *m, struct mstep *s);

int mstart_add(
        struct manager *m, uint64_t client, const struct steplink_message *msg, struct error *err)
{
	Gpusched__StepRequest *r = gpusched__step_request__unpack(NULL, msg->len, msg->data);
	struct mstep *s = find_open(m, client);

	if (check_request(r, err) < 0) {
		if (r)
			gpusched__step_request__free_unpacked(r, NULL);
		return -1;
	}
	if (!s)
		s = mstep_new(m, client, 1 + (size_t)r->parts_follow);
	s->parts[s->n_parts++].request = r;
	if (s->n_parts < s->parts_wanted)
		return 0;
	if (m->n_steps > MANAGER_WAITING_MAX)
		refuse(m, s, ERR_BUSY, "More steps wait than may");
	else if (m->next_id == MANAGER_NUMBERS_MAX)
		refuse(m, s, ERR_BUSY, "Step limit reached for this job");
	else if (!read_parts(m, s))
		refuse(m, s, ERR_JOB_SPEC, why_nodes);
	else
		try_one(m, s); /* for those before it there is no more room than there was */
	return 0;
}

/* --- the place -------------------------------------------------------------------------------- */

static void ask_nodes(struct manager *m)
{
	for (size_t i = 0; i < m->layout.n; i++)
		if (!m->asked[i]) {
			m->asked[i] = true;
			m->ops.need_node(m->ops.arg, (uint32_t)i);
		}
}

static void give_back(struct manager *m, struct mstep *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		layout_release(&m->layout, &s->parts[i].place);
		layout_place_clear(&s->parts[i].place);
	}
}

static enum layout_answer find_place(struct manager *m, struct mstep *s, const char **why)
{
	for (size_t i = 0; i < s->n_parts; i++) {
		struct mpart *part = &s->parts[i];
		enum layout_answer answer = layout_find(&m->layout, &part->ask, &part->place, why);

		if (answer != LAYOUT_FITS) {
			give_back(m, s, i);
			return answer;
		}
		layout_take(&m->layout, &part->ask, &part->place);
	}
	return LAYOUT_FITS;
}

/* --- the start -------------------------------------------------------------------------------- */

static struct mnode *node_of(struct mstep *s, uint32_t rank)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].rank == rank)
			return &s->nodes[i];
	s->nodes = xrealloc(s->nodes, s->n_nodes + 1, sizeof(*s->nodes));
	s->nodes[s->n_nodes] = (struct mnode){ .rank = rank };
	return &s->nodes[s->n_nodes++];
}

static void note_places(struct mstep *s)
{
	s->tasks = 0;
	for (size_t i = 0; i < s->n_parts; i++) {
		s->parts[i].first_task = s->tasks;
		s->tasks += s->parts[i].place.tasks;
	}
	s->task_rank = xcalloc(s->tasks, sizeof(*s->task_rank));
	for (size_t i = 0; i < s->n_parts; i++) {
		const struct layout_place *place = &s->parts[i].place;

		for (size_t k = 0; k < place->n; k++) {
			struct mnode *node = node_of(s, (uint32_t)place->parts[k].node);

			node->has_reader = true;
			for (size_t t = 0; t < place->parts[k].n_tasks; t++)
				s->task_rank[s->parts[i].first_task + place->parts[k].tasks[t]] =
				        node->rank;
		}
	}
}

static char *name_nodes(const struct manager *m, const struct layout_place *place)
{
	const char **names = xcalloc(place->n, sizeof(*names));
	char *list;

	for (size_t i = 0; i < place->n; i++)
		names[i] = m->names[place->parts[i].node];
	list = hostlist_compress(names, place->n);
	free(names);
	return list;
}

static uint32_t *count_tasks(const struct layout_place *place)
{
	uint32_t *counts = xcalloc(place->n, sizeof(*counts));

	for (size_t i = 0; i < place->n; i++)
		counts[i] = (uint32_t)place->parts[i].n_tasks;
	return counts;
}

/* One node's tasks of one part. */
static void send_tasks(struct manager *m, struct mstep *s, const struct mpart *part, size_t i,
        Gpusched__StepTasks *t)
{
	const struct layout_part *at = &part->place.parts[i];
	uint32_t *each = NULL, *ids = xcalloc(at->n_tasks, sizeof(*ids));
	size_t len;
	uint8_t *data;

	for (size_t k = 0; k < at->n_tasks; k++)
		ids[k] = part->first_task + at->tasks[k];
	t->first_node = (uint32_t)i;
	t->n_ids = at->n_tasks;
	t->ids = ids;
	t->n_gpus = at->n_gpus;
	t->gpus = at->gpus;
	t->n_cpu_at = at->n_cpus;
	t->cpu_at = at->cpus;
	t->n_task_gpus = 0;
	if (part->ask.gpus_per_task) {
		each = xcalloc(at->n_tasks, sizeof(*each));
		for (size_t k = 0; k < at->n_tasks; k++)
			each[k] = part->ask.gpus_per_task;
		t->n_task_gpus = at->n_tasks;
		t->task_gpus = each;
	}
	len = gpusched__step_tasks__get_packed_size(t);
	data = xcalloc(len, 1);
	gpusched__step_tasks__pack(t, data);
	m->ops.to_node(m->ops.arg, (uint32_t)at->node, STEP_START, s->id, data, len);
	free(data);
	free(each);
	free(ids);
}

static bool has_more(const struct mstep *s, size_t part, size_t node)
{
	for (size_t i = part + 1; i < s->n_parts; i++)
		for (size_t k = 0; k < s->parts[i].place.n; k++)
			if (s->parts[i].place.parts[k].node == node)
				return true;
	return false;
}

static void send_part(struct manager *m, struct mstep *s, size_t number, char *pmix_name)
{
	const struct mpart *part = &s->parts[number];
	Gpusched__StepTasks t = GPUSCHED__STEP_TASKS__INIT;
	char *list = name_nodes(m, &part->place);
	uint32_t *counts = count_tasks(&part->place);

	t.request = part->request;
	t.nodelist = list;
	t.nodes = (uint32_t)part->place.n;
	t.tasks = s->tasks;
	t.n_node_tasks = part->place.n;
	t.node_tasks = counts;
	t.launch_port = part->request->host_pid & 0xffff;
	if (mpmix_is_asked(s)) {
		t.n_task_ranks = s->tasks;
		t.task_ranks = s->task_rank;
		t.pmix_name = pmix_name;
	}
	for (size_t i = 0; i < part->place.n; i++) {
		t.more = has_more(s, number, part->place.parts[i].node);
		send_tasks(m, s, part, i, &t);
	}
	free(counts);
	free(list);
}

void mstart_describe(const struct manager *m, const struct mstep *s, Gpusched__StepState *state)
{
	const struct layout_place *place = &s->parts[0].place;

	gpusched__step_state__init(state);
	state->state = s->runs ? GPUSCHED__STEP_STATE__STATE__CREATED
	                       : GPUSCHED__STEP_STATE__STATE__WAITS;
	if (!s->runs) {
		state->text = (char *)(uintptr_t)why_busy;
		return;
	}
	state->step = s->id;
	state->tasks = s->tasks;
	state->nodelist = name_nodes(m, place);
	state->n_node_tasks = place->n;
	state->node_tasks = count_tasks(place);
	state->n_part_tasks = s->n_parts;
	state->part_tasks = xcalloc(s->n_parts, sizeof(uint32_t));
	for (size_t i = 0; i < s->n_parts; i++)
		state->part_tasks[i] = s->parts[i].place.tasks;
}

void mstart_description_clear(Gpusched__StepState *state)
{
	if (state->state != GPUSCHED__STEP_STATE__STATE__CREATED)
		return;
	free(state->part_tasks);
	free(state->nodelist);
	free(state->node_tasks);
}

static void tell_created(struct manager *m, struct mstep *s)
{
	Gpusched__StepState state;

	mstart_describe(m, s, &state);
	mstep_say(m, s, STEP_STATE, &state.base);
	mstart_description_clear(&state);
}

static void start(struct manager *m, struct mstep *s)
{
	const Gpusched__StepRequest *r = s->parts[0].request;
	char pmix_name[64];

	s->id = m->next_id++;
	s->runs = true;
	m->n_running++;
	s->start_time = m->ops.time(m->ops.arg);
	if (r->time_limit_s)
		s->limit_ms = m->ops.now_ms(m->ops.arg) + (int64_t)r->time_limit_s * 1000;
	note_places(s);
	tell_created(m, s);
	mrun_report(m, s, false);
	/* A node may be done with its tasks while others are still told of theirs. */
	s->starting = true;
	snprintf(pmix_name, sizeof(pmix_name), "gpusched.%u.%016" PRIx64, s->id,
	        mpmix_is_asked(s) ? m->ops.random(m->ops.arg) : 0);
	for (size_t i = 0; i < s->n_parts; i++)
		send_part(m, s, i, pmix_name);
	s->starting = false;
	mrun_check_end(m, s);
}

/* Was the same looked for in vain since a place was freed last? Bytes between the fields may
 * differ: then it is looked for once more. */
static bool is_known_busy(const struct manager *m, const struct mstep *s)
{
	return m->knows_busy && s->n_parts == 1 && !s->parts[0].allowed && !s->parts[0].must &&
	       !memcmp(&m->busy, &s->parts[0].ask, sizeof(m->busy));
}

static enum layout_answer look_for(struct manager *m, struct mstep *s, const char **why)
{
	enum layout_answer answer;

	*why = why_busy;
	if (m->n_running >= MANAGER_STEPS_MAX || is_known_busy(m, s))
		return LAYOUT_BUSY;
	answer = find_place(m, s, why);
	if (answer == LAYOUT_BUSY && s->n_parts == 1) {
		m->busy = s->parts[0].ask;
		m->knows_busy = true;
	}
	return answer;
}

/* True: the list of steps has changed. */
static bool try_one(struct manager *m, struct mstep *s)
{
	const char *why;
	enum layout_answer answer = look_for(m, s, &why);

	switch (answer) {
	case LAYOUT_FITS:
		start(m, s);
		return true;
	case LAYOUT_ASK:
		ask_nodes(m);
		return false;
	case LAYOUT_BUSY:
		if (!m->n_running) { /* its own parts are in each other's way */
			refuse(m, s, ERR_JOB_NEVER, why_nodes);
			return true;
		}
		if (!s->parts[0].request->immediate) {
			tell_waits(m, s, why_busy);
			return false;
		}
		refuse(m, s, ERR_BUSY, why_busy);
		return true;
	default:
		refuse(m, s, ERR_JOB_NEVER, why);
		return true;
	}
}

void mstart_try(struct manager *m)
{
	struct mstep *s = m->steps;

	m->knows_busy = false;
	if (m->trying) /* a step that ended at once: the loop below goes on with what it freed */
		return;
	m->trying = true;
	while (s) {
		bool changed = !s->runs && s->n_parts == s->parts_wanted && try_one(m, s);

		s = changed ? m->steps : s->next;
	}
	m->trying = false;
}
