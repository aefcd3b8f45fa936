/* test_conf.c - common/conf/conf.h: what is right, printed and compared
 *
 * What is wrong is in test_conf_bad.c, what clients read of it in test_conf_client.c, files and
 * includes in test_conf_files.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/conf/conf.h"
#include "common/conf/conf_schema.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define CTL   "cluster = \"c\"; controller = { host = \"h\"; };\n"
#define NODES "nodes = ( { name = \"n[1-4]\"; } );\n"
#define PARTS "partitions = ( { name = \"p\"; nodes = \"ALL\"; } );\n"

static struct conf *parse(const char *text)
{
	struct conf_problems problems;
	struct conf *conf = conf_parse(text, "c", &problems);

	if (!conf) {
		conf_problems_print(&problems, stderr);
		fail_msg("not read: %s", text);
	}
	assert_int_equal(problems.n, 0);
	conf_problems_clear(&problems);
	return conf;
}

/* --- the rows themselves --------------------------------------------------------------------- */

static void row_is_sound(const struct conf_key *key, struct conf *conf)
{
	uint64_t largest = key->width == 8 ? UINT64_MAX : UINT32_MAX;
	union {
		struct conf conf;
		struct conf_node node;
		struct conf_partition partition;
		struct conf_gpu_type type;
		struct conf_account account;
		struct conf_qos qos;
	} base = { .conf = { 0 } };
	bool number = key->type == CONF_COUNT || key->type == CONF_TIME || key->type == CONF_SIZE;

	assert_true(strlen(key->help) > 0 && strlen(key->help) < 80);
	assert_true(key->min <= key->max || key->type == CONF_BOOL || key->type == CONF_WORD ||
	            key->group);
	assert_false(key->def && key->optional);
	if (number) {
		assert_true(key->width == 4 || key->width == 8);
		assert_true(key->max <= largest - key->optional);
	}
	if (key->type == CONF_INTEGER)
		assert_true(key->width == 4 && key->max <= INT32_MAX);
	if (key->type == CONF_WORD)
		assert_int_equal(key->width, sizeof(enum conf_place));
	if (key->type == CONF_REAL)
		assert_int_equal(key->width, sizeof(double));
	if (key->type == CONF_TIME || key->type == CONF_SIZE || key->type == CONF_REAL)
		assert_true(key->unit > 0);
	if (key->def && !key->group) {
		assert_int_equal(conf_value_read(key, key->def, conf, &base, NULL), 0);
		conf_value_clear(key, &base);
	}
	if (key->optional) {
		conf_value_default(key, conf, &base);
		assert_true(conf_value_none(key, &base));
	}
}

static void rows_are_sound_in(const struct conf_keys *keys)
{
	struct conf conf = { 0 };

	for (size_t k = 0; k < keys->n; k++) {
		row_is_sound(&keys->v[k], &conf);
		if (keys->v[k].group) {
			assert_non_null(keys->v[k].group->name);
			rows_are_sound_in(keys->v[k].group);
		}
	}
}

static void rows_are_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < conf_n_sections; i++)
		rows_are_sound_in(&conf_sections[i].keys);
}

static void defaults(void **state)
{
	struct conf *conf = parse(CTL NODES PARTS);
	const struct conf_controller *c = &conf->controller;

	(void)state;
	assert_string_equal(conf->cluster, "c");
	assert_string_equal(c->host, "h");
	assert_int_equal(c->port, 7320);
	assert_string_equal(c->listen, "");
	assert_string_equal(c->user, "gpusched");
	assert_string_equal(c->agent_user, "root");
	assert_string_equal(c->state_dir, LOCALSTATEDIR "/lib/gpusched");
	assert_string_equal(c->log, "stderr");
	assert_string_equal(c->log_level, "info");
	assert_int_equal(c->fence_timeout_s, 60);
	assert_int_equal(c->heartbeat_ms, 10000);
	assert_int_equal(c->node_timeout_s, 60);
	assert_int_equal(c->unknown_is_off_s, 0);
	assert_int_equal(c->signature_age_s, 1209600);
	assert_int_equal(c->max_jobs, 1000000);
	assert_int_equal(c->max_script_kb, 4096);
	assert_int_equal(c->keep_ended_s, 300);
	assert_int_equal(c->min_free_mb, 256);
	assert_int_equal(c->workers, 4);
	assert_int_equal(conf->n_gpu_types, 0);
	assert_int_equal(conf->n_nodes, 4);
	assert_string_equal(conf->nodes[3].name, "n4");
	assert_int_equal(conf->nodes[3].cpus, 0);
	assert_int_equal(conf->nodes[3].n_gpus, 0);
	assert_int_equal(conf->n_partitions, 1);
	assert_int_equal(conf->default_partition, UINT32_MAX);
	assert_int_equal(conf->partitions[0].n_nodes, 4);
	assert_string_equal(conf->partitions[0].node_names, "n[1-4]");
	assert_int_equal(conf->partitions[0].tier, 1);
	assert_int_equal(conf->partitions[0].max_time_s, CONF_NO_LIMIT);
	assert_int_equal(conf->partitions[0].grace_s, 30);
	conf_free(conf);
}

