/* layout.c - see layout.h */
#include "cmds/steps/layout.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

static const char why_cpus[] = "More processors requested than permitted";
static const char why_nodes[] = "Requested node configuration is not available";
static const char why_gpus[] = "Invalid generic resource (gres) specification";

/* What one node could take of a step. */
struct room {
	size_t node;
	uint32_t tasks; /* as many at most */
	uint32_t gpus;  /* that are free */
	uint32_t got;   /* tasks that it is given */
};

/* One search. */
struct search {
	const struct layout *l;
	const struct layout_ask *ask;
	bool ignore; /* what steps hold counts as free */
	uint32_t tasks, cpus_per_task, want_nodes;
	struct room *rooms;
	size_t n;
	bool lacks_gpus;
};

void layout_init(struct layout *l, const char *const *names, size_t n)
{
	*l = (struct layout){ .nodes = xcalloc(n, sizeof(*l->nodes)), .n = n };
	for (size_t i = 0; i < n; i++)
		l->nodes[i].name = names[i];
}

void layout_clear(struct layout *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->nodes[i].cpu_taken);
		free(l->nodes[i].gpu_taken);
	}
	free(l->nodes);
	*l = (struct layout){ .nodes = NULL };
}

void layout_know(struct layout *l, size_t node, uint32_t cpus, uint32_t gpus)
{
	struct layout_node *at = &l->nodes[node];

	if (at->known)
		return;
	at->known = true;
	at->cpus = cpus < LAYOUT_CPUS_MAX ? cpus : LAYOUT_CPUS_MAX;
	at->gpus = gpus < LAYOUT_GPUS_MAX ? gpus : LAYOUT_GPUS_MAX;
	at->cpu_taken = xcalloc(at->cpus, sizeof(bool));
	at->gpu_taken = xcalloc(at->gpus, sizeof(bool));
}

void layout_lose(struct layout *l, size_t node)
{
	layout_know(l, node, 0, 0);
	l->nodes[node].cpus = l->nodes[node].gpus = 0;
}

static uint32_t count_free(const bool *taken, uint32_t n, bool ignore)
{
	uint32_t free_ones = 0;

	for (uint32_t i = 0; i < n; i++)
		free_ones += ignore || !taken[i];
	return free_ones;
}

/* --- how many tasks each node could have ------------------------------------------------------ */

static bool says_gpus(const struct layout_ask *ask)
{
	return ask->no_gpus || ask->gpus || ask->gpus_per_node || ask->gpus_per_task;
}

static bool shares_gpus(const struct layout_ask *ask)
{
	return ask->share_gpus && !says_gpus(ask);
}

/* GPUs of a node that a step needs to have any task there. */
static uint32_t gpus_at_least(const struct search *s, const struct layout_node *node)
{
	if (!says_gpus(s->ask))
		return s->ask->share_gpus ? 0 : node->gpus;
	if (s->ask->gpus_per_node)
		return s->ask->gpus_per_node;
	return s->ask->gpus_per_task ? s->ask->gpus_per_task : s->ask->gpus ? 1 : 0;
}

static bool may_use(const struct search *s, size_t i)
{
	return i >= s->ask->relative && (!s->ask->allowed || s->ask->allowed[i]) &&
	       (!s->ask->must || s->ask->must[i]);
}

static uint32_t tasks_by_cpus(const struct search *s, const struct layout_node *node)
{
	uint32_t free_cpus = count_free(node->cpu_taken, node->cpus, s->ignore);

	if (!s->ask->exact && free_cpus < node->cpus)
		return 0;
	if (s->ask->overcommit)
		return free_cpus ? LAYOUT_TASKS_MAX : 0;
	return free_cpus / s->cpus_per_task;
}

/* At most this many tasks; 0: none. */
static uint32_t tasks_on(struct search *s, const struct layout_node *node, uint32_t *free_gpus)
{
	uint32_t tasks = tasks_by_cpus(s, node), least = gpus_at_least(s, node);

	*free_gpus = count_free(node->gpu_taken, node->gpus, s->ignore);
	if (least > *free_gpus) {
		s->lacks_gpus = true;
		return 0;
	}
	if (s->ask->gpus_per_task && *free_gpus / s->ask->gpus_per_task < tasks)
		tasks = *free_gpus / s->ask->gpus_per_task;
	if (s->ask->tasks_per_node && s->ask->tasks_per_node < tasks)
		tasks = s->ask->tasks_per_node;
	return tasks;
}

