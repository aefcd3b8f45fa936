/* sched_lab_conf.c - a random configuration: nodes, partitions, accounts, QOS, limits
 *
 * Nodes, partitions, accounts and QOS keep their names and places in all variants of a case;
 * everything else may change with a reload.
 */
#include "testsuite/unit/policy/sched_lab.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define TYPES 3

static const char *const type_names[TYPES] = { "a100", "h100", "l40s" };

struct text {
	char *v;
	size_t n, size;
	uint64_t random;
	unsigned total[TYPES];
};

static unsigned pick(struct text *t, unsigned n)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (unsigned)(t->random >> 11) % n;
}

static void reseed(struct text *t, uint64_t seed)
{
	t->random = seed * 0x9e3779b97f4a7c15ull + 12345;
	pick(t, 2);
	pick(t, 2);
}

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->n += (size_t)vsnprintf(t->v + t->n, t->size - t->n, fmt, ap);
	va_end(ap);
	assert_true(t->n < t->size);
}

/* By the variant too, and drawn from nothing else. */
static const char *node_share(const struct lab *lab, unsigned node)
{
	static const char *const words[] = { "no", "watch", "mps", "watch" };
	uint64_t h = (lab->seed * 4 + lab->variant) * LAB_NODES + node;

	return lab->shares ? words[(h * 0x9e3779b97f4a7c15ull) >> 40 & 3] : "no";
}

static const char *node_users(const struct lab *lab, unsigned node)
{
	uint64_t h = (lab->seed * 4 + lab->variant) * LAB_NODES + node;

	return lab->apart && (h * 0x9e3779b97f4a7c15ull) >> 43 & 1 ? "one" : "any";
}

static void make_nodes(struct lab *lab, struct text *t)
{
	unsigned i, g, types = 1 + pick(t, TYPES), leaves = 1 + pick(t, 3);

	lab->n_nodes = 1 + pick(t, LAB_NODES);
	add(t, "nodes = ( ");
	for (i = 0; i < lab->n_nodes; i++) {
		unsigned type = pick(t, types), count = 1 + pick(t, 8);
		unsigned also = pick(t, 5) ? type : pick(t, types);

		add(t, "%s{ name = \"n%u\"; cpus = %u; mem = \"%uM\"; gpus = \"%s:%u",
		        i ? ", " : "", i, 4 + pick(t, 5), 8192 * (1 + pick(t, 8)), type_names[type],
		        count);
		t->total[type] += count;
		if (also != type) {
			add(t, ",%s:2", type_names[also]);
			t->total[also] += 2;
		}
		add(t, "\"; share = \"%s\"; share_users = \"%s\"; }", node_share(lab, i),
		        node_users(lab, i));
	}
	add(t, " );\ntopology = ( ");
	for (g = 0; g < leaves && lab->n_nodes >= leaves; g++) {
		add(t, "%s{ switch = \"s%u\"; nodes = \"", g ? ", " : "", g);
		for (i = g; i < lab->n_nodes; i += leaves)
			add(t, "%sn%u", i > g ? "," : "", i);
		add(t, "\"; }");
	}
	add(t, " );\n");
}

static void make_limits(
        struct lab *lab, struct text *t, const char *name, unsigned often, bool of_quota)
{
	unsigned type = pick(t, TYPES), some = pick(t, 6), n = pick(t, 5);

	if (!lab->limits || pick(t, often) || (of_quota && some != 2 && some != 4))
		return;
	add(t, " %s = {", name);
	if (some == 0)
		add(t, " gpus = \"%s:%u\";", type_names[type], 2 + 2 * n);
	else if (some == 1)
		add(t, " gpus = \"any:%u\";", 4 + 2 * n);
	else if (some == 2)
		add(t, " running = %u;", 1 + n);
	else if (some == 3)
		add(t, " cpus = %u;", 6 + 4 * n);
	else if (some == 4)
		add(t, " nodes = %u;", 2 + n);
	else
		add(t, " mem = \"%uG\"; gpu_mem = \"%uG\";", 16 + 16 * n, 320 + 160 * n);
	add(t, " };");
}

static void make_partitions(struct lab *lab, struct text *t, uint64_t policy)
{
	static const char *const modes[] = { "off", "requeue", "cancel", "requeue" };
	static const unsigned depths[] = { 100, 100, 100, 3, 1, 0 };
	unsigned n = 1 + pick(t, 3), p, i;
	unsigned in[3];

	for (p = 0; p < n; p++)
		in[p] = pick(t, 3) ? (1u << lab->n_nodes) - 1
		                   : 1 + pick(t, (1u << lab->n_nodes) - 1);
	reseed(t, policy);
	add(t, "partitions = ( ");
	for (p = 0; p < n; p++) {
		const char *comma = "";

		add(t,
		        "%s{ name = \"p%u\"; default = %s; tier = %u; plan_depth = %u; grace = "
		        "\"%us\";"
		        " min_run = \"%us\"; preempt_mode = \"%s\"; place = \"%s\"; nodes = \"",
		        p ? ",\n  " : "", p, p ? "false" : "true", 1 + pick(t, 2),
		        depths[pick(t, 6)], 5 * pick(t, 5), pick(t, 2) ? 0 : 20 * pick(t, 5),
		        modes[lab->preempts ? pick(t, 4) : 0], pick(t, 4) ? "pack" : "spread");
		for (i = 0; i < lab->n_nodes; i++) {
			if (!(in[p] & 1u << i))
				continue;
			add(t, "%sn%u", comma, i);
			comma = ",";
		}
		add(t, "\";");
		make_limits(lab, t, "limits", 5, false);
		make_limits(lab, t, "per_user", 6, false);
		add(t, " }");
	}
	add(t, " );\n");
}

