/* never_fits.c - jobs that no node, or no gang of nodes, of a partition could ever run
 *
 * "Ever" means on nodes that are empty and accept work. A node whose CPUs or memory are not known
 * yet is assumed to have enough. The first obstacle found is the reason: first what the job names
 * (nodes, features), then what it requests of each node, then the number of such nodes.
 *
 * Two halves: whether it could (could_ever()), which is asked at each submit and so ends with the
 * first node or nodes that do; and why not, which is asked only of what is refused and looks at all
 * of them. Hints are tried before they are given.
 */
#include "ctld/core/intake/never_fits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "ctld/core/place/gang.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/node.h"
#include "ctld/core/rows/state.h"

#define LIST_SIZE 200

/* --- could the job ever run? ----------------------------------------------------------------- */

static uint32_t n_gpus(const struct ledger *l, uint32_t node, uint16_t type)
{
	return (uint32_t)__builtin_popcountll(ledger_gpus_of(l, node, type));
}

/* Would enough nodes fit if they were empty, for one alternative and one type? */
struct muster {
	const struct core *core;
	const struct conf_partition *p;
	const struct ask *ask;
	uint32_t alternative;
	uint16_t type;
};

/* Usually the first nodes that fit are enough. If not, all of them are collected and the best are
 * chosen. */
static bool gang_could(const struct muster *m)
{
	const struct ledger *l = m->core->ledger;
	const struct request *r = m->ask->gpus;
	uint32_t all = request_all_gpus(r, m->alternative, r->nodes_min), have = 0, required = 0;
	struct gang_candidate *v = xcalloc(m->p->n_nodes, sizeof(*v));
	struct gang_choice choice = { 0 };
	size_t n = 0, i;
	bool ok = false;

	for (i = 0; i < m->p->n_nodes && !ok; i++) {
		uint32_t node = m->p->nodes[i];

		if (!ledger_could_fit_part(l, node, m->ask, m->alternative, m->type))
			continue;
		v[n] = (struct gang_candidate){ .node = node,
			.leaf = CONF_NONE,
			.gpus = r->n ? n_gpus(l, node, m->type) : 0,
			.required = request_requires(r, node) };
		required += v[n].required;
		have += n < r->nodes_max ? v[n].gpus : 0;
		n++;
		ok = n >= r->nodes_min && have >= all && required == r->n_required &&
		     (!r->n_required || n <= r->nodes_max);
	}
	if (!ok)
		ok = gang_choose(r, m->alternative, false, v, n, &choice);
	gang_choice_free(&choice);
	free(v);
	return ok;
}

static bool one_could(const struct muster *m)
{
	for (size_t i = 0; i < m->p->n_nodes; i++) {
		if (ledger_could_fit_part(
		            m->core->ledger, m->p->nodes[i], m->ask, m->alternative, m->type))
			return true;
	}
	return false;
}

bool alternative_could(const struct core *core, uint32_t partition, const struct ask *ask,
        uint32_t alternative, uint16_t type)
{
	const struct muster m = { core, &core->conf->partitions[partition], ask, alternative,
		type };

	return ask->gpus->nodes_max == 1 ? one_could(&m) : gang_could(&m);
}

static bool could_ever(const struct core *core, uint32_t partition, const struct ask *ask)
{
	const struct request *r = ask->gpus;
	uint32_t a = 0;
	uint16_t type;

	do {
		type = r->n ? r->v[a].number : TYPE_NONE;
		if (r->nodes_max == 1 || type != TYPE_ANY) {
			if (alternative_could(core, partition, ask, a, type))
				return true;
			continue;
		}
		for (size_t t = 0; t < core->conf->n_gpu_types; t++) {
			if (request_type_ok(r, core->conf, a, (uint16_t)t) &&
			        alternative_could(core, partition, ask, a, (uint16_t)t))
				return true;
		}
	} while (++a < r->n);
	return false;
}

/* --- the reason that it could not ------------------------------------------------------------ */

