/* test_conf_policy.c - common/conf/conf.h: accounts, QOS, limits, topology: what is made of the keys
 *
 * What is wrong is in test_conf_policy_bad.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/conf/conf.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define CTL   "cluster = \"c\"; controller = { host = \"h\"; };\n"
#define TYPES "gpu_types = ( { name = \"h100\"; }, { name = \"l40s\"; } );\n"
#define NODES "nodes = ( { name = \"n[1-4]\"; } );\n"
#define PARTS "partitions = ( { name = \"p\"; nodes = \"ALL\"; } );\n"
#define BASE  CTL TYPES NODES PARTS

static struct conf *parse(const char *text)
{
	struct conf_problems problems;
	struct conf *conf = conf_parse(text, "c", &problems);

	if (!conf) {
		conf_problems_print(&problems, stderr);
		fail_msg("not read: %s", text);
	}
	conf_problems_clear(&problems);
	return conf;
}

static char *printed(const struct conf *conf)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	conf_print(conf, out);
	fclose(out);
	return text;
}

static void assert_no_limits(const struct conf_limits *l)
{
	assert_int_equal(l->gpus.n, 0);
	assert_int_equal(l->gpu_mem_mb, UINT64_MAX);
	assert_int_equal(l->mem_mb, UINT64_MAX);
	assert_int_equal(l->cpus, CONF_NONE);
	assert_int_equal(l->nodes, CONF_NONE);
	assert_int_equal(l->running, CONF_NONE);
	assert_int_equal(l->queued, CONF_NONE);
	assert_int_equal(l->time_s, CONF_NONE);
	assert_int_equal(l->gpu_hours, UINT64_MAX);
	assert_int_equal(l->gpu_hours_window_s, 0);
}

/* --- nothing given --------------------------------------------------------------------------- */

static void defaults(void **state)
{
	struct conf *conf =
	        parse(BASE "accounts = ( { name = \"a\"; } ); qos = ( { name = \"q\"; } );\n");
	const struct conf_partition *p = &conf->partitions[0];
	const struct conf_account *a = &conf->accounts[0];
	const struct conf_qos *q = &conf->qos[0];

	(void)state;
	assert_int_equal(conf->default_account, CONF_NONE);
	assert_int_equal(conf->default_qos, CONF_NONE);
	assert_int_equal(conf->priority.age, 1000);
	assert_int_equal(conf->priority.fair_share, 10000);
	assert_int_equal(conf->priority.size, 500);
	assert_int_equal(conf->priority.partition, 1000);
	assert_int_equal(conf->priority.qos, 5000);
	assert_int_equal(conf->priority.wait_target, 5000);
	assert_int_equal(conf->priority.age_max_s, 7 * 86400);
	assert_int_equal(conf->priority.half_life_s, 14 * 86400);
	assert_string_equal(conf->prices.currency, "");
	assert_true(conf->prices.cpu <= 0 && conf->prices.mem_gb <= 0);
	assert_true(conf->gpu_types[0].price <= 0);
	assert_int_equal(conf->n_licences, 0);
	assert_int_equal(conf->n_switches, 0);
	assert_int_equal(conf->nodes[0].leaf, CONF_NONE);
	assert_int_equal(conf->nodes[0].features.n, 0);

	assert_int_equal(p->state, CONF_PARTITION_UP);
	assert_int_equal(p->priority, 1);
	assert_int_equal(p->preempt_mode, CONF_PREEMPT_OFF);
	assert_int_equal(p->min_run_s, 0);
	assert_int_equal(p->place, CONF_PLACE_PACK);
	assert_int_equal(p->plan_depth, 100);
	assert_false(p->require_gpu);
	assert_int_equal(p->per_gpu_cpus, 0);
	assert_int_equal(p->per_gpu_mem_mb, 0);
	assert_int_equal(p->n_accounts, 0);
	assert_no_limits(&p->limits);
	assert_no_limits(&p->per_user);
	assert_no_limits(&p->per_job);
	assert_no_limits(&p->per_job_min);

	assert_int_equal(a->parent, CONF_NONE);
	assert_int_equal(a->depth, 0);
	assert_int_equal(a->shares, 1);
	assert_int_equal(a->members.n, 0);
	assert_int_equal(a->required_labels.n, 0);
	assert_false(a->quota.given);
	assert_true(a->quota.weight >= 1 && a->quota.weight <= 1);
	assert_no_limits(&a->limits);
	assert_no_limits(&a->per_user);
	assert_no_limits(&a->per_job);

	assert_int_equal(q->priority, 0);
	assert_int_equal(q->max_wait_s, 0);
	assert_int_equal(q->n_preempts, 0);
	assert_int_equal(q->level, 0);
	assert_int_equal(q->n_accounts, 0);
	assert_true(q->usage_factor >= 1 && q->usage_factor <= 1);
	assert_int_equal(q->min_run_s, CONF_NONE);
	assert_no_limits(&q->limits);
	conf_free(conf);
}

