/* missing_resources.c - see missing_resources.h
 *
 * A node that could run the request if it were empty is counted once: by its state if it accepts no
 * work, else by the first thing that is short there. The counts are made when a client asks, and
 * cost one look at each node of the partition.
 */
#include "ctld/core/explain/missing_resources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/job/reason.h"
#include "ctld/core/intake/never_fits.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/state.h"

/* --- what a set of nodes has ----------------------------------------------------------------- */

#define NAMED     2
#define TEXT_SIZE 256

/* A number of nodes, and the first of them. */
struct named {
	uint32_t n, first[NAMED];
};

struct spare {
	uint32_t node;
	uint64_t left; /* GPUs; for a share: what one GPU has left, in the unit of spare_words() */
};

struct tally {
	uint32_t could; /* nodes that could run it if they were empty */
	struct named drained, down, unknown, invalid; /* of those that could */
	/* Of those that could and accept work, by the first thing that is short; others: there is
	 * room only on GPUs that other users' jobs share. */
	uint32_t no_gpus, no_links, others, no_cpus, no_mem, no_ports;
	struct named avoids; /* its replicas were unready there */
	uint32_t fits;
	struct spare most[NAMED]; /* of no_gpus: the nodes with the most left, most first */
};

static bool could_fit(const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a)
{
	return ledger_could_fit_part(l, node, ask, a, TYPE_ANY);
}

/* Does one alternative fit there, by the given question? */
static bool any_alternative(const struct ledger *l, uint32_t node, const struct ask *ask,
        bool (*fits)(const struct ledger *, uint32_t, const struct ask *, uint32_t))
{
	uint32_t a = 0;

	do {
		if (fits(l, node, ask, a))
			return true;
	} while (++a < ask->gpus->n);
	return false;
}

static void note(struct named *named, uint32_t node)
{
	if (named->n < NAMED)
		named->first[named->n] = node;
	named->n++;
}

/* Does it not fit because of what single GPUs have left, rather than because of their number? */
static bool wants_part(const struct request *r)
{
	return share_wished(&r->share) && request_part_gpus(r, 0) == 1;
}

/* The most that one of these GPUs has left: MiB if memory alone is asked for, else thousandths. */
static uint64_t most_left(
        const struct core *core, const struct request *r, uint32_t node, uint64_t gpus)
{
	uint64_t whole = ledger_gpus_used(core->ledger, node) &
	                 ~ledger_gpus_shared(core->ledger, node),
	         most = 0;

	for (gpus &= ~whole; gpus; gpus &= gpus - 1) {
		const struct shared_gpu *gpu =
		        ledger_shared_gpu(core->ledger, node, (uint32_t)__builtin_ctzll(gpus));
		uint64_t left = r->share.milli ? shared_gpu_left(gpu) : gpu->mem_mb - gpu->mem_used;

		if (!r->share.milli && gpu->mem_used > gpu->mem_mb)
			left = 0;
		most = left > most ? left : most;
	}
	return most;
}

/* What does the node have left that the first alternative could take? */
static uint64_t left_of(const struct core *core, const struct request *r, uint32_t node)
{
	const struct conf_node *conf = &core->conf->nodes[node];
	uint64_t mask = 0, most = 0, left;

	for (size_t g = 0; g < conf->n_gpus; g++) {
		if (!request_type_ok(r, core->conf, 0, conf->gpus[g].type))
			continue;
		mask |= ledger_gpus_for(core->ledger, node, conf->gpus[g].type, &r->share);
		left = most_left(
		        core, r, node, ledger_gpus_of(core->ledger, node, conf->gpus[g].type));
		most = left > most ? left : most;
	}
	return wants_part(r) ? most : (uint64_t)__builtin_popcountll(mask);
}

/* Into the list of the nodes with the most left. */
static void note_spare(
        const struct core *core, const struct request *r, uint32_t node, struct tally *t)
{
	struct spare spare = { node, left_of(core, r, node) };

	for (size_t i = 0; i < NAMED; i++) {
		if (spare.left > t->most[i].left) {
			struct spare less = t->most[i];

			t->most[i] = spare;
			spare = less;
		}
	}
}