static const char whole[] =
        "cluster = \"atlas\";\n"
        "controller: { host = \"head1\"; port = 0x1C98; user: \"root\", max_jobs = 5L;\n"
        "  heartbeat = \"500ms\"; unknown_is_off = \"1:00:00\"; fence = \"/bin/a \\\"b\\\\c\"; }\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; match = \"NVIDIA H100*\"; },\n"
        "{ name = \"1g.10gb\"; mem = \"10G\"; mig_of = \"h100\"; } );\n"
        "node_defaults = { cpus = 64; mem = \"1T\"; gpus = \"h100:8\"; };\n"
        "nodes = ( { name = \"h[10,01-03]\"; cpus = 128; mem = \"2T\"; },\n"
        "  { name = \"m[1-2]\"; gpus = \"1g.10gb:7,h100:1\"; }, { name = \"x\"; gpus = \"\"; mem = "
        "\"0\"; }, { name = \"y\"; gpus = \"none\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"m2,h[01-03]\"; default = TRUE; tier = +10;\n"
        "    default_time = \"4:00:00\"; max_time = \"2-00:00:00\"; grace = \"120s\";\n"
        "    default_mem = \"4G\"; },\n"
        "  { name = \"all\"; nodes = \"ALL\"; max_time = \"infinite\"; grace = 0; } )\n";

static void values(void **state)
{
	struct conf *conf = parse(whole);
	const struct conf_node *n = conf->nodes;
	const struct conf_partition *p = conf->partitions;

	(void)state;
	assert_int_equal(conf->controller.port, 7320);
	assert_string_equal(conf->controller.user, "root");
	assert_int_equal(conf->controller.max_jobs, 5);
	assert_int_equal(conf->controller.heartbeat_ms, 500);
	assert_int_equal(conf->controller.unknown_is_off_s, 3600);
	assert_string_equal(conf->controller.fence, "/bin/a \"b\\c");
	assert_int_equal(conf->gpu_types[0].mem_mb, 80 * 1024);
	/* In the file's order; of a list in the list's. */
	assert_int_equal(conf->n_nodes, 8);
	assert_string_equal(n[0].name, "h10");
	assert_string_equal(n[1].name, "h01");
	assert_string_equal(n[6].name, "x");
	/* Given, or from node_defaults. */
	assert_int_equal(n[0].cpus, 128);
	assert_int_equal(n[4].cpus, 64);
	assert_int_equal(n[0].mem_mb, 2 * 1024 * 1024);
	assert_int_equal(n[4].mem_mb, 1024 * 1024);
	assert_int_equal(n[6].mem_mb, 0);
	assert_int_equal(n[0].n_gpus, 1);
	assert_int_equal(n[0].gpus[0].type, 0);
	assert_int_equal(n[0].gpus[0].count, 8);
	assert_int_equal(n[5].n_gpus, 2);
	assert_int_equal(n[5].gpus[0].type, 1);
	assert_int_equal(n[5].gpus[0].count, 7);
	assert_int_equal(n[6].n_gpus, 0);
	assert_null(n[6].gpus); /* as found; else none: */
	assert_int_equal(n[7].n_gpus, 0);
	assert_non_null(n[7].gpus);
	assert_string_equal(conf->gpu_types[0].match, "NVIDIA H100*");
	assert_string_equal(conf->gpu_types[1].mig_of, "h100");
	assert_int_equal(conf->default_partition, 0);
	assert_int_equal(p[0].n_nodes, 4);
	assert_int_equal(p[0].nodes[0], 1);
	assert_int_equal(p[0].nodes[2], 3);
	assert_int_equal(p[0].nodes[3], 5);
	assert_string_equal(p[0].node_names, "h[01-03],m2");
	assert_int_equal(p[0].tier, 10);
	assert_int_equal(p[0].default_time_s, 14400);
	assert_int_equal(p[0].max_time_s, 172800);
	assert_int_equal(p[0].default_mem_mb, 4096);
	assert_int_equal(p[1].n_nodes, 8);
	assert_int_equal(p[1].max_time_s, CONF_NO_LIMIT);
	assert_int_equal(p[1].grace_s, 0);
	conf_free(conf);
}