/* --- everything given ------------------------------------------------------------------------ */

#define ALL_LIMITS                                                                          \
	"{ gpus = \"any:8,h100:0\"; gpu_mem = \"640G\"; cpus = 5; mem = \"1T\"; nodes = 0;" \
	" running = 4294967; queued = 0; time = \"4:00:00\"; gpu_hours = \"500 / 30d\"; }"

static void limits(void **state)
{
	struct conf *conf = parse(BASE "accounts = ( { name = \"a\"; limits = " ALL_LIMITS
	                               "; per_user = " ALL_LIMITS "; } );\n"
	                               "qos = ( { name = \"q\"; per_user = " ALL_LIMITS "; } );\n");
	const struct conf_limits *const given[] = { &conf->accounts[0].limits,
		&conf->accounts[0].per_user, &conf->qos[0].per_user };

	(void)state;
	for (size_t i = 0; i < LEN(given); i++) {
		assert_int_equal(given[i]->gpus.n, 2);
		assert_int_equal(given[i]->gpus.v[0].type, CONF_ANY_TYPE);
		assert_int_equal(given[i]->gpus.v[0].count, 8);
		assert_int_equal(given[i]->gpus.v[1].type, 0);
		assert_int_equal(given[i]->gpus.v[1].count, 0);
		assert_int_equal(given[i]->gpu_mem_mb, 640 * 1024);
		assert_int_equal(given[i]->cpus, 5);
		assert_int_equal(given[i]->mem_mb, 1024 * 1024);
		assert_int_equal(given[i]->nodes, 0);
		assert_int_equal(given[i]->running, 4294967);
		assert_int_equal(given[i]->queued, 0);
		assert_int_equal(given[i]->time_s, 4 * 3600);
		assert_int_equal(given[i]->gpu_hours, 500);
		assert_int_equal(given[i]->gpu_hours_window_s, 30 * 86400);
	}
	assert_no_limits(&conf->accounts[0].per_job);
	assert_no_limits(&conf->qos[0].limits);
	conf_free(conf);
}

static void gpu_hours(void **state)
{
	static const struct {
		const char *text;
		uint64_t hours;
		uint32_t window_s;
	} rows[] = {
		{ "500 / 30d", 500, 2592000 },
		{ "0/60s", 0, 60 },
		{ "  1000000000  /  365d ", 1000000000, 31536000 },
		{ "7 / 2-12", 7, 216000 },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		char *text = xasprintf(BASE "accounts = ( { name = \"a\"; limits = { gpu_hours = "
		                            "\"%s\"; }; } );\n",
		        rows[i].text);
		struct conf *conf = parse(text);

		assert_int_equal(conf->accounts[0].limits.gpu_hours, rows[i].hours);
		assert_int_equal(conf->accounts[0].limits.gpu_hours_window_s, rows[i].window_s);
		conf_free(conf);
		free(text);
	}
}