/* Would it fit if its GPUs could be any distance apart? */
static bool fits_unlinked(const struct core *core, uint32_t n, const struct ask *ask)
{
	struct request anyhow = *ask->gpus;

	anyhow.link = NEAR_LINK_ANY;
	return any_alternative(
	        core->ledger, n, &(struct ask){ .gpus = &anyhow }, ledger_fits_part);
}

/* The node is asked about less and less of the request: what makes the difference is what is short
 * there. */
static void tally_node(const struct core *core, uint32_t n, const struct ask *ask, struct tally *t)
{
	const struct node *node = nodes_at(core->nodes, n);
	struct ask gpus_only = { .gpus = ask->gpus, .user = ask->user };
	struct ask whose_ever = { .gpus = ask->gpus };
	bool accepts = ledger_accepts(core->ledger, n);

	if (!any_alternative(core->ledger, n, ask, could_fit))
		return;
	t->could++;
	if (!accepts) {
		if (node_info(node)->down)
			note(&t->down, n);
		else if (node_link_of(node)->hearing != NODE_HEARD)
			note(&t->unknown, n);
		else if (*node_link_of(node)->invalid)
			note(&t->invalid, n);
		else
			note(&t->drained, n);
	} else if (any_alternative(core->ledger, n, ask, ledger_fits_part)) {
		t->fits++;
	} else if (request_avoids(ask->gpus, n)) {
		note(&t->avoids, n);
	} else if (!ledger_opens(core->ledger, n, ask->gpus)) {
		t->no_ports++;
	} else if (ask->gpus->link &&
	           !any_alternative(core->ledger, n, &whose_ever, ledger_fits_part) &&
	           fits_unlinked(core, n, ask)) {
		t->no_links++;
	} else if (!any_alternative(core->ledger, n, &whose_ever, ledger_fits_part)) {
		t->no_gpus++;
		note_spare(core, ask->gpus, n, t);
	} else if (!any_alternative(core->ledger, n, &gpus_only, ledger_fits_part)) {
		t->others++;
	} else if (ledger_cpus_free(core->ledger, n) < ask->cpus) {
		t->no_cpus++;
	} else {
		t->no_mem++;
	}
}

/* Nothing is added for a count of 0. */
static void add(char *text, size_t size, uint32_t n, const char *one, const char *many)
{
	size_t used = strlen(text);

	if (n && used < size)
		snprintf(text + used, size - used, ", %u %s", n, n == 1 ? one : many);
}