static void list_rooms(struct search *s)
{
	s->rooms = xcalloc(s->l->n, sizeof(*s->rooms));
	s->n = 0;
	for (size_t i = 0; i < s->l->n; i++) {
		struct room room = { .node = i };

		if (!s->l->nodes[i].known || !may_use(s, i))
			continue;
		room.tasks = tasks_on(s, &s->l->nodes[i], &room.gpus);
		if (room.tasks)
			s->rooms[s->n++] = room;
	}
}

/* --- which nodes ------------------------------------------------------------------------------ */

static uint64_t room_of(const struct room *rooms, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += rooms[i].tasks;
	return sum;
}

static int most_first(const void *a, const void *b)
{
	const struct room *x = a, *y = b;

	if (x->tasks != y->tasks)
		return x->tasks < y->tasks ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int by_node(const void *a, const void *b)
{
	const struct room *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

/* Keep as many nodes as it is to have. False: they have too little room. */
static bool choose_nodes(struct search *s)
{
	uint32_t most = s->ask->nodes_max > s->want_nodes ? s->ask->nodes_max : s->want_nodes;

	if (s->n < s->want_nodes)
		return false;
	if (room_of(s->rooms, s->want_nodes) < s->tasks && s->n > s->want_nodes)
		qsort(s->rooms, s->n, sizeof(*s->rooms), most_first);
	while (room_of(s->rooms, s->want_nodes) < s->tasks) {
		if (s->want_nodes == most || s->want_nodes == s->n)
			return false;
		s->want_nodes++;
	}
	s->n = s->want_nodes;
	qsort(s->rooms, s->n, sizeof(*s->rooms), by_node);
	return true;
}

static void count_tasks(struct search *s)
{
	for (uint32_t given = 0; given < s->tasks;)
		for (size_t i = 0; i < s->n && given < s->tasks; i++) {
			if (s->rooms[i].got == s->rooms[i].tasks)
				continue;
			s->rooms[i].got++;
			given++;
		}
}

/* --- the place -------------------------------------------------------------------------------- */

static uint32_t *pick(const bool *taken, uint32_t n, uint32_t want, bool ignore, size_t *got)
{
	uint32_t *list = xcalloc(want, sizeof(*list));

	*got = 0;
	for (uint32_t i = 0; i < n && *got < want; i++)
		if (!taken[i])
			list[(*got)++] = i;
	for (uint32_t i = 0; ignore && i < n && *got < want; i++)
		if (taken[i])
			list[(*got)++] = i;
	return list;
}

/* GPUs for each of its nodes; of a total, as even as the nodes allow. False: there are too few. */
static bool share_gpus(const struct search *s, uint32_t *gpus)
{
	const struct layout_ask *ask = s->ask;
	uint32_t left = ask->gpus;
	bool progress = true;

	for (size_t i = 0; i < s->n; i++)
		gpus[i] = ask->no_gpus         ? 0
		          : ask->gpus_per_task ? ask->gpus_per_task * s->rooms[i].got
		          : ask->gpus_per_node ? ask->gpus_per_node
		          : ask->gpus          ? 0
		                               : s->l->nodes[s->rooms[i].node].gpus;
	if (!ask->gpus || ask->gpus_per_task || ask->gpus_per_node)
		return true;
	while (left && progress) {
		progress = false;
		for (size_t i = 0; i < s->n && left; i++) {
			if (gpus[i] == s->rooms[i].gpus)
				continue;
			gpus[i]++;
			left--;
			progress = true;
		}
	}
	return !left;
}

static void number_block(const struct search *s, struct layout_place *place)
{
	uint32_t id = 0;

	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < place->parts[i].n_tasks; k++)
			place->parts[i].tasks[k] = id++;
}

static void number_cyclic(const struct search *s, struct layout_place *place)
{
	uint32_t id = 0;

	for (size_t k = 0; id < s->tasks; k++)
		for (size_t i = 0; i < s->n; i++)
			if (k < place->parts[i].n_tasks)
				place->parts[i].tasks[k] = id++;
}

static void make_part(const struct search *s, size_t i, uint32_t gpus, struct layout_part *part)
{
	const struct room *room = &s->rooms[i];
	const struct layout_node *node = &s->l->nodes[room->node];
	uint64_t need = (uint64_t)room->got * s->cpus_per_task;
	uint32_t cpus = !s->ask->exact || need > node->cpus ? node->cpus : (uint32_t)need;

	part->node = room->node;
	part->n_tasks = room->got;
	part->tasks = xcalloc(room->got, sizeof(*part->tasks));
	part->cpus = pick(node->cpu_taken, node->cpus, cpus, s->ignore, &part->n_cpus);
	part->gpus = pick(
	        node->gpu_taken, node->gpus, gpus, s->ignore || shares_gpus(s->ask), &part->n_gpus);
}

static bool make_place(const struct search *s, struct layout_place *place)
{
	uint32_t *gpus = xcalloc(s->n, sizeof(*gpus));
	bool ok = share_gpus(s, gpus);

	if (ok && place) {
		*place = (struct layout_place){
			.parts = xcalloc(s->n, sizeof(*place->parts)), .n = s->n, .tasks = s->tasks
		};
		for (size_t i = 0; i < s->n; i++)
			make_part(s, i, gpus[i], &place->parts[i]);
		if (s->ask->cyclic)
			number_cyclic(s, place);
		else
			number_block(s, place);
	}
	free(gpus);
	return ok;
}

/* --- all of it -------------------------------------------------------------------------------- */

static uint32_t count_usable(const struct search *s, bool known_only)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->l->n; i++)
		n += may_use(s, i) && (!known_only || s->l->nodes[i].known);
	return n;
}

