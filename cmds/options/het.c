/* het.c - see het.h */
#include "cmds/options/het.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/api/gpus.h"
#include "cmds/options/tasks.h"
#include "common/base/xalloc.h"

#define FIELD(member) offsetof(struct submit_options, member)

static char **text_at(struct submit_options *o, size_t offset)
{
	return (char **)(void *)((char *)o + offset);
}

/* --- amounts: the largest ------------------------------------------------------------------- */

static void take_u64(struct submit_options *o, uint64_t *mine, uint64_t other)
{
	o->components_differ |= *mine != other;
	if (other > *mine)
		*mine = other;
}

static void take_u32(struct submit_options *o, uint32_t *mine, uint32_t other)
{
	uint64_t wide = *mine;

	take_u64(o, &wide, other);
	*mine = (uint32_t)wide;
}

static void take_bool(struct submit_options *o, bool *mine, bool other)
{
	o->components_differ |= *mine != other;
	*mine |= other;
}

/* --- GPUs of a node ------------------------------------------------------------------------- */

static int gpus_each(
        const struct submit_options *o, unsigned number, struct gpus *g, struct error *err)
{
	uint32_t nodes = tasks_nodes(o);

	g->n = 0;
	if (o->gpus && gpus_parse(o->gpus, g, err) < 0)
		return -1;
	for (size_t i = 0; i < g->n && !o->gpus_per_node; i++) {
		if (g->v[i].count % nodes) {
			error_set(err, ERR_USAGE,
			        "component %u: --gpus=%s cannot be shared equally by its %u nodes",
			        number, o->gpus, nodes);
			return error_hint(err, "--gpus-per-node says how many each has");
		}
		g->v[i].count /= nodes;
	}
	return 0;
}

static int differ_in_gpus(unsigned number, struct error *err)
{
	error_set(err, ERR_USAGE,
	        "component %u asks for GPUs of another type; all nodes of a job get "
	        "the same",
	        number);
	return error_hint(err, "submit a job for each component");
}

/* The larger number of each alternative, which must be of one type. */
static int larger_gpus(struct submit_options *o, struct gpus *mine, const struct gpus *other,
        unsigned number, struct error *err)
{
	if (mine->n != other->n)
		o->components_differ = true;
	if (!other->n)
		return 0;
	if (!mine->n) {
		*mine = *other;
		return 0;
	}
	if (mine->n != other->n)
		return differ_in_gpus(number, err);
	for (size_t i = 0; i < mine->n; i++) {
		if (!*mine->v[i].type)
			memcpy(mine->v[i].type, other->v[i].type, sizeof(mine->v[i].type));
		else if (*other->v[i].type && strcmp(mine->v[i].type, other->v[i].type) != 0)
			return differ_in_gpus(number, err);
		take_u32(o, &mine->v[i].count, other->v[i].count);
	}
	return 0;
}

static char *gpus_text(const struct gpus *g)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < g->n; i++) {
		char *longer = xasprintf("%s%s%s:%u", text, i ? "|" : "",
		        *g->v[i].type ? g->v[i].type : "any", g->v[i].count);

		free(text);
		text = longer;
	}
	return text;
}

static int join_gpus(struct submit_options *o, struct error *err)
{
	struct gpus mine, other;
	unsigned number = 0;

	if (gpus_each(o, number, &mine, err) < 0)
		return -1;
	for (const struct submit_options *c = o->component; c; c = c->component)
		if (gpus_each(c, ++number, &other, err) < 0 ||
		        larger_gpus(o, &mine, &other, number, err) < 0)
			return -1;
	if (mine.n) {
		free(o->gpus);
		o->gpus = gpus_text(&mine);
		o->gpus_per_node = true;
		o->gpus_per_task = false;
	}
	return 0;
}

/* --- texts: the same, or joined ------------------------------------------------------------- */

static const struct {
	const char *option;
	size_t offset;
	bool joined;
} texts[] = {
	{ "partition", FIELD(partition), false },
	{ "account", FIELD(account), false },
	{ "qos", FIELD(qos), false },
	{ "constraint", FIELD(constraint), false },
	{ "prefer", FIELD(prefer), false },
	{ "nodelist", FIELD(nodelist), true },
	{ "exclude", FIELD(exclude), true },
	{ "licenses", FIELD(licences), true },
};

static int join_texts(
        struct submit_options *o, struct submit_options *c, unsigned number, struct error *err)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char **mine = text_at(o, texts[i].offset), *joined;
		const char *other = *text_at(c, texts[i].offset);

		if (!other || (*mine && !strcmp(*mine, other)))
			continue;
		if (!texts[i].joined) {
			error_set(err, ERR_USAGE,
			        "component %u: --%s=%s: the nodes of a job are all alike, by what "
			        "its first component asks for",
			        number, texts[i].option, other);
			return error_hint(err, "submit a job for each component");
		}
		joined = *mine && **mine ? xasprintf("%s,%s", *mine, other) : xstrdup(other);
		free(*mine);
		*mine = joined;
	}
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------ */

static void join_amounts(struct submit_options *o, const struct submit_options *c)
{
	take_u32(o, &o->cpus, c->cpus ? c->cpus : o->cpus ? 1 : 0);
	take_u64(o, &o->mem_mb, c->mem_mb);
	take_u32(o, &o->gpu_share_milli, c->gpu_share_milli);
	take_bool(o, &o->exclusive, c->exclusive);
	take_bool(o, &o->all_mem, c->all_mem);
	if (c->time_limit_s > o->time_limit_s)
		o->time_limit_s = c->time_limit_s;
}

int het_join(struct submit_options *o, struct error *err)
{
	uint64_t nodes = tasks_nodes(o);
	unsigned number = 0;

	if (o->array)
		return error_set(err, ERR_USAGE, "a job of several components cannot be an array");
	if (join_gpus(o, err) < 0)
		return -1;
	for (struct submit_options *c = o->component; c; c = c->component) {
		if (join_texts(o, c, ++number, err) < 0)
			return -1;
		join_amounts(o, c);
		nodes += tasks_nodes(c);
	}
	if (nodes > UINT32_MAX)
		return error_set(err, ERR_USAGE, "the components ask for too many nodes");
	o->nodes_min = o->nodes_max = (uint32_t)nodes;
	o->steps = true;
	return 0;
}

const char *het_nodes(const struct submit_options *o, char text[HET_NODES_TEXT])
{
	size_t used = 0;

	if (!o->component)
		return NULL;
	for (; o; o = o->component)
		used += (size_t)snprintf(text + used, HET_NODES_TEXT - used, "%s%u",
		        used ? "," : "", tasks_nodes(o));
	return text;
}