static void make_qos(struct lab *lab, struct text *t)
{
	bool high = pick(t, 2), urgent = pick(t, 2);

	add(t, "qos = ( { name = \"normal\"; default = true;");
	make_limits(lab, t, "per_user", 4, false);
	add(t,
	        " }, { name = \"low\"; priority = -50; usage_factor = 0.5; }, { name = \"high\"; "
	        "priority = 50;%s",
	        high ? " preempts = [ \"low\" ];" : "");
	if (pick(t, 3) == 0)
		add(t, " min_run = \"%us\";", 30 * pick(t, 4));
	make_limits(lab, t, "limits", 3, false);
	add(t, " }, { name = \"urgent\"; priority = 100;%s }",
	        urgent ? " preempts = [ \"normal\", \"high\" ];" : "");
	add(t, " );\n");
}

/* What of so many is guaranteed, lent, at most held. */
static void make_quota(struct lab *lab, struct text *t, unsigned left[TYPES + 1],
        unsigned got[TYPES + 1], unsigned which)
{
	unsigned type, g;

	for (type = 0; type <= TYPES; type++)
		got[type] = 0;
	if (!lab->quotas || pick(t, 5) == 0)
		return;
	type = which == TYPES ? TYPES : pick(t, TYPES);
	g = left[type] ? pick(t, left[type] + 1) : 0;
	if (!g)
		return;
	left[type] -= g;
	got[type] = g;
	add(t, " quota = { guaranteed = \"%s:%u\";", type == TYPES ? "any" : type_names[type], g);
	if (pick(t, 2))
		add(t, " lend = \"%s:%u\";", type == TYPES ? "any" : type_names[type],
		        pick(t, g + 1));
	if (pick(t, 3) == 0)
		add(t, " limit = \"%s:%u\";", type == TYPES ? "any" : type_names[type],
		        g + pick(t, 6));
	if (pick(t, 3) == 0)
		add(t, " weight = %u.0;", 1 + pick(t, 4));
	add(t, " };");
}

static void make_account(struct lab *lab, struct text *t, const char *name, const char *parent,
        unsigned left[TYPES + 1], unsigned got[TYPES + 1], unsigned which)
{
	add(t, "%s{ name = \"%s\"; parent = \"%s\"; shares = %u; members = [ \"*\" ];",
	        *name == 'a' && !name[1] ? "" : ",\n  ", name, parent, 1 + pick(t, 5));
	make_quota(lab, t, left, got, which);
	make_limits(lab, t, "limits", 6, lab->quotas);
	make_limits(lab, t, "per_user", 8, lab->quotas);
	add(t, " }");
}

static void make_accounts(struct lab *lab, struct text *t, unsigned shape)
{
	unsigned root[TYPES + 1], got[3][TYPES + 1], top, child, grand, type;
	unsigned which = pick(t, 3) ? 0 : TYPES;
	char name[8], up[8];

	for (type = 0, root[TYPES] = 0; type < TYPES; type++) {
		root[type] = t->total[type];
		root[TYPES] += t->total[type];
	}
	add(t, "accounts = ( ");
	for (top = 0; top < 2 + shape % 2; top++) {
		snprintf(name, sizeof(name), "%c", 'a' + (char)top);
		make_account(lab, t, name, "", root, got[0], which);
		for (child = 0; child < (shape >> (2 * top) & 3); child++) {
			snprintf(up, sizeof(up), "%c", 'a' + (char)top);
			snprintf(name, sizeof(name), "%c%u", 'a' + (char)top, child);
			make_account(lab, t, name, up, got[0], got[1], which);
			if (shape >> 6 & 1 && !child) {
				for (grand = 0; grand < 2; grand++) {
					snprintf(up, sizeof(up), "%c0", 'a' + (char)top);
					snprintf(name, sizeof(name), "%c0%u", 'a' + (char)top,
					        grand);
					make_account(lab, t, name, up, got[1], got[2], which);
				}
			}
		}
	}
	add(t, " );\n");
}

void lab_conf(struct lab *lab, char *text, size_t size)
{
	struct text t = { .v = text, .size = size };
	uint64_t policy;
	unsigned shape;

	reseed(&t, lab->seed);
	policy = lab->seed * 64 + lab->variant + 1;
	shape = pick(&t, 128);
	add(&t,
	        "cluster = \"lab\"; controller = { host = \"h\"; node_timeout = \"1d\"; "
	        "signature_age = \"30d\"; };\n"
	        "gpu_types = ( { name = \"a100\"; mem = \"40G\"; }, { name = \"h100\"; mem = "
	        "\"80G\"; "
	        "}, { name = \"l40s\"; mem = \"48G\"; } );\n"
	        "licences = ( { name = \"lic\"; count = %u; } );\n",
	        lab->limits ? 3 : 1000);
	if (lab->weights)
		add(&t, "priority = { weights = { age = 1000; fair_share = 5000; size = 100; "
		        "partition = 100; qos = 500; }; half_life = \"1h\"; age_max = \"1h\"; "
		        "};\n");
	else
		add(&t, "priority = { weights = { age = 0; fair_share = 0; size = 0; partition = "
		        "0; "
		        "qos = 0; wait_target = 0; }; };\n");
	make_nodes(lab, &t);
	make_partitions(lab, &t, policy);
	make_qos(lab, &t);
	make_accounts(lab, &t, shape);
}