/* --- printing -------------------------------------------------------------------------------- */

static char *printed(const struct conf *conf)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	conf_print(conf, out);
	fclose(out);
	return text;
}

#define MIG_CLUSTER(mig)                                                                        \
	CTL "gpu_types = ( { name = \"h100\"; mem = \"80G\"; },\n"                              \
	    "{ name = \"1g.10gb\"; mig_of = \"h100\"; }, { name = \"3g.40gb\"; mig_of = "       \
	    "\"h100\"; },\n"                                                                    \
	    "{ name = \"2g.20gb\"; mig_of = \"h100\"; }, { name = \"1c.3g.40gb\"; mig_of = "    \
	    "\"h100\"; }\n"                                                                     \
	    ");\n"                                                                              \
	    "node_defaults = { mig = ( { gpus = \"0\"; layout = \"1g.10gb:4,3g.40gb:1\"; } ); " \
	    "};\n"                                                                              \
	    "nodes = ( { name = \"m[1-2]\"; " mig                                               \
	    "}, { name = \"d\"; }, { name = \"h\"; mig = (); } );\n" PARTS

#define MIG_KEY                                                  \
	"mig = ( { gpus = \"0-5\"; layout = \"1g.10gb:7\"; },\n" \
	"{ gpus = \"7,6\"; layout = \"3g.40gb:1,1c.3g.40gb:3\"; } ); "

static void print_is_read_back(void **state)
{
	static const char *const texts[] = { CTL NODES PARTS, whole, MIG_CLUSTER(MIG_KEY) };

	(void)state;
	for (size_t i = 0; i < LEN(texts); i++) {
		struct conf *a = parse(texts[i]), *b;
		char *text = printed(a), *again, **lines;

		b = parse(text);
		again = printed(b);
		assert_string_equal(again, text);
		assert_int_equal(conf_diff(a, b, &lines, NULL), 0);
		free(lines);
		/* The order of nodes is kept too: indices mean the same. */
		assert_int_equal(a->n_nodes, b->n_nodes);
		for (size_t n = 0; n < a->n_nodes; n++)
			assert_string_equal(a->nodes[n].name, b->nodes[n].name);
		free(text);
		free(again);
		conf_free(a);
		conf_free(b);
	}
}

static void mig(void **state)
{
	struct conf *conf = parse(MIG_CLUSTER(MIG_KEY)), *other;
	const struct conf_node *n = conf->nodes;
	char *text = printed(conf), **lines;

	(void)state;
	assert_int_equal(n[1].n_mig, 2);
	assert_int_equal(n[1].mig[0].set, 0x3f);
	assert_int_equal(n[1].mig[0].layout[0].type, 1);
	assert_int_equal(n[1].mig[0].layout[0].count, 7);
	assert_int_equal(n[1].mig[1].set, 0xc0);
	assert_int_equal(n[1].mig[1].n_layout, 2);
	assert_null(n[1].gpus);
	assert_int_equal(n[2].n_mig, 1); /* of node_defaults */
	assert_int_equal(n[2].mig[0].set, 1);
	assert_int_equal(n[3].n_mig, 0); /* none, whatever those say */
	assert_non_null(
	        strstr(text, "mig = ( { gpus = \"0-5\"; layout = \"1g.10gb:7\"; }, { gpus = "
	                     "\"7,6\"; layout = \"3g.40gb:1,1c.3g.40gb:3\"; } );\n"));
	free(text);
	other = parse(MIG_CLUSTER("mig = ( { gpus = \"0-5\"; layout = \"2g.20gb:3\"; } ); "));
	assert_int_equal(conf_diff(conf, other, &lines, NULL), 1);
	assert_string_equal(lines[0],
	        "nodes.m[1-2].mig 0-5 1g.10gb:7, 7,6 3g.40gb:1,1c.3g.40gb:3 -> 0-5 2g.20gb:3");
	free(lines[0]);
	free(lines);
	conf_free(other);
	conf_free(conf);
}