static void partitions(void **state)
{
	struct conf *conf = parse(CTL TYPES NODES
	        "partitions = ( { name = \"p\"; nodes = \"ALL\"; state = \"drain\"; priority = 7;\n"
	        "  preempt_mode = \"cancel\"; min_run = \"20m\"; place = \"spread\"; plan_depth = "
	        "0;\n"
	        "  require_gpu = true; per_gpu = { cpus = 14; mem = \"220G\"; };\n"
	        "  per_job = { gpus = \"8\"; }; per_job_min = { gpus = \"h100:2\"; cpus = 2; }; "
	        "},\n"
	        "  { name = \"q\"; nodes = \"ALL\"; state = \"inactive\"; per_gpu = { mem = "
	        "\"1G\"; "
	        "}; } );\n");
	const struct conf_partition *p = conf->partitions;

	(void)state;
	assert_int_equal(p->state, CONF_PARTITION_DRAIN);
	assert_int_equal(p->priority, 7);
	assert_int_equal(p->preempt_mode, CONF_PREEMPT_CANCEL);
	assert_int_equal(p->min_run_s, 1200);
	assert_int_equal(p->place, CONF_PLACE_SPREAD);
	assert_int_equal(p->plan_depth, 0);
	assert_true(p->require_gpu);
	assert_int_equal(p->per_gpu_cpus, 14);
	assert_int_equal(p->per_gpu_mem_mb, 220 * 1024);
	assert_int_equal(p->per_job.gpus.v[0].type, CONF_ANY_TYPE);
	assert_int_equal(p->per_job.gpus.v[0].count, 8);
	assert_int_equal(p->per_job_min.gpus.v[0].type, 0);
	assert_int_equal(p->per_job_min.cpus, 2);
	assert_no_limits(&p->limits);
	assert_int_equal(p[1].state, CONF_PARTITION_INACTIVE);
	assert_int_equal(p[1].per_gpu_cpus, 0);
	assert_int_equal(p[1].per_gpu_mem_mb, 1024);
	conf_free(conf);
}

static void numbers(void **state)
{
	struct conf *conf = parse(CTL
	        "gpu_types = ( { name = \"h100\"; price = 2.50; }, { name = \"l40s\"; price = 3; "
	        "} );\n" NODES PARTS
	        "prices = { currency = \"EUR\"; cpu = 1e-2; mem_gb = .001; };\n"
	        "accounts = ( { name = \"a\"; quota = { weight = 0.001; }; } );\n"
	        "qos = ( { name = \"q\"; priority = -100; usage_factor = 0; },\n"
	        "  { name = \"r\"; priority = 0x10; usage_factor = +0.1; } );\n"
	        "priority = { weights = { age = 0; qos = 1000000000; }; half_life = \"never\"; };\n"
	        "licences = ( { name = \"t\"; count = 16; }, { name = \"none\"; count = 0; } );\n");
	char text[200];

	(void)state;
	snprintf(text, sizeof(text), "%g %g %g %g %g %g %g", conf->gpu_types[0].price,
	        conf->gpu_types[1].price, conf->prices.cpu, conf->prices.mem_gb,
	        conf->accounts[0].quota.weight, conf->qos[0].usage_factor,
	        conf->qos[1].usage_factor);
	assert_string_equal(text, "2.5 3 0.01 0.001 0.001 0 0.1");
	assert_string_equal(conf->prices.currency, "EUR");
	assert_int_equal(conf->qos[0].priority, -100);
	assert_int_equal(conf->qos[1].priority, 16);
	assert_int_equal(conf->priority.age, 0);
	assert_int_equal(conf->priority.fair_share, 10000);
	assert_int_equal(conf->priority.qos, 1000000000);
	assert_int_equal(conf->priority.half_life_s, 0);
	assert_int_equal(conf->n_licences, 2);
	assert_int_equal(conf->licences[0].count, 16);
	assert_int_equal(conf->licences[1].count, 0);
	conf_free(conf);
}

/* --- accounts -------------------------------------------------------------------------------- */

/* "name(parent,depth,rank) ..." in the order they are kept. */
static char *tree_of(const struct conf *conf)
{
	struct strbuf text = { 0 };

	for (size_t i = 0; i < conf->n_accounts; i++) {
		const struct conf_account *a = &conf->accounts[i];

		assert_true(a->parent == CONF_NONE || a->parent < i);
		strbuf_addf(&text, "%s%s(%s,%u,%u)", i ? " " : "", a->name,
		        a->parent == CONF_NONE ? "-" : conf->accounts[a->parent].name, a->depth,
		        a->rank);
	}
	return strbuf_take(&text);
}