/* What is known of the nodes of the partition that the job's request allows. */
struct survey {
	const struct core *core;
	const struct conf_partition *p;
	const struct ask *ask;
	uint32_t allowed, largest_cpus;
	uint64_t largest_mem;
	char where[120]; /* "batch", "batch that it may use" */
};

/* The nodes that may be used, and the largest of them. */
static void look(struct survey *s)
{
	const struct ledger *l = s->core->ledger;

	for (size_t i = 0; i < s->p->n_nodes; i++) {
		uint32_t node = s->p->nodes[i], cpus = ledger_cpus(l, node);
		uint64_t mem = ledger_mem_mb(l, node);

		if (!ledger_allows(l, node, s->ask->gpus))
			continue;
		s->allowed++;
		s->largest_cpus = cpus > s->largest_cpus ? cpus : s->largest_cpus;
		s->largest_mem = mem > s->largest_mem ? mem : s->largest_mem;
	}
	snprintf(s->where, sizeof(s->where), "%.80s%s", s->p->name,
	        s->allowed < s->p->n_nodes ? " that it may use" : "");
}

/* The most GPUs of one alternative that one node has, and their type. */
static uint32_t most_gpus(const struct survey *s, uint32_t a, uint16_t *type)
{
	const struct request *r = s->ask->gpus;
	uint32_t most = 0, n;
	size_t i, g;

	for (i = 0; i < s->p->n_nodes; i++) {
		const struct conf_node *node = &s->core->conf->nodes[s->p->nodes[i]];

		for (g = 0; ledger_allows(s->core->ledger, s->p->nodes[i], r) && g < node->n_gpus;
		        g++) {
			n = n_gpus(s->core->ledger, s->p->nodes[i], node->gpus[g].type);
			if (n <= most || !request_type_ok(r, s->core->conf, a, node->gpus[g].type))
				continue;
			most = n;
			*type = node->gpus[g].type;
		}
	}
	return most;
}

static bool is_member(const struct conf_partition *p, uint32_t node)
{
	for (size_t i = 0; i < p->n_nodes; i++) {
		if (p->nodes[i] == node)
			return true;
	}
	return false;
}

/* No node that the request allows by name has what only agents report: a disk that is large enough,
 * ports for replicas. */
static int offers_too_little(const struct survey *s, struct error *err)
{
	const struct request *r = s->ask->gpus;
	char want[UNITS_TEXT], most[UNITS_TEXT];
	uint64_t tmp_mb = 0;
	uint32_t ports = 0, n = 0;
	bool services = false;

	for (size_t i = 0; i < s->p->n_nodes; i++) {
		const struct node_offers *has = ledger_offers_of(s->core->ledger, s->p->nodes[i]);

		if (!request_allows(r, s->p->nodes[i]))
			continue;
		if (!has->known)
			return 0;
		n++;
		tmp_mb = has->tmp_mb > tmp_mb ? has->tmp_mb : tmp_mb;
		services |= !has->no_services;
		ports = !has->no_services && has->ports > ports ? has->ports : ports;
	}
	if (n && tmp_mb < r->tmp_mb) {
		size_format_two(want, most, r->tmp_mb, tmp_mb);
		return error_set(err, ERR_JOB_NEVER,
		        "--tmp=%s: the largest disk for temporary data in %s has %s", want,
		        s->p->name, most);
	}
	if (n && *r->service && !services)
		return error_set(
		        err, ERR_JOB_NEVER, "--service: no node of %s starts replicas", s->p->name);
	if (n && ports < r->ports)
		return error_set(err, ERR_JOB_NEVER,
		        "--ports=%u: no node of %s has more than %u for replicas "
		        "(gnoded --service-ports)",
		        r->ports, s->p->name, ports);
	return 0;
}