/* The keys that a text names in its lines: "section.key" each, as `line` finds them. */
static int key_listed(const char *list, const char *path)
{
	size_t n = strlen(path);

	for (const char *p = list; (p = strstr(p, path)) != NULL; p += n) {
		if ((p == list || p[-1] == '\n') && (p[n] == ' ' || p[n] == '\n'))
			return 1;
	}
	return 0;
}

static char *keys_printed(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	conf_print_keys(out);
	fclose(out);
	return text;
}

static void keys_are_listed(void **state)
{
	char *text = keys_printed();

	(void)state;
	assert_true(key_listed(text, "cluster"));
	assert_true(key_listed(text, "controller.port"));
	assert_true(key_listed(text, "gpu_types[].mem"));
	assert_true(key_listed(text, "node_defaults.gpus"));
	assert_false(key_listed(text, "node_defaults.name"));
	assert_true(key_listed(text, "partitions[].max_time"));
	assert_non_null(strstr(text, "\"unlimited\"          1s to 3650-00:00:00, or unlimited"));
	free(text);
}

/* ".It Ic KEY = Ar TYPE Pq DEFAULT" of a key, as the manual has it under its section. */
static void manual_item(struct strbuf *out, const char *section, const struct conf_key *key)
{
	const char *def = key->def;

	strbuf_addf(out, "%s%s%s = Ar %s", section, *section ? "." : "", key->name,
	        conf_type_name(key));
	if (def && !strncmp(def, LOCALSTATEDIR, strlen(LOCALSTATEDIR)))
		/* The manual has it as packages are configured. */
		strbuf_addf(out, " Pq Qq /var%s", def + strlen(LOCALSTATEDIR));
	else if (key->optional)
		strbuf_adds(out, " Pq none");
	else if (!def && !key->group)
		strbuf_adds(out, " Pq required");
	else if (def && conf_value_quoted(key))
		strbuf_addf(out, " Pq %s%s", *def ? "Qq " : "empty", def);
	else if (def)
		strbuf_addf(out, " Pq %s", *def ? def : "empty");
	strbuf_adds(out, "\n");
	if (!key->reload)
		strbuf_adds(out, "Fixed.\n");
}

/* The groups that rows have are told of once each, behind the sections. */
struct groups {
	const struct conf_keys *v[16];
	size_t n;
};

static void manual_items(struct strbuf *out, const char *section, const struct conf_keys *keys,
        struct groups *groups)
{
	for (size_t k = 0; k < keys->n; k++) {
		const struct conf_keys *group = keys->v[k].group;
		size_t i = 0;

		manual_item(out, section, &keys->v[k]);
		while (i < groups->n && groups->v[i] != group)
			i++;
		if (group && i == groups->n) {
			assert_true(groups->n < LEN(groups->v));
			groups->v[groups->n++] = group;
		}
	}
}

/* The manual has every key, none that there is not, and says which are fixed. */
static void the_manual_has_every_key(void **state)
{
	FILE *man = fopen(TOP_SRCDIR "/man/gpusched.conf.5", "r");
	struct strbuf found = { 0 }, wanted = { 0 };
	struct groups groups = { .n = 0 };
	char *line = NULL, section[64] = "";
	size_t size = 0;

	(void)state;
	assert_non_null(man);
	while (getline(&line, &size, man) > 0) {
		if (sscanf(line, ".Ss The section %63s", section) == 1 ||
		        sscanf(line, ".Ss The group %63s", section) == 1)
			continue;
		if (!strncmp(line, ".Ss Outside", 11))
			section[0] = '\0';
		if (!strncmp(line, ".It Ic ", 7))
			strbuf_addf(&found, "%s%s%s", section, *section ? "." : "", line + 7);
		if (!strcmp(line, "Fixed.\n"))
			strbuf_adds(&found, line);
	}
	free(line);
	fclose(man);
	for (size_t i = 0; i < conf_n_sections; i++)
		manual_items(&wanted, conf_sections[i].name, &conf_sections[i].keys, &groups);
	for (size_t i = 0; i < groups.n; i++)
		manual_items(&wanted, groups.v[i]->name, groups.v[i], &groups);
	assert_string_equal(found.s, wanted.s);
	strbuf_free(&found);
	strbuf_free(&wanted);
}