#define TREE                                                                                    \
	"accounts = ( { name = \"leaf\"; parent = \"mid\"; members = [ \"*\" ]; },\n"           \
	"  { name = \"other\"; parent = \"\"; members = [ \"@g-1\", \"ana\", \"_x$\" ]; },\n"   \
	"  { name = \"top\"; shares = 9; }, { name = \"mid\"; parent = \"top\"; },\n"           \
	"  { name = \"leaf2\"; parent = \"mid\"; required_labels = [ \"project\", \"team\" ]; " \
	"},\n"                                                                                  \
	"  { name = \"beside\"; parent = \"top\"; } );\n"

static void accounts_are_a_tree(void **state)
{
	struct conf *conf = parse(BASE TREE "default_account = \"leaf2\";\n");
	char *tree = tree_of(conf);

	(void)state;
	assert_string_equal(tree, "other(-,0,1) top(-,0,2) mid(top,1,3) leaf(mid,2,0) "
	                          "leaf2(mid,2,4) beside(top,1,5)");
	assert_int_equal(conf->default_account, 4);
	assert_int_equal(conf->accounts[1].shares, 9);
	assert_int_equal(conf->accounts[0].members.n, 3);
	assert_string_equal(conf->accounts[0].members.v[0], "@g-1");
	assert_string_equal(conf->accounts[0].members.v[2], "_x$");
	assert_int_equal(conf->accounts[4].required_labels.n, 2);
	assert_string_equal(conf->accounts[4].required_labels.v[1], "team");
	free(tree);
	conf_free(conf);
}

static void assert_indices(const uint32_t *v, size_t n, const char *expected)
{
	struct strbuf text = { 0 };

	strbuf_adds(&text, "");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&text, "%s%u", i ? " " : "", v[i]);
	assert_string_equal(text.s, expected);
	strbuf_free(&text);
}

static void lists_of_accounts_have_those_below(void **state)
{
	struct conf *conf = parse(CTL TYPES NODES TREE
	        "partitions = ( { name = \"p\"; nodes = \"ALL\"; accounts = [ \"mid\" ]; },\n"
	        "  { name = \"q\"; nodes = \"ALL\"; accounts = ( \"beside\", \"other\" ); },\n"
	        "  { name = \"r\"; nodes = \"ALL\"; accounts = [ ]; } );\n"
	        "qos = ( { name = \"x\"; accounts = [ \"leaf2\", \"top\" ]; } );\n");

	(void)state;
	assert_indices(conf->partitions[0].accounts, conf->partitions[0].n_accounts, "2 3 4");
	assert_indices(conf->partitions[1].accounts, conf->partitions[1].n_accounts, "0 5");
	assert_indices(conf->partitions[2].accounts, conf->partitions[2].n_accounts, "");
	assert_indices(conf->qos[0].accounts, conf->qos[0].n_accounts, "1 2 3 4 5");
	assert_int_equal(conf->qos[0].accounts_names.n, 2);
	conf_free(conf);
}

static void quotas(void **state)
{
	struct conf *conf = parse(BASE
	        "accounts = ( { name = \"a\"; quota = { guaranteed = \"h100:48\"; limit = "
	        "\"h100:96,any:100\";\n"
	        "  lend = \"h100:0\"; weight = 3.0; }; }, { name = \"b\"; quota = { }; } );\n");
	const struct conf_quota *q = &conf->accounts[0].quota;

	(void)state;
	assert_true(q->given);
	assert_int_equal(q->guaranteed.n, 1);
	assert_int_equal(q->guaranteed.v[0].type, 0);
	assert_int_equal(q->guaranteed.v[0].count, 48);
	assert_int_equal(q->limit.n, 2);
	assert_int_equal(q->limit.v[1].type, CONF_ANY_TYPE);
	assert_int_equal(q->lend.n, 1);
	assert_int_equal(q->lend.v[0].count, 0);
	assert_true(q->weight >= 3 && q->weight <= 3);
	assert_true(conf->accounts[1].quota.given);
	assert_int_equal(conf->accounts[1].quota.guaranteed.n, 0);
	conf_free(conf);
}