/* The node lists and features of the request leave too few nodes. */
static int too_few_allowed(const struct survey *s, struct error *err)
{
	const struct request *r = s->ask->gpus;
	const struct conf *conf = s->core->conf;

	if (r->n_licences < r->n_licence_names)
		return error_set(err, ERR_JOB_NEVER,
		        "--licenses=%.200s: not all of them are configured any more",
		        request_licences(r));
	for (uint32_t i = 0; i < conf->n_nodes; i++) {
		if (request_requires(r, i) && !is_member(s->p, i))
			return error_set(err, ERR_JOB_NEVER, "--nodelist: %s is not in %s",
			        conf->nodes[i].name, s->p->name);
	}
	if (s->allowed >= r->nodes_min)
		return 0;
	if (s->allowed == s->p->n_nodes)
		return error_set(err, ERR_JOB_NEVER, "--nodes=%u: %s has %u", r->nodes_min,
		        s->p->name, s->allowed);
	if (*r->nodelist && !s->allowed)
		return error_set(err, ERR_JOB_NEVER,
		        "--nodelist=%.200s: not all of these nodes are there, with the features "
		        "and "
		        "not excluded",
		        r->nodelist);
	return error_set(err, ERR_JOB_NEVER,
	        "%s%.150s%s%s%.150s: %u node%s of %s %s left, %u %s wanted",
	        *r->constraint ? "--constraint=" : "", r->constraint,
	        *r->constraint && *r->exclude ? " " : "", *r->exclude ? "--exclude=" : "",
	        r->exclude, s->allowed, s->allowed == 1 ? "" : "s", s->p->name,
	        s->allowed == 1 ? "is" : "are", r->nodes_min, r->nodes_min == 1 ? "is" : "are");
}

/* "h100:8 and 4 CPUs and memory 16G": what each node must give. */
static void say_part(const struct ask *ask, char *text, size_t size)
{
	const struct request *r = ask->gpus;
	char mem[UNITS_TEXT], words[REQUEST_WORDS];
	const char *gpus = !r->n                              ? ""
	                   : r->nodes_max > 1 && !r->per_node ? "such a GPU"
	                                                      : request_words(r, words);

	size_format_mb(mem, ask->mem_mb);
	snprintf(text, size, "%.120s%s%u CPU%s%s%s", gpus, *gpus ? " and " : "", ask->cpus,
	        ask->cpus == 1 ? "" : "s", ask->mem_mb ? " and memory " : "",
	        ask->mem_mb ? mem : "");
}

/* On several nodes it would be possible: say how, if that is true. */
static int hint_gang(
        const struct survey *s, uint32_t partition, uint16_t type, uint32_t most, struct error *err)
{
	const char *name = s->core->conf->gpu_types[type].name;
	struct request more = *s->ask->gpus;
	struct ask ask = { &more, s->ask->cpus, s->ask->mem_mb, s->ask->user };
	uint32_t count = more.v[0].count, nodes = (count + most - 1) / most;

	more.n = 1;
	more.nodes_min = more.nodes_max = nodes;
	more.per_node = count % most == 0;
	more.v[0].count = more.per_node ? most : count;
	if (!could_ever(s->core, partition, &ask))
		return -1;
	if (more.per_node)
		return error_hint(err, "on several nodes: --nodes=%u --gpus-per-node=%.100s:%u",
		        nodes, name, most);
	return error_hint(err, "on several nodes: --nodes=%u --gpus=%.100s:%u", nodes, name, count);
}