/* --- the files that come with it ------------------------------------------------------------- */

static void examples_are_right(void **state)
{
	static const char *const files[] = { "gpusched.conf", "cluster.conf", "policy.conf" };
	struct conf_problems problems;
	struct conf_client client;
	struct error err = { .text = "" };

	(void)state;
	for (size_t i = 0; i < LEN(files); i++) {
		char *path = xasprintf("%s/etc/examples/%s", TOP_SRCDIR, files[i]);
		struct conf *conf = conf_load(path, &problems);

		conf_problems_print(&problems, stderr);
		assert_non_null(conf);
		conf_free(conf);
		conf_problems_clear(&problems);
		free(path);
	}
	assert_int_equal(
	        conf_client_load(TOP_SRCDIR "/etc/examples/client.conf", &client, &err), 0);
	assert_string_equal(client.host, "gpu01");
	conf_client_clear(&client);
}

/* The two configurations that the design prints, to the letter: they are read, and mean that. */
static void printed_ones_are_right(void **state)
{
	struct conf_problems problems;
	const struct conf_node *n;
	struct conf *conf;

	(void)state;
	conf = conf_load(TOP_SRCDIR "/testsuite/unit/conf/small.conf", &problems);
	conf_problems_print(&problems, stderr);
	assert_true(conf && conf->n_nodes == 1 && conf->nodes[0].share == CONF_SHARE_WATCH);
	assert_false(conf->nodes[0].idle.given);
	conf_free(conf);
	conf_problems_clear(&problems);

	conf = conf_load(TOP_SRCDIR "/testsuite/unit/conf/mixed.conf", &problems);
	conf_problems_print(&problems, stderr);
	assert_true(conf && conf->n_nodes == 22 && conf->n_partitions == 3);
	n = &conf->nodes[21]; /* node_defaults are of each of them */
	assert_string_equal(n->name, "s04");
	assert_int_equal(n->agent.containment.n, 3);
	assert_string_equal(n->agent.programs[PROGRAM_PROLOG].path, "/etc/gpusched/prolog");
	assert_int_equal(n->agent.programs[PROGRAM_PROLOG].timeout_ms, 60000);
	assert_string_equal(n->agent.programs[PROGRAM_EPILOG].path, "");
	assert_true(n->idle.given && n->idle.below_pct == 5 && n->idle.for_s == 7200 &&
	            n->idle.action == CONF_IDLE_MAIL && !n->idle.end_cpu_bound);
	assert_int_equal(n->health_recheck_ms, 600000);
	assert_true(n->share == CONF_SHARE_MPS && n->share_users == CONF_USERS_ONE);
	assert_string_equal(n->agent.over_memory, "end");
	assert_int_equal(conf->nodes[16].n_mig, 2);
	assert_string_equal(conf->nodes[16].name, "m01");
	assert_true(conf->partitions[0].place == CONF_PLACE_PACK &&
	            conf->partitions[0].per_gpu_mem_mb == 220 * 1024);
	assert_false(conf->partitions[0].idle.given);
	assert_int_equal(conf->n_accounts, 5);
	assert_string_equal(conf->accounts[conf->default_account].name, "guest");
	assert_string_equal(conf->qos[conf->default_qos].name, "normal");
	assert_int_equal(conf->n_licences, 1);
	conf_free(conf);
	conf_problems_clear(&problems);
}

/* What they come to is a file that comes to the same; nodes that differ in a group stay apart. */
static void printed_ones_are_given_back(void **state)
{
	struct conf_problems problems;
	struct conf *conf, *again;
	char *text[2];
	size_t len;
	FILE *out;

	(void)state;
	conf = conf_load(TOP_SRCDIR "/testsuite/unit/conf/mixed.conf", &problems);
	assert_non_null(conf);
	conf_problems_clear(&problems);
	conf->nodes[5].idle.for_s++;
	conf->nodes[6].idle.given = false;
	again = conf;
	for (int i = 0; i < 2; i++) {
		out = open_memstream(&text[i], &len);
		assert_non_null(out);
		conf_print(again, out);
		fclose(out);
		if (!i)
			again = parse(text[0]);
	}
	assert_string_equal(text[0], text[1]);
	assert_true(again->nodes[4].idle.for_s == 7200 && again->nodes[5].idle.for_s == 7201);
	assert_true(!again->nodes[6].idle.given && again->nodes[7].idle.given);
	assert_string_equal(
	        again->nodes[7].agent.programs[PROGRAM_PROLOG].path, "/etc/gpusched/prolog");
	conf_free(conf);
	conf_free(again);
	free(text[0]);
	free(text[1]);
}