/* What a cluster may promise: each is within something, at its very edge. */
static void promises_that_can_be_kept(void **state)
{
	static const char *const texts[] = {
		/* A parent's, its own limit, the nodes' GPUs, all used up. */
		"nodes = ( { name = \"n[1-4]\"; gpus = \"h100:8\"; } );\n"
		"accounts = ( { name = \"a\"; quota = { guaranteed = \"h100:32\"; limit = "
		"\"h100:32\"; lend = \"h100:32\"; }; },\n"
		"  { name = \"b\"; parent = \"a\"; quota = { guaranteed = \"h100:30\"; }; },\n"
		"  { name = \"c\"; parent = \"a\"; quota = { guaranteed = \"h100:2\"; }; limits = "
		"{ "
		"gpus = \"h100:2,any:2\"; }; } );\n",
		/* No node says what it has. */
		"nodes = ( { name = \"n[1-4]\"; } );\n"
		"accounts = ( { name = \"a\"; quota = { guaranteed = \"h100:1000\"; }; } );\n",
		/* None says that it has this type, and one may. */
		"nodes = ( { name = \"n1\"; gpus = \"l40s:8\"; }, { name = \"n2\"; } );\n"
		"accounts = ( { name = \"a\"; quota = { guaranteed = \"h100:8\"; }; } );\n",
		/* Of all types together. */
		"nodes = ( { name = \"n1\"; gpus = \"h100:8,l40s:4\"; } );\n"
		"accounts = ( { name = \"a\"; quota = { guaranteed = \"any:8\"; lend = \"any:8\"; "
		"}; },\n"
		"  { name = \"b\"; parent = \"a\"; quota = { guaranteed = \"8\"; }; },\n"
		"  { name = \"c\"; quota = { guaranteed = \"l40s:4\"; }; } );\n",
	};

	(void)state;
	for (size_t i = 0; i < LEN(texts); i++) {
		char *text = xasprintf(CTL TYPES PARTS "%s", texts[i]);

		conf_free(parse(text));
		free(text);
	}
}

/* --- QOS ------------------------------------------------------------------------------------- */

static void qos_preempt_what_these_preempt(void **state)
{
	struct conf *conf = parse(BASE
	        "qos = ( { name = \"top\"; preempts = [ \"mid\", \"side\" ]; max_wait = \"30s\"; "
	        "min_run = \"0s\"; },\n"
	        "  { name = \"low\"; default = true; }, { name = \"mid\"; preempts = [ \"low\" ]; "
	        "},\n"
	        "  { name = \"side\"; preempts = [ \"mid\", \"low\" ]; }, { name = \"alone\"; } "
	        ");\n");
	const struct conf_qos *q = conf->qos;

	(void)state;
	assert_int_equal(conf->default_qos, 1);
	assert_indices(q[0].preempts, q[0].n_preempts, "1 2 3");
	assert_indices(q[1].preempts, q[1].n_preempts, "");
	assert_indices(q[2].preempts, q[2].n_preempts, "1");
	assert_indices(q[3].preempts, q[3].n_preempts, "1 2");
	assert_int_equal(q[0].level, 3);
	assert_int_equal(q[1].level, 0);
	assert_int_equal(q[2].level, 1);
	assert_int_equal(q[3].level, 2);
	assert_int_equal(q[4].level, 0);
	assert_int_equal(q[0].max_wait_s, 30);
	assert_int_equal(q[0].min_run_s, 0);
	conf_free(conf);
}

/* --- topology -------------------------------------------------------------------------------- */