/* Does every alternative want more GPUs of one node than any node has? */
static int too_many_gpus(const struct survey *s, uint32_t partition, struct error *err)
{
	const struct request *r = s->ask->gpus;
	const char *option = r->per_node ? "--gpus-per-node" : "--gpus";
	char has[LIST_SIZE] = "", mem[UNITS_TEXT];
	uint32_t a, most, first_most = 0;
	uint16_t type = 0, first = 0;
	size_t used = 0;

	for (a = 0; a < r->n; a++) {
		most = most_gpus(s, a, &type);
		if (most >= request_part_gpus(r, a))
			return 0;
		if (a == 0) {
			first = type;
			first_most = most;
		}
		if (most && used + 1 < sizeof(has))
			used += (size_t)snprintf(has + used, sizeof(has) - used, "%s%s:%u",
			        used ? ", " : "", s->core->conf->gpu_types[type].name, most);
	}
	if (!r->n)
		return 0;
	if (!used)
		return error_set(err, ERR_JOB_NEVER, "%s=%s: no node of %s has such a GPU%s%s",
		        option, r->text, s->where, r->gpu_mem_min_mb ? " of at least " : "",
		        r->gpu_mem_min_mb ? size_format_mb(mem, r->gpu_mem_min_mb) : "");
	error_set(err, ERR_JOB_NEVER, "%s=%s on one node: the largest node in %s has %s", option,
	        r->text, s->where, has);
	return first_most && r->nodes_max == 1 ? hint_gang(s, partition, first, first_most, err)
	                                       : -1;
}

static bool wants_type(const struct request *r, const struct conf *conf, uint16_t type)
{
	for (uint32_t a = 0; a < r->n; a++) {
		if (request_type_ok(r, conf, a, type))
			return true;
	}
	return false;
}

/* The most memory that a job may get of a shared GPU; 0: it is not known how much the GPUs have.
 * False: no node shares GPUs. */
static bool most_shared(const struct survey *s, uint64_t *most_mb)
{
	const struct request *r = s->ask->gpus;
	const struct share_wish all = { .milli = GPU_MILLI };
	const struct conf *conf = s->core->conf;
	bool any = false;
	struct share share;
	size_t i, g;

	*most_mb = 0;
	for (i = 0; i < s->p->n_nodes; i++) {
		uint32_t node = s->p->nodes[i];

		for (g = 0; ledger_allows(s->core->ledger, node, r) && g < conf->nodes[node].n_gpus;
		        g++) {
			uint16_t type = conf->nodes[node].gpus[g].type;

			if (!wants_type(r, conf, type) ||
			        !ledger_share(s->core->ledger, node, type, &all, &share))
				continue;
			any = true;
			*most_mb = share.mem_mb > *most_mb ? share.mem_mb : *most_mb;
		}
	}
	return any;
}

/* Does the job ask for a share of a GPU that no node can give? */
static int no_share(const struct survey *s, struct error *err)
{
	const struct share_wish *wish = &s->ask->gpus->share;
	const char *option = wish->mem_mb ? "--gpu-mem" : "--gpu-share";
	char mem[UNITS_TEXT], most[UNITS_TEXT];
	uint64_t most_mb;

	if (!share_wished(wish))
		return 0;
	if (!most_shared(s, &most_mb))
		return error_set(err, ERR_JOB_NEVER, "%s: no node of %s gives parts of %s GPUs",
		        option, s->where, s->ask->gpus->v[0].number == TYPE_ANY ? "its" : "such");
	if (wish->mem_mb <= most_mb)
		return 0;
	size_format_two(mem, most, wish->mem_mb, most_mb);
	if (!most_mb)
		return error_set(err, ERR_JOB_NEVER,
		        "%s=%s: the memory of the GPUs of that type in %s is not known; "
		        "--gpu-share gives parts of them",
		        option, mem, s->where);
	return error_set(err, ERR_JOB_NEVER,
	        "%s=%s: the most that can be had of one GPU in %s is %s", option, mem, s->where,
	        most);
}

/* Do the CPUs or the memory alone exceed every node? An unknown amount, 0, is no obstacle. */
static int too_large(const struct survey *s, struct error *err)
{
	const struct ask *ask = s->ask;
	char mem[UNITS_TEXT], most_mem[UNITS_TEXT];

	if (ask->cpus > s->largest_cpus && s->largest_cpus)
		return error_set(err, ERR_JOB_NEVER,
		        "--cpus-per-task=%u on one node: the largest node in %s has %u CPUs",
		        ask->cpus, s->where, s->largest_cpus);
	if (ask->mem_mb <= s->largest_mem || !s->largest_mem)
		return 0;
	size_format_two(mem, most_mem, ask->mem_mb, s->largest_mem);
	return error_set(err, ERR_JOB_NEVER, "--mem=%s on one node: the largest node in %s has %s",
	        mem, s->where, most_mem);
}