/* How many nodes and tasks there are to be, as srun reads its options. */
static void settle_counts(struct search *s)
{
	const struct layout_ask *ask = s->ask;
	uint32_t usable = count_usable(s, false), nodes = ask->nodes_min;

	s->cpus_per_task = ask->cpus_per_task ? ask->cpus_per_task : 1;
	if (!nodes && ask->tasks && ask->tasks_per_node)
		nodes = (ask->tasks + ask->tasks_per_node - 1) / ask->tasks_per_node;
	if (!nodes)
		nodes = ask->tasks && ask->tasks < usable ? ask->tasks : usable;
	if (ask->tasks && nodes > ask->tasks)
		nodes = ask->tasks;
	s->want_nodes = nodes ? nodes : 1;
	s->tasks = ask->tasks            ? ask->tasks
	           : ask->tasks_per_node ? ask->tasks_per_node * s->want_nodes
	                                 : s->want_nodes;
}

static bool try_place(const struct layout *l, const struct layout_ask *ask, bool ignore,
        struct layout_place *place, bool *lacks_gpus)
{
	struct search s = { .l = l, .ask = ask, .ignore = ignore };
	bool ok;

	settle_counts(&s);
	list_rooms(&s);
	ok = choose_nodes(&s);
	if (ok) {
		count_tasks(&s);
		ok = make_place(&s, place);
		s.lacks_gpus |= !ok;
	}
	free(s.rooms);
	if (lacks_gpus)
		*lacks_gpus = s.lacks_gpus;
	return ok;
}

enum layout_answer layout_find(const struct layout *l, const struct layout_ask *ask,
        struct layout_place *place, const char **why)
{
	struct search s = { .l = l, .ask = ask };
	bool lacks_gpus;

	settle_counts(&s);
	if (count_usable(&s, false) < s.want_nodes || !s.want_nodes) {
		*why = why_nodes;
		return LAYOUT_NEVER;
	}
	if (s.tasks > LAYOUT_TASKS_MAX) {
		*why = why_cpus;
		return LAYOUT_NEVER;
	}
	if (try_place(l, ask, ask->overlap, place, NULL))
		return LAYOUT_FITS;
	if (count_usable(&s, true) < count_usable(&s, false))
		return LAYOUT_ASK;
	if (try_place(l, ask, true, NULL, &lacks_gpus))
		return LAYOUT_BUSY;
	*why = lacks_gpus ? why_gpus : why_cpus;
	return LAYOUT_NEVER;
}

static void mark(struct layout *l, const struct layout_place *place, bool taken)
{
	for (size_t i = 0; i < place->n; i++) {
		const struct layout_part *part = &place->parts[i];
		struct layout_node *node = &l->nodes[part->node];

		for (size_t k = 0; k < part->n_cpus; k++)
			node->cpu_taken[part->cpus[k]] = taken;
		for (size_t k = 0; k < part->n_gpus && place->gpus_booked; k++)
			node->gpu_taken[part->gpus[k]] = taken;
	}
}

void layout_take(struct layout *l, const struct layout_ask *ask, struct layout_place *place)
{
	if (ask->overlap)
		return;
	place->booked = true;
	place->gpus_booked = !shares_gpus(ask);
	mark(l, place, true);
}

void layout_release(struct layout *l, struct layout_place *place)
{
	if (place->booked)
		mark(l, place, false);
	place->booked = false;
}

void layout_place_clear(struct layout_place *place)
{
	for (size_t i = 0; i < place->n; i++) {
		free(place->parts[i].tasks);
		free(place->parts[i].cpus);
		free(place->parts[i].gpus);
	}
	free(place->parts);
	*place = (struct layout_place){ .parts = NULL };
}