/* A node's own group is all of it: no key of it is that of node_defaults. */
static void a_node_s_own_idle_gpu(void **state)
{
	struct conf *conf = parse(CTL PARTS
	        "node_defaults = { idle_gpu = { below = \"9%\"; action = \"end\"; };"
	        " prolog = \"/p\"; scrub = \"/s\"; scrub_timeout = \"5s\";"
	        " health_check = \"/h\"; health_check_timeout = \"4s\"; health_interval = \"2m\";"
	        " private_tmp = \"20G\"; kill_wait = \"5m\"; gpu_recheck = \"1m\";"
	        " spool_min_free = \"1G\"; };"
	        "nodes = ( { name = \"n[1-2]\"; prolog = \"\"; idle_gpu = { for = \"1h\"; }; },"
	        " { name = \"n3\"; epilog = \"/e\"; } );");
	const struct conf_node *n = conf->nodes;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_true(n[i].idle.given && n[i].idle.below_pct == 5 &&
		            n[i].idle.for_s == 3600 && n[i].idle.action == CONF_IDLE_NOTE);
	assert_true(
	        n[2].idle.given && n[2].idle.below_pct == 9 && n[2].idle.action == CONF_IDLE_END);
	assert_string_equal(n[0].agent.programs[PROGRAM_PROLOG].path, "");
	assert_string_equal(n[2].agent.programs[PROGRAM_PROLOG].path, "/p");
	assert_string_equal(n[2].agent.programs[PROGRAM_EPILOG].path, "/e");
	assert_string_equal(n[0].agent.programs[PROGRAM_SCRUB].path, "/s");
	assert_int_equal(n[0].agent.programs[PROGRAM_SCRUB].timeout_ms, 5000);
	assert_string_equal(n[0].agent.programs[PROGRAM_HEALTH].path, "/h");
	assert_int_equal(n[0].agent.programs[PROGRAM_HEALTH].timeout_ms, 4000);
	assert_int_equal(n[0].agent.health_interval_s, 120);
	assert_int_equal(n[0].agent.private_tmp_mb, 20480);
	assert_int_equal(n[0].agent.kill_wait_ms, 300000);
	assert_int_equal(n[0].agent.gpu_recheck_ms, 60000);
	assert_int_equal(n[0].agent.spool_min_free_mb, 1024);
	conf_free(conf);
}

/* --- comparing ------------------------------------------------------------------------------- */