/* ", 2 are drained (h12, h13)" */
static void add_named(const struct core *core, char *text, size_t size, const struct named *named,
        const char *one, const char *many)
{
	size_t used, i;

	add(text, size, named->n, one, many);
	used = strlen(text);
	for (i = 0; i < named->n && i < NAMED && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%.20s", i ? ", " : " (",
		        core->conf->nodes[named->first[i]].name);
	if (named->n && used < size)
		snprintf(text + used, size - used, "%s)", named->n > NAMED ? ", ..." : "");
}

/* "4", "12G", "25%" */
static char *spare_words(const struct request *r, uint64_t left, char buf[UNITS_TEXT])
{
	if (!wants_part(r))
		snprintf(buf, UNITS_TEXT, "%llu", (unsigned long long)left);
	else if (r->share.milli)
		share_format(buf, 0, (uint32_t)left);
	else
		size_format_left(buf, left);
	return buf;
}

/* " (h07 4, h03 2)", " (s02 12G)" */
static void add_most(const struct core *core, const struct request *r, char *text, size_t size,
        const struct tally *t)
{
	size_t used = strlen(text), i;
	char left[UNITS_TEXT];

	for (i = 0; i < NAMED && t->most[i].left && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%.20s %.16s", i ? ", " : " (",
		        core->conf->nodes[t->most[i].node].name,
		        spare_words(r, t->most[i].left, left));
	if (i && used < size)
		snprintf(text + used, size - used, ")");
}

/* "15 nodes have fewer free (h07 4, h03 2), 1 is drained (h12)" */
static void say_tally(const struct core *core, const struct tally *t, const struct request *r,
        char *text, size_t size)
{
	bool gang = r->nodes_max > 1, part = wants_part(r);
	char list[TEXT_SIZE] = "";

	if (gang)
		add(list, sizeof(list), t->fits, "node has room for a part",
		        "nodes have room for parts");
	add(list, sizeof(list), t->no_gpus,
	        part ? "node has less left of a GPU" : "node has fewer free",
	        part ? "nodes have less left of a GPU" : "nodes have fewer free");
	add_most(core, r, list, sizeof(list), t);
	add(list, sizeof(list), t->no_links, "node has as many free, not so linked",
	        "nodes have as many free, not so linked");
	add(list, sizeof(list), t->others, "node has only GPUs of other users' jobs left",
	        "nodes have only GPUs of other users' jobs left");
	add(list, sizeof(list), t->no_cpus, "node has too few free CPUs",
	        "nodes have too few free CPUs");
	add(list, sizeof(list), t->no_mem, "node has too little free memory",
	        "nodes have too little free memory");
	add(list, sizeof(list), t->no_ports, "node has too few free ports for replicas",
	        "nodes have too few free ports for replicas");
	add_named(core, list, sizeof(list), &t->avoids,
	        "is avoided since replicas were unready there",
	        "are avoided since replicas were unready there");
	add_named(core, list, sizeof(list), &t->drained, "is drained", "are drained");
	add_named(core, list, sizeof(list), &t->down, "is down", "are down");
	add_named(core, list, sizeof(list), &t->unknown, "does not respond", "do not respond");
	add_named(core, list, sizeof(list), &t->invalid, "is invalid", "are invalid");
	snprintf(text, size, "%.*s", (int)size - 1, *list ? list + 2 : "being tried");
}

/* "one node", "each of 2 nodes", "2 to 4 nodes" */
static void say_nodes(const struct request *r, char *text, size_t size)
{
	const char *each = r->per_node || !r->n ? "each of " : "";

	if (r->nodes_max <= 1)
		snprintf(text, size, "one node");
	else if (r->nodes_min < r->nodes_max)
		snprintf(text, size, "%s%u to %u nodes", each, r->nodes_min, r->nodes_max);
	else
		snprintf(text, size, "%s%u nodes", each, r->nodes_max);
}

/* "h100:4", "any:1/20G", "2 CPUs", "2 CPUs and 64G" */
static void say_ask(const struct ask *ask, char *text, size_t size)
{
	char mem[UNITS_TEXT], words[REQUEST_WORDS];

	if (ask->gpus->n)
		snprintf(text, size, "%s", request_words(ask->gpus, words));
	else if (ask->mem_mb)
		snprintf(text, size, "%u CPU%s and %s", ask->cpus, ask->cpus == 1 ? "" : "s",
		        size_format_mb(mem, ask->mem_mb));
	else
		snprintf(text, size, "%u CPU%s", ask->cpus, ask->cpus == 1 ? "" : "s");
}

const char *missing_resources(
        const struct core *core, uint32_t partition, const struct ask *ask, char *text, size_t size)
{
	const struct conf_partition *p = &core->conf->partitions[partition];
	char want[60], where[40], has[170];
	struct tally t = { 0 };
	struct error err;

	for (size_t i = 0; i < p->n_nodes; i++)
		tally_node(core, p->nodes[i], ask, &t);
	say_ask(ask, want, sizeof(want));
	say_tally(core, &t, ask->gpus, has, sizeof(has));
	say_nodes(ask->gpus, where, sizeof(where));
	if (!t.could) {
		never_fits(core, partition, ask, &err);
		snprintf(text, size, "%.*s", (int)size - 1, err.text);
		return reason_word(REASON_BAD_CONSTRAINTS);
	}
	snprintf(text, size, "needs %s on %s of %.24s: %s", want, where, p->name, has);
	if (t.drained.n + t.down.n + t.unknown.n + t.invalid.n == t.could)
		return reason_word(REASON_NODE_NOT_AVAIL);
	return reason_word(REASON_RESOURCES);
}
