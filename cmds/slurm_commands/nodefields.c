/* nodefields.c - see nodefields.h */
#include "cmds/slurm_commands/nodefields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/value_formats.h"
#include "common/base/hostlist.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"

static const struct node_words words[] = {
	{ "unknown", "down*", "down*", "DOWN+NOT_RESPONDING", 0, false, true },
	{ "drained", "drain", "drained", "IDLE+DRAIN", 1, false, false },
	{ "draining", "drng", "draining", "MIXED+DRAIN", 2, false, false },
	{ "mixed", "mix", "mixed", "MIXED", 3, true, false },
	{ "allocated", "alloc", "allocated", "ALLOCATED", 4, true, false },
	{ "idle", "idle", "idle", "IDLE", 5, true, false },
	{ "down", "down", "down", "DOWN", 6, false, true },
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

/* States of Slurm that no node has here. */
static const char *const foreign[] = { "future", "no_respond", "reserved", "resv", "perfctrs",
	"npc", "cloud", "completing", "comp", "powering_down", "powered_down", "power_down",
	"powering_up", "fail", "failing", "maint", "reboot", "blocked", "planned", "unknown", "unk",
	"power_up", "error" };

const struct node_words *node_words(const Gpusched__Node *node)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (!strcmp(words[i].ours, node->state))
			return &words[i];
	return &words[N_WORDS - 1];
}

bool node_state_known(const char *word)
{
	static const char *const more[] = { "drain", "all" };

	for (size_t i = 0; i < N_WORDS; i++)
		if (!strcasecmp(word, words[i].name) || !strcasecmp(word, words[i].code))
			return true;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (!strcasecmp(word, foreign[i]))
			return true;
	return !strcasecmp(word, more[0]) || !strcasecmp(word, more[1]);
}

bool node_state_meant(const char *word, const Gpusched__Node *node)
{
	const struct node_words *w = node_words(node);

	if (!strcasecmp(word, "drain"))
		return strstr(w->record, "DRAIN");
	if (!strcasecmp(word, "down"))
		return w->is_dead;
	if (!strcasecmp(word, "no_respond") || !strcasecmp(word, "unknown") ||
	        !strcasecmp(word, "unk"))
		return !strcmp(w->ours, "unknown");
	return !strcasecmp(word, w->name) || !strcasecmp(word, w->code);
}

bool node_in(const Gpusched__Node *node, const Gpusched__Partition *partition)
{
	return text_among(
	        partition->name, (const char *const *)node->partitions, node->n_partitions);
}

/* "x [root@2026-11-26T13:47:27]" */
void node_reason(const Gpusched__Node *node, char *reason, char *user, char *time, size_t size)
{
	const char *open = strrchr(node->reason, '['), *at = open ? strchr(open, '@') : NULL;
	size_t len =
	        at && open > node->reason ? (size_t)(open - node->reason) : strlen(node->reason);

	while (len && node->reason[len - 1] == ' ')
		len--;
	snprintf(reason, size, "%.*s", (int)len, len ? node->reason : "");
	snprintf(user, size, "%.*s", at ? (int)(at - open - 1) : 7, at ? open + 1 : "Unknown");
	snprintf(time, size, "%s", at ? at + 1 : "Unknown");
	time[strcspn(time, "]")] = '\0';
}

/* --- GPUs ------------------------------------------------------------------------------------ */

static bool is_used(const Gpusched__NodeGpu *g)
{
	return g->n_runs || g->others_runs;
}

uint32_t node_gpus(const Gpusched__Node *node, uint32_t *used)
{
	uint32_t total = 0;

	*used = 0;
	for (size_t i = 0; i < node->n_gpus; i++)
		total += node->gpus[i]->total;
	for (size_t i = 0; i < node->n_devices; i++)
		*used += is_used(node->devices[i]);
	return total;
}

void index_list(char *buf, size_t size, const uint32_t *v, size_t n)
{
	size_t used = 0;

	snprintf(buf, size, "N/A");
	for (size_t i = 0, last; i < n && used < size; i = last + 1) {
		for (last = i; last + 1 < n && v[last + 1] == v[last] + 1; last++)
			;
		used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu32, i ? "," : "", v[i]);
		if (last > i && used < size)
			used += (size_t)snprintf(buf + used, size - used, "-%" PRIu32, v[last]);
	}
}