static void topology(void **state)
{
	struct conf *conf = parse(
	        CTL "node_defaults = { features = [ \"ib\" ]; };\n"
	            "nodes = ( { name = \"n[1-2]\"; features = [ \"nvlink\", \"ib\" ]; }, { name = "
	            "\"n[3-9]\"; } );\n" PARTS
	            "topology = ( { switch = \"spine\"; switches = [ \"b\", \"a\" ]; },\n"
	            "  { switch = \"a\"; nodes = \"n3,n[1-2]\"; }, { switch = \"b\"; nodes = "
	            "\"n[4-8]\"; },\n"
	            "  { switch = \"c\"; switches = [ \"spine\" ]; } );\n");
	const struct conf_switch *s = conf->switches;

	(void)state;
	assert_int_equal(conf->n_switches, 4);
	assert_int_equal(s[0].parent, 3);
	assert_int_equal(s[0].n_nodes, 0);
	assert_int_equal(s[1].parent, 0);
	assert_int_equal(s[2].parent, 0);
	assert_int_equal(s[3].parent, CONF_NONE);
	assert_indices(s[1].nodes, s[1].n_nodes, "0 1 2");
	assert_string_equal(s[1].node_names, "n[1-3]");
	assert_int_equal(conf->nodes[0].leaf, 1);
	assert_int_equal(conf->nodes[3].leaf, 2);
	assert_int_equal(conf->nodes[8].leaf, CONF_NONE);
	assert_int_equal(conf->nodes[0].features.n, 2);
	assert_string_equal(conf->nodes[1].features.v[1], "ib");
	assert_int_equal(conf->nodes[8].features.n, 1);
	conf_free(conf);
}

static void one_switch_has_all(void **state)
{
	struct conf *conf = parse(BASE "topology = ( { switch = \"s\"; nodes = \"ALL\"; } );\n");

	(void)state;
	assert_int_equal(conf->switches[0].n_nodes, 4);
	assert_string_equal(conf->switches[0].node_names, "n[1-4]");
	assert_int_equal(conf->nodes[3].leaf, 0);
	conf_free(conf);
}

/* --- printing and comparing ------------------------------------------------------------------ */

static char *diff_of(const struct conf *from, const struct conf *to)
{
	struct strbuf all = { 0 };
	struct error err = { .text = "" };
	char **lines = NULL;
	int n = conf_diff(from, to, &lines, &err);

	assert_string_equal(err.text, "");
	strbuf_adds(&all, "");
	for (int l = 0; l < n; l++) {
		strbuf_addf(&all, "%s\n", lines[l]);
		free(lines[l]);
	}
	free(lines);
	return strbuf_take(&all);
}

static void print_is_read_back(void **state)
{
	static const char *const texts[] = {
		BASE TREE "default_account = \"leaf2\";\n",
		BASE "accounts = ( { name = \"a\"; quota = { }; limits = " ALL_LIMITS
		     "; required_labels = [ \"x\" ]; } );\n",
		BASE
		"qos = ( { name = \"a\"; preempts = [ \"b\" ]; usage_factor = 0.1; min_run = "
		"\"90s\"; }, { name = \"b\"; } );\n"
		"licences = ( { name = \"l\"; count = 3; } ); prices = { currency = \"\\\"\\\\\"; "
		"cpu = 0.333333333333333333; mem_gb = 999999.5; };\n",
		CTL "nodes = ( { name = \"n[1-2]\"; features = [ \"a\", \"b\" ]; }, { name = "
		    "\"n[3-4]\"; features = [ \"b\" ]; } );\n" PARTS
		    "topology = ( { switch = \"t\"; nodes = \"n[1-2]\"; }, { switch = \"u\"; "
		    "switches = [ \"t\" ]; } );\n",
	};

	(void)state;
	for (size_t i = 0; i < LEN(texts); i++) {
		struct conf *a = parse(texts[i]), *b;
		char *text = printed(a), *again, *diff, *tree_a, *tree_b;

		b = parse(text);
		again = printed(b);
		assert_string_equal(again, text);
		diff = diff_of(a, b);
		assert_string_equal(diff, "");
		tree_a = tree_of(a);
		tree_b = tree_of(b);
		assert_string_equal(tree_a, tree_b);
		free(tree_a);
		free(tree_b);
		free(diff);
		free(text);
		free(again);
		conf_free(a);
		conf_free(b);
	}
}

static void nothing_is_printed_of_what_is_not_given(void **state)
{
	struct conf *conf = parse(BASE "accounts = ( { name = \"a\"; limits = { }; } );\n");
	char *text = printed(conf);

	(void)state;
	assert_null(strstr(text, "limits"));
	assert_null(strstr(text, "quota"));
	assert_null(strstr(text, "members"));
	assert_null(strstr(text, "none"));
	free(text);
	conf_free(conf);
}