static void diffs(void **state)
{
#define C(keys)     "cluster = \"c\"; controller = { host = \"h\"; " keys " };\n"
#define T(types)    "gpu_types = ( " types " );\n"
#define N(nodes)    "nodes = ( " nodes " );\n"
#define P(parts)    "partitions = ( " parts " );\n"
#define BATCH(keys) "{ name = \"batch\"; nodes = \"n[1-4]\"; " keys " }"
#define H100        "{ name = \"h100\"; }"
#define L40S        "{ name = \"l40s\"; }"
	static const struct {
		const char *from, *to, *lines;
	} rows[] = {
		{ CTL NODES PARTS, CTL NODES PARTS, "" },
		{ C("") NODES PARTS, C("log_level = \"debug\"; max_jobs = 7;") NODES PARTS,
		        "controller.log_level info -> debug\ncontroller.max_jobs 1000000 -> 7\n" },
		{ C("fence = \"/f\";") NODES PARTS, C("") NODES PARTS,
		        "controller.fence /f -> \"\"\n" },
		{ CTL NODES P(BATCH("max_time = \"2-00:00:00\";")),
		        CTL NODES P(BATCH("max_time = \"1d\";")),
		        "partitions.batch.max_time 2-00:00:00 -> 1-00:00:00\n" },
		{ CTL NODES P(BATCH("")), CTL NODES P(BATCH("max_time = \"90s\"; default = true;")),
		        "partitions.batch.default false -> true\n"
		        "partitions.batch.max_time unlimited -> 90s\n" },
		/* Written otherwise, and the same. */
		{ CTL NODES P(BATCH("grace = \"120s\";")),
		        CTL "nodes = ( { name = \"n[3-4]\"; }, { name = \"n1,n2\"; } );\n"
		            "partitions = ( { name = \"batch\"; nodes = \"ALL\"; grace = \"2m\"; } "
		            ");\n",
		        "" },
		/* The order of entries says nothing. */
		{ CTL NODES P(BATCH("") ", { name = \"q\"; nodes = \"n1\"; }"),
		        CTL NODES P("{ name = \"q\"; nodes = \"n1\"; }, " BATCH("")), "" },
		{ CTL NODES P(BATCH("")), CTL NODES P("{ name = \"q\"; nodes = \"n1\"; }"),
		        "partitions.batch removed\npartitions.q added\n" },
		/* Nodes with one change share a line. */
		{ CTL NODES PARTS, CTL N("{ name = \"n[1-4]\"; cpus = 8; }") PARTS,
		        "nodes.n[1-4].cpus 0 -> 8\n" },
		{ CTL NODES PARTS,
		        CTL N("{ name = \"n[1-2]\"; cpus = 8; }, { name = \"n[3-6]\"; mem = "
		              "\"1G\"; }") PARTS,
		        "nodes.n[5-6] added\nnodes.n[1-2].cpus 0 -> 8\nnodes.n[3-4].mem 0 -> 1G\n"
		        "partitions.p.nodes n[1-4] -> n[1-6]\n" },
		{ CTL NODES PARTS, CTL N("{ name = \"n[2-3]\"; }") PARTS,
		        "nodes.n[1,4] removed\npartitions.p.nodes n[1-4] -> n[2-3]\n" },
		/* GPU types by name, wherever they stand. */
		{ CTL T(H100 ", " L40S) N("{ name = \"n[1-4]\"; gpus = \"l40s:2\"; }") PARTS,
		        CTL T(L40S ", " H100) N("{ name = \"n[1-4]\"; gpus = \"l40s:2\"; }") PARTS,
		        "" },
		{ CTL T(H100) N("{ name = \"n[1-4]\"; gpus = \"h100:2\"; }") PARTS,
		        CTL T(L40S) N("{ name = \"n[1-4]\"; gpus = \"l40s:2\"; }") PARTS,
		        "gpu_types.h100 removed\ngpu_types.l40s added\n"
		        "nodes.n[1-4].gpus h100:2 -> l40s:2\n" },
		{ CTL T(H100) NODES PARTS, CTL NODES PARTS, "gpu_types.h100 removed\n" },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct conf *from = parse(rows[i].from), *to = parse(rows[i].to);
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
		assert_string_equal(all.s, rows[i].lines);
		strbuf_free(&all);
		conf_free(from);
		conf_free(to);
	}
}

static void diff_names_all_that_is_fixed(void **state)
{
	struct conf *from = parse(CTL NODES PARTS);
	struct conf *to = parse("cluster = \"d\"; controller = { host = \"h\"; port = 1; "
	                        "log_level = \"debug\"; };\n" NODES PARTS);
	struct error err;
	char **lines = NULL;

	(void)state;
	assert_int_equal(conf_diff(from, to, &lines, &err), -1);
	assert_null(lines);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_string_equal(err.text, "cannot be changed while gctld runs: cluster c -> d, "
	                              "controller.port 7320 -> 1");
	conf_free(from);
	conf_free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sound),
		cmocka_unit_test(defaults),
		cmocka_unit_test(values),
		cmocka_unit_test(print_is_read_back),
		cmocka_unit_test(mig),
		cmocka_unit_test(keys_are_listed),
		cmocka_unit_test(the_manual_has_every_key),
		cmocka_unit_test(examples_are_right),
		cmocka_unit_test(printed_ones_are_right),
		cmocka_unit_test(printed_ones_are_given_back),
		cmocka_unit_test(a_node_s_own_idle_gpu),
		cmocka_unit_test(diffs),
		cmocka_unit_test(diff_names_all_that_is_fixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