/* --- fields ---------------------------------------------------------------------------------- */

#define GROUP const struct node_group *g = object
#define PARTITION                                    \
	GROUP;                                       \
	const Gpusched__Partition *p = g->partition; \
	if (!p)                                      \
	return
/* Of no nodes there is nothing to say. */
#define NODE                            \
	GROUP;                          \
	const Gpusched__Node *node;     \
	if (!g->n) {                    \
		view_text(cell, "n/a"); \
		return;                 \
	}                               \
	node = g->nodes[0]

CELL(partition, PARTITION, view_printf(cell, "%s%s", p->name, p->is_default ? "*" : ""))
CELL(partition_name, PARTITION, view_text(cell, p->name))
CELL(available, PARTITION, view_text(cell, !strcmp(p->state, "inactive") ? "inact" : p->state))

static void show_limit(uint32_t s, const char *none, struct view_cell *cell)
{
	if (s && s != UINT32_MAX)
		view_duration(cell, s);
	else
		view_text(cell, none);
}

CELL(time, PARTITION, show_limit(p->max_time_s, "infinite", cell))
CELL(default_time, PARTITION, show_limit(p->default_time_s, "n/a", cell))
CELL(tier, PARTITION, view_number(cell, p->tier))
CELL(factor, PARTITION, view_number(cell, p->priority))

SHOW(preempt)
{
	PARTITION;
	view_text(cell, !strcmp(p->preempt_mode, "requeue")  ? "REQUEUE"
	                : !strcmp(p->preempt_mode, "cancel") ? "CANCEL"
	                                                     : "OFF");
}

CELL(nodes, GROUP, view_number(cell, (int64_t)g->n))

SHOW(node_list)
{
	GROUP;
	const char **names = xcalloc(g->n + 1, sizeof(*names));
	char *list;

	for (size_t i = 0; i < g->n; i++)
		names[i] = g->nodes[i]->name;
	list = hostlist_compress(names, g->n);
	if (strlen(list) < sizeof(cell->buf)) {
		view_printf(cell, "%s", list);
	} else { /* it is shown whole: it lives until the next such call */
		static char *kept;

		free(kept);
		cell->text = kept = xstrdup(list);
	}
	free(list);
	free(names);
}

CELL(state_code, NODE, view_text(cell, node_words(node)->code))
CELL(state, NODE, view_text(cell, node_words(node)->name))

/* Each as the names in `counts` say: allocated, idle, other, all. */
enum { COUNT_ALLOC, COUNT_IDLE, COUNT_OTHER, COUNT_ALL, COUNTS };

static void count_nodes(const struct node_group *g, uint64_t n[COUNTS])
{
	for (size_t i = 0; i < g->n; i++) {
		const char *state = g->nodes[i]->state;
		bool alloc = !strcmp(state, "mixed") || !strcmp(state, "allocated") ||
		             !strcmp(state, "draining");

		n[alloc ? COUNT_ALLOC : !strcmp(state, "idle") ? COUNT_IDLE : COUNT_OTHER]++;
		n[COUNT_ALL]++;
	}
}

static void count_cpus(const struct node_group *g, uint64_t n[COUNTS])
{
	for (size_t i = 0; i < g->n; i++) {
		const Gpusched__Node *node = g->nodes[i];
		uint32_t used = node->cpus > node->cpus_free ? node->cpus - node->cpus_free : 0;
		bool works = node_words(node)->takes_work;

		n[COUNT_ALLOC] += used;
		n[works ? COUNT_IDLE : COUNT_OTHER] += node->cpus - used;
		n[COUNT_ALL] += node->cpus;
	}
}

static void show_counts(const uint64_t n[COUNTS], bool all, struct view_cell *cell)
{
	if (all)
		view_printf(cell, "%" PRIu64 "/%" PRIu64 "/%" PRIu64 "/%" PRIu64, n[COUNT_ALLOC],
		        n[COUNT_IDLE], n[COUNT_OTHER], n[COUNT_ALL]);
	else
		view_printf(cell, "%" PRIu64 "/%" PRIu64, n[COUNT_ALLOC], n[COUNT_IDLE]);
}