static void diffs(void **state)
{
#define A(keys) "accounts = ( { name = \"a\"; " keys " }, { name = \"b\"; } );\n"
#define Q(keys) "qos = ( { name = \"q\"; " keys " }, { name = \"r\"; } );\n"
#define M(name) "{ name = \"" name "\"; members = [ \"*\" ]; }"
	static const struct {
		const char *from, *to, *lines;
	} rows[] = {
		{ "", A(""), "accounts.a added\naccounts.b added\n" },
		{ A(""), "", "accounts.a removed\naccounts.b removed\n" },
		{ A("shares = 1;"), A("shares = 2;"), "accounts.a.shares 1 -> 2\n" },
		{ A(""), A("limits = { gpus = \"any:8,h100:4\"; running = 4; };"),
		        "accounts.a.limits.gpus none -> any:8,h100:4\n"
		        "accounts.a.limits.running none -> 4\n" },
		/* One row in two groups. */
		{ A("limits = { cpus = 1; }; per_user = { cpus = 1; };"),
		        A("limits = { cpus = 2; }; per_user = { gpu_hours = \"5/1d\"; };"),
		        "accounts.a.limits.cpus 1 -> 2\naccounts.a.per_user.cpus 1 -> none\n"
		        "accounts.a.per_user.gpu_hours none -> 5 / 1-00:00:00\n" },
		{ A(""), A("quota = { };"), "accounts.a.quota added\n" },
		{ A("quota = { };"), A(""), "accounts.a.quota removed\n" },
		{ A(""), A("quota = { weight = 2; };"), "accounts.a.quota.weight 1 -> 2\n" },
		{ A("members = [ \"x\" ];"), A("members = [ \"x\", \"@g\" ];"),
		        "accounts.a.members x -> x,@g\n" },
		{ A(""), A("parent = \"b\";"), "accounts.a.parent \"\" -> b\n" },
		{ "default_account = \"a\";" A(""), "default_account = \"b\";" A(""),
		        "default_account a -> b\n" },
		/* An order that says which account is a user's, and one that does not. */
		{ "accounts = ( " M("a") ", " M("b") ", " M("c") " );",
		        "accounts = ( " M("c") ", " M("b") ", " M("d") " );",
		        "accounts.a removed\naccounts.d added\naccounts in the order b,c -> "
		        "c,b\n" },
		{ "accounts = ( { name = \"a\"; }, " M("b") " );",
		        "accounts = ( " M("b") ", { name = \"a\"; } );", "" },
		{ Q(""),
		        Q("priority = -5; usage_factor = 0.25; preempts = [ \"r\" ]; max_wait = "
		          "\"2m\"; min_run = \"0s\"; default = true;"),
		        "qos.q.default false -> true\nqos.q.priority 0 -> -5\n"
		        "qos.q.max_wait none -> 2m\nqos.q.preempts none -> r\n"
		        "qos.q.usage_factor 1 -> 0.25\nqos.q.min_run none -> 0s\n" },
		{ "licences = ( { name = \"t\"; count = 1; } );",
		        "licences = ( { name = \"t\"; count = 2; }, { name = \"u\"; count = 1; } "
		        ");",
		        "licences.t.count 1 -> 2\nlicences.u added\n" },
		{ "topology = ( { switch = \"s\"; nodes = \"n[1-2]\"; } );",
		        "topology = ( { switch = \"s\"; nodes = \"n1,n2,n3\"; }, { switch = \"t\"; "
		        "nodes = \"n4\"; } );",
		        "topology.s.nodes n[1-2] -> n[1-3]\ntopology.t added\n" },
		{ "prices = { currency = \"EUR\"; };", "prices = { cpu = 0.01; };",
		        "prices.currency EUR -> \"\"\nprices.cpu 0 -> 0.01\n" },
		{ "", "priority = { weights = { age = 5; }; half_life = \"never\"; };",
		        "priority.weights.age 1000 -> 5\npriority.half_life 14-00:00:00 -> "
		        "never\n" },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		char *a = xasprintf(BASE "%s", rows[i].from), *b = xasprintf(BASE "%s", rows[i].to);
		struct conf *from = parse(a), *to = parse(b);
		char *lines = diff_of(from, to);

		assert_string_equal(lines, rows[i].lines);
		free(lines);
		free(a);
		free(b);
		conf_free(from);
		conf_free(to);
	}
}