/* The number of nodes that can give a part of one alternative. */
static uint32_t count_parts(const struct survey *s, uint32_t a)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->p->n_nodes; i++)
		n += ledger_could_fit_part(s->core->ledger, s->p->nodes[i], s->ask, a, TYPE_ANY);
	return n;
}

/* The first node of the node list that can give no part; CONF_NONE. */
static uint32_t unfit(const struct survey *s)
{
	const struct request *r = s->ask->gpus;

	for (uint32_t i = 0; r->n_required && i < s->core->conf->n_nodes; i++) {
		bool fits = !request_requires(r, i);

		for (uint32_t a = 0; !fits && a < (r->n ? r->n : 1); a++)
			fits = ledger_could_fit_part(s->core->ledger, i, s->ask, a, TYPE_ANY);
		if (!fits)
			return i;
	}
	return CONF_NONE;
}

/* Would the job fit if it did not ask for links between its GPUs? */
static bool links_alone(const struct survey *s)
{
	struct request anyhow = *s->ask->gpus;
	struct ask ask = *s->ask;

	anyhow.link = NEAR_LINK_ANY;
	ask.gpus = &anyhow;
	return s->ask->gpus->link &&
	       could_ever(s->core, (uint32_t)(s->p - s->core->conf->partitions), &ask);
}

/* Some node has each thing that a part needs, but none has all of them, or too few nodes do. */
static int too_few(const struct survey *s, struct error *err)
{
	const struct request *r = s->ask->gpus;
	char part[LIST_SIZE];
	uint32_t a = 0, most = 0, n;

	do {
		n = count_parts(s, a);
		most = n > most ? n : most;
	} while (++a < r->n);
	say_part(s->ask, part, sizeof(part));
	if (links_alone(s))
		return error_set(err, ERR_JOB_NEVER,
		        "--gpu-link=%s: no%s of %s ha%s %s so close to each other",
		        near_link_word(r->link), r->nodes_min > 1 ? "t enough nodes" : " node",
		        s->where, r->nodes_min > 1 ? "ve" : "s", part);
	if (r->nodes_max == 1)
		return error_set(
		        err, ERR_JOB_NEVER, "no node of %s has %s together", s->where, part);
	if (most < r->nodes_min)
		return error_set(err, ERR_JOB_NEVER, "--nodes=%u: %u node%s of %s ha%s %s together",
		        r->nodes_min, most, most == 1 ? "" : "s", s->where, most == 1 ? "s" : "ve",
		        part);
	if (unfit(s) != CONF_NONE)
		return error_set(err, ERR_JOB_NEVER, "--nodelist: %s does not have %s",
		        s->core->conf->nodes[unfit(s)].name, part);
	if (r->per_node || !r->n)
		return error_set(err, ERR_JOB_NEVER,
		        "--gpus-per-node=%s: no %u nodes of %s%s have GPUs of one type for it",
		        r->text, r->nodes_min, s->where,
		        r->n_required ? " with those of the node list" : "");
	return error_set(err, ERR_JOB_NEVER, "--gpus=%s: no %u nodes of %s%s have so many together",
	        r->text, r->nodes_max, s->where,
	        r->n_required ? " with those of the node list" : "");
}

int never_fits(
        const struct core *core, uint32_t partition, const struct ask *ask, struct error *err)
{
	struct survey s = { .core = core, .p = &core->conf->partitions[partition], .ask = ask };

	if (could_ever(core, partition, ask))
		return 0;
	look(&s);
	if (offers_too_little(&s, err) < 0 || too_few_allowed(&s, err) < 0 ||
	        no_share(&s, err) < 0 || too_many_gpus(&s, partition, err) < 0 ||
	        too_large(&s, err) < 0)
		return -1;
	return too_few(&s, err);
}