#define SHOW_COUNTS(name, count, all)       \
	SHOW(name)                          \
	{                                   \
		uint64_t n[COUNTS] = { 0 }; \
		count(object, n);           \
		show_counts(n, all, cell);  \
	}
SHOW_COUNTS(nodes_ai, count_nodes, false)
SHOW_COUNTS(nodes_aiot, count_nodes, true)
SHOW_COUNTS(cpus_aiot, count_cpus, true)

/* The least of the group, and "+" where others have more. */
#define SHOW_LEAST(name, value)                                                     \
	SHOW(name)                                                                  \
	{                                                                           \
		NODE;                                                               \
		uint64_t least = value, most = value;                               \
		for (size_t i = 1; i < g->n; i++) {                                 \
			node = g->nodes[i];                                         \
			least = least < (value) ? least : (value);                  \
			most = most > (value) ? most : (value);                     \
		}                                                                   \
		view_printf(cell, "%" PRIu64 "%s", least, most > least ? "+" : ""); \
		cell->is_number = true;                                             \
		cell->number = (int64_t)least;                                      \
	}
SHOW_LEAST(cpus, node->cpus)
SHOW_LEAST(memory, node->mem_mb)
SHOW_LEAST(tmp, node->tmp_mb)
SHOW_LEAST(used_memory, (node->mem_mb > node->mem_free_mb ? node->mem_mb - node->mem_free_mb : 0))
CELL(sct, NODE, view_printf(cell, "%" PRIu32 ":1:1", node->cpus))
CELL(name, NODE, view_text(cell, node->name))

CELL(features, NODE, slurm_texts(cell, node->features, node->n_features, "(null)"))

SHOW(gres)
{
	NODE;

	view_text(cell, "(null)");
	for (size_t i = 0; i < node->n_gpus; i++)
		view_item(cell, ",", "gpu:%s:%" PRIu32, node->gpus[i]->type, node->gpus[i]->total);
}

SHOW(gres_used)
{
	NODE;

	view_text(cell, "gpu:0");
	for (size_t i = 0; i < node->n_gpus; i++) {
		const char *type = node->gpus[i]->type;
		uint32_t *which = xcalloc(node->n_devices + 1, sizeof(*which));
		char list[256];
		size_t n = 0;

		for (size_t k = 0; k < node->n_devices; k++)
			if (is_used(node->devices[k]) && !strcmp(node->devices[k]->type, type))
				which[n++] = node->devices[k]->index;
		index_list(list, sizeof(list), which, n);
		view_item(cell, ",", "gpu:%s:%zu(IDX:%s)", type, n, list);
		free(which);
	}
}

CELL(version, NODE, view_text(cell, *node->agent_version ? node->agent_version : "N/A"))

#define REASON_SIZE 512

static void show_reason_part(const struct node_group *g, int part, struct view_cell *cell)
{
	char parts[3][REASON_SIZE] = { "", "Unknown", "Unknown" };

	if (g->n)
		node_reason(g->nodes[0], parts[0], parts[1], parts[2], REASON_SIZE);
	view_printf(cell, "%s", *parts[part] ? parts[part] : "none");
}

CELL(reason, GROUP, show_reason_part(g, 0, cell))
CELL(reason_user, GROUP, show_reason_part(g, 1, cell))
CELL(reason_time, GROUP, show_reason_part(g, 2, cell))

#define NOT_KNOWN(letter, name, heading, value, flags) \
	SLURM_CMD_FIELD(letter, name, heading, 0, value, NULL, flags)