static void diffs_of_partitions_and_nodes(void **state)
{
	struct conf *from = parse(BASE);
	struct conf *to = parse(CTL TYPES
	        "nodes = ( { name = \"n[1-3]\"; features = [ \"ib\" ]; }, { name = \"n4\"; } );\n"
	        "partitions = ( { name = \"p\"; nodes = \"ALL\"; state = \"down\"; preempt_mode = "
	        "\"requeue\";\n"
	        "  per_gpu = { cpus = 4; }; per_job = { time = \"1h\"; }; accounts = [ \"a\" ]; } "
	        ");\n"
	        "accounts = ( { name = \"a\"; } );\n");
	char *lines = diff_of(from, to);

	(void)state;
	assert_string_equal(lines, "nodes.n[1-3].features none -> ib\n"
	                           "partitions.p.state up -> down\n"
	                           "partitions.p.preempt_mode off -> requeue\n"
	                           "partitions.p.per_gpu.cpus 0 -> 4\n"
	                           "partitions.p.accounts none -> a\n"
	                           "partitions.p.per_job.time none -> 1:00:00\n"
	                           "accounts.a added\n");
	free(lines);
	conf_free(from);
	conf_free(to);
}

/* The examples of the manual: one machine; two kinds of nodes; and what is to be added to that. */
static void the_manual_is_right(void **state)
{
	FILE *man = fopen(TOP_SRCDIR "/man/gpusched.conf.5", "r");
	struct strbuf examples[3] = { 0 };
	char *line = NULL;
	size_t size = 0, n = 0;
	bool in_examples = false, in_one = false;

	(void)state;
	assert_non_null(man);
	while (n < LEN(examples) && getline(&line, &size, man) > 0) {
		in_examples = in_examples || !strcmp(line, ".Sh EXAMPLES\n");
		n += in_one && !strcmp(line, ".Ed\n");
		in_one = in_one && strcmp(line, ".Ed\n") != 0;
		if (in_one)
			strbuf_adds(&examples[n], line);
		in_one = in_one || (in_examples && !strncmp(line, ".Bd -literal", 12));
	}
	free(line);
	fclose(man);
	assert_int_equal(n, LEN(examples));
	strbuf_adds(&examples[1], examples[2].s);
	for (size_t i = 0; i < 2; i++) {
		struct conf *conf = parse(examples[i].s);

		assert_int_equal(conf->n_accounts, i ? 5 : 0);
		conf_free(conf);
	}
	for (size_t i = 0; i < LEN(examples); i++)
		strbuf_free(&examples[i]);
}

/* Points are points whatever the language of who started us. */
static void points_in_any_language(void **state)
{
	static const char *const commas[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8" };
	size_t i = 0;
	struct conf *conf;
	char *text;

	(void)state;
	while (i < LEN(commas) && !setlocale(LC_ALL, commas[i]))
		i++;
	if (i == LEN(commas)) {
		print_message("no locale with commas is here\n");
		skip();
	}
	conf = parse(BASE "prices = { cpu = 0.25; };\n");
	assert_true(conf->prices.cpu >= 0.25 && conf->prices.cpu <= 0.25);
	text = printed(conf);
	assert_non_null(strstr(text, "cpu = 0.25;"));
	setlocale(LC_ALL, "C");
	free(text);
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(limits),
		cmocka_unit_test(gpu_hours),
		cmocka_unit_test(partitions),
		cmocka_unit_test(numbers),
		cmocka_unit_test(accounts_are_a_tree),
		cmocka_unit_test(lists_of_accounts_have_those_below),
		cmocka_unit_test(quotas),
		cmocka_unit_test(promises_that_can_be_kept),
		cmocka_unit_test(qos_preempt_what_these_preempt),
		cmocka_unit_test(topology),
		cmocka_unit_test(one_switch_has_all),
		cmocka_unit_test(print_is_read_back),
		cmocka_unit_test(nothing_is_printed_of_what_is_not_given),
		cmocka_unit_test(diffs),
		cmocka_unit_test(diffs_of_partitions_and_nodes),
		cmocka_unit_test(the_manual_is_right),
		cmocka_unit_test(points_in_any_language),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