#define FIELD(letter, name, heading, show, flags) \
	SLURM_CMD_FIELD(letter, name, heading, 0, NULL, show_##show, flags)
#define DIFFERS(letter, name, heading, show, text, flags) \
	SLURM_CMD_FIELD(letter, name, heading, 0, text, show_##show, flags)

static const struct slurm_cmd_field fields[] = {
	FIELD(0, "AllocMem", "ALLOCMEM", used_memory, NODE_EXACT),
	NOT_KNOWN('S', "AllocNodes", "ALLOCNODES", "all", 0),
	FIELD('a', "Available", "AVAIL", available, NODE_PARTITION),
	NOT_KNOWN(0, "Cluster", "CLUSTER", "N/A", 0),
	NOT_KNOWN(0, "Comment", "COMMENT", "(null)", 0),
	NOT_KNOWN('Y', "Cores", "CORES", "1", 0),
	FIELD('c', "CPUs", "CPUS", cpus, NODE_EXACT),
	NOT_KNOWN('O', "CPUsLoad", "CPU_LOAD", "N/A", 0),
	FIELD('C', "CPUsState", "CPUS(A/I/O/T)", cpus_aiot, 0),
	FIELD('L', "DefaultTime", "DEFAULTTIME", default_time, NODE_PARTITION),
	FIELD('d', "Disk", "TMP_DISK", tmp, NODE_EXACT),
	NOT_KNOWN(0, "Extra", "EXTRA", "(null)", 0),
	FIELD('f', "Features", "AVAIL_FEATURES", features, NODE_KEY),
	FIELD('b', "features_act", "ACTIVE_FEATURES", features, NODE_KEY),
	NOT_KNOWN('e', "FreeMem", "FREE_MEM", "N/A", 0),
	FIELD('G', "Gres", "GRES", gres, NODE_KEY),
	FIELD(0, "GresUsed", "GRES_USED", gres_used, NODE_KEY | NODE_DEVICES),
	NOT_KNOWN('g', "Groups", "GROUPS", "all", 0),
	NOT_KNOWN('B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", "UNLIMITED", 0),
	FIELD('m', "Memory", "MEMORY", memory, NODE_EXACT),
	DIFFERS('o', "NodeAddr", "NODE_ADDR", name, "the node's name", NODE_KEY),
	FIELD('A', "NodeAI", "NODES(A/I)", nodes_ai, 0),
	FIELD('F', "NodeAIOT", "NODES(A/I/O/T)", nodes_aiot, 0),
	FIELD('n', "NodeHost", "HOSTNAMES", name, NODE_KEY),
	FIELD('N', "NodeList", "NODELIST", node_list, 0),
	FIELD('D', "Nodes", "NODES", nodes, 0),
	NOT_KNOWN('h', "OverSubscribe", "OVERSUBSCRIBE", "NO", 0),
	NOT_KNOWN(0, "Share", "OVERSUBSCRIBE", "NO", 0),
	FIELD('P', "Partition", "PARTITION", partition, NODE_PARTITION),
	FIELD('R', "PartitionName", "PARTITION", partition_name, NODE_PARTITION),
	NOT_KNOWN(0, "Port", "PORT", "0", 0),
	FIELD('M', "PreemptMode", "PREEMPT_MODE", preempt, NODE_PARTITION),
	FIELD('I', "PriorityJobFactor", "PRIO_JOB_FACTOR", factor, NODE_PARTITION),
	FIELD('p', "PriorityTier", "PRIO_TIER", tier, NODE_PARTITION),
	FIELD('E', "Reason", "REASON", reason, NODE_KEY),
	NOT_KNOWN('r', "Root", "ROOT", "no", 0),
	NOT_KNOWN('s', "Size", "JOB_SIZE", "1-infinite", 0),
	DIFFERS('z', "SocketCoreThread", "S:C:T", sct, "CPUs as sockets", NODE_EXACT),
	DIFFERS('X', "Sockets", "SOCKETS", cpus, "CPUs", NODE_EXACT),
	FIELD('t', "StateCompact", "STATE", state_code, NODE_KEY),
	FIELD(0, "StateComplete", "STATECOMPLETE", state, NODE_KEY),
	FIELD('T', "StateLong", "STATE", state, NODE_KEY),
	NOT_KNOWN('Z', "Threads", "THREADS", "1", 0),
	FIELD('l', "Time", "TIMELIMIT", time, NODE_PARTITION),
	FIELD('H', "TimeStamp", "TIMESTAMP", reason_time, NODE_KEY),
	FIELD('u', "User", "USER", reason_user, NODE_KEY),
	FIELD('U', "UserLong", "USER", reason_user, NODE_KEY),
	DIFFERS('v', "Version", "VERSION", version, "gpusched's", NODE_KEY),
	NOT_KNOWN('w', "Weight", "WEIGHT", "1", 0),
};

SLURM_CMD_TABLE(field, sinfo_fields, fields)
