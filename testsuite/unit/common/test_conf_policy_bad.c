/* test_conf_policy_bad.c - what accounts, QOS, limits and topology must not say, and every line
 * that is told of it
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/strbuf.h"
#include "common/conf/conf.h"
#include "testsuite/unit/lib/conf_told.h"

/* Lines 1 to 3 are right, and a partition with keys of the row's; the row starts with line 4. */
#define CTL     "cluster = \"c\"; controller = { host = \"h\"; };\n"
#define TYPES   "gpu_types = ( { name = \"h100\"; }, { name = \"l40s\"; } );\n"
#define NODES   "nodes = ( { name = \"n[1-4]\"; gpus = \"h100:8\"; } );\n"
#define PART(k) "partitions = ( { name = \"p\"; nodes = \"ALL\"; " k " } );\n"
#define ACCT(k) "accounts = ( { name = \"a\"; " k " } );\n"
#define QOS(k)  "qos = ( { name = \"q\"; " k " } );\n"
#define A(name, parent, quota) \
	"{ name = \"" name "\"; parent = \"" parent "\"; quota = { " quota " }; }"

static const struct conf_row rows[] = {
	/* groups */
	{ PART("") ACCT("limits = \"x\";"),
	        "c:5: accounts[0].limits: \"x\": must be a group: { ... }\n" },
	{ PART("") ACCT("limits = ( );"), "c:5: accounts[0].limits: must be a group: { ... }\n" },
	{ PART("") ACCT("quota = 5;"), "c:5: accounts[0].quota: 5: must be a group: { ... }\n" },
	{ PART("") ACCT("limits = { gpu = 1; };"),
	        "c:5: accounts[0].limits.gpu: unknown key; did you mean 'gpus'?\n" },
	{ PART("per_gpu = { cpu = 5; };"),
	        "c:4: partitions[0].per_gpu.cpu: unknown key; did you mean 'cpus'?\n" },
	{ PART("") ACCT("per_jobs = { };"),
	        "c:5: accounts[0].per_jobs: unknown key; did you mean 'per_job'?\n" },
	{ PART("") "priority = { weights = { fairshare = 1; }; };\n",
	        "c:5: priority.weights.fairshare: unknown key; did you mean 'fair_share'?\n" },
	{ PART("") "acounts = ( );\n", "c:5: acounts: unknown key; did you mean 'accounts'?\n" },
	{ PART("") "accounts = ( \"a\" ); licences = ( 5 ); topology = ( ( ) );\n",
	        "c:5: topology[0]: must be a group: { switch = \"...\"; }\n"
	        "c:5: accounts[0]: must be a group: { name = \"...\"; }\n"
	        "c:5: licences[0]: must be a group: { name = \"...\"; }\n" },
	{ PART("") "accounts = ( { } ); licences = ( { name = \"l\"; } ); qos = ( { } );\n",
	        "c:5: accounts[0].name: must be given\n"
	        "c:5: qos[0].name: must be given\n"
	        "c:5: licences[0].count: must be given\n" },
	/* keys of what is not there yet are unknown, not skipped */
	{ PART("") ACCT("sponsors = [ \"ana\" ];"),
	        "c:5: accounts[0].sponsors: unknown key; see gpusched.conf(5)\n" },
	/* lists of texts */
	{ PART("") ACCT("members = \"ana\";"),
	        "c:5: accounts[0].members: \"ana\": must be a list of "
	        "texts, as in [ \"a\", \"b\" ]\n" },
	{ PART("") ACCT("members = { };"),
	        "c:5: accounts[0].members: must be a list of texts, as in [ \"a\", \"b\" ]\n" },
	{ PART("") ACCT("members = [ 1, 2 ];"),
	        "c:5: accounts[0].members[0]: must be text in quotes\n"
	        "c:5: accounts[0].members[1]: must be text in quotes\n" },
	{ PART("") ACCT("members = ( [ \"x\" ], \"y\" );"),
	        "c:5: accounts[0].members[0]: must be text in quotes\n" },
	{ PART("") ACCT("members = [ \"ana\", \"bo\", \"ana\" ];"),
	        "c:5: accounts[0].members[2]: \"ana\": is in the list twice\n" },
	{ PART("") ACCT("members = [ \"\",\n\"j doe\", \"@\", \"**\", \"@*\", \"-x\", \"a\\n\" ];"),
	        "c:5: accounts[0].members[0]: \"\": must not be empty\n"
	        "c:6: accounts[0].members[1]: \"j doe\": must be a user, a Unix group as in "
	        "\"@staff\", or \"*\"\n"
	        "c:6: accounts[0].members[2]: \"@\": must be a user, a Unix group as in "
	        "\"@staff\", or "
	        "\"*\"\n"
	        "c:6: accounts[0].members[3]: \"**\": must be a user, a Unix group as in "
	        "\"@staff\", or "
	        "\"*\"\n"
	        "c:6: accounts[0].members[4]: \"@*\": must be a user, a Unix group as in "
	        "\"@staff\", or "
	        "\"*\"\n"
	        "c:6: accounts[0].members[5]: \"-x\": must be a user, a Unix group as in "
	        "\"@staff\", or "
	        "\"*\"\n"
	        "c:6: accounts[0].members[6]: \"a\\x0A\": must be UTF-8 text without control "
	        "characters\n" },
	{ PART("") ACCT("required_labels = [ \"a=b\" ];"),
	        "c:5: accounts[0].required_labels[0]: \"a=b\": must be letters, digits, '-', '_' "
	        "and "
	        "'.', a letter or digit first\n" },
	/* words */
	{ PART("state = \"UP\"; place = 5; preempt_mode = true;"),
	        "c:4: partitions[0].state: \"UP\": must be \"up\", \"drain\", \"down\" or "
	        "\"inactive\"\n"
	        "c:4: partitions[0].preempt_mode: true: must be \"off\", \"requeue\" or "
	        "\"cancel\"\n"
	        "c:4: partitions[0].place: 5: must be \"pack\" or \"spread\"\n" },
	{ PART("state = ( );"), "c:4: partitions[0].state: must be a word in quotes\n" },
	/* numbers */
	{ PART("") "prices = { cpu = -0.5; mem_gb = 1e7; currency = \"01234567890123456\"; };\n",
	        "c:5: prices.currency: \"01234567890123456\": 17 characters; at most 16\n"
	        "c:5: prices.cpu: -0.5: must be 0 to 1000000\n"
	        "c:5: prices.mem_gb: 1e7: must be 0 to 1000000\n" },
	{ PART("") "prices = { cpu = \"0.5\"; mem_gb = 1e999; };\n",
	        "c:5: prices.cpu: \"0.5\": must be a number, without quotes\n"
	        "c:5: prices.mem_gb: 1e999: must be 0 to 1000000\n" },
	{ PART("") "prices = { cpu = 5000000000; mem_gb = true; };\n",
	        "c:5: prices.cpu: 5000000000: must be 0 to 1000000\n"
	        "c:5: prices.mem_gb: true: must be a number, without quotes\n" },
	{ PART("") QOS("priority = 4294967196; usage_factor = 1001;"),
	        "c:5: qos[0].priority: 4294967196: must be -1000000 to 1000000\n"
	        "c:5: qos[0].usage_factor: 1001: must be 0 to 1000\n" },
	{ PART("") QOS("priority = -1000001; max_wait = \"0s\";"),
	        "c:5: qos[0].priority: -1000001: must be -1000000 to 1000000\n"
	        "c:5: qos[0].max_wait: \"0s\": must be 1s to 365-00:00:00, or none\n" },
	{ PART("") QOS("priority = 0.5;"),
	        "c:5: qos[0].priority: 0.5: must be a whole number, without quotes\n" },
	{ PART("") ACCT("shares = 0; quota = { weight = 0; };"),
	        "c:5: accounts[0].shares: 0: must be 1 to 1000000000\n"
	        "c:5: accounts[0].quota.weight: 0: must be 0.001 to 1000000\n" },
	{ PART("") "priority = { age_max = \"0s\"; half_life = \"0s\"; weights = { age = -1; }; "
	           "};\n",
	        "c:5: priority.weights.age: -1: must be 0 to 1000000000\n"
	        "c:5: priority.age_max: \"0s\": must be 1s to 3650-00:00:00\n"
	        "c:5: priority.half_life: \"0s\": must be 1s to 3650-00:00:00, or never\n" },
	/* limits: one that cannot be read is told of once */
	{ PART("per_job = { running = \"4\"; }; per_user = { gpus = 4; cpus = -1; time = 60; };"),
	        "c:4: partitions[0].per_user.gpus: 4: must be amounts in quotes, as in \"h100:8\"\n"
	        "c:4: partitions[0].per_user.cpus: -1: must be 0 to 1000000000\n"
	        "c:4: partitions[0].per_user.time: 60: needs a unit, as in \"60s\" or \"1m\"\n"
	        "c:4: partitions[0].per_job.running: \"4\": must be a whole number, without "
	        "quotes\n" },
	{ PART("limits = { gpus = \"h200:4\"; };") ACCT("limits = { gpus = \"h100\"; };"),
	        "c:4: partitions[0].limits.gpus: \"h200:4\": no GPU type 'h200'; did you mean "
	        "'h100'?\n"
	        "c:5: accounts[0].limits.gpus: \"h100\": must be TYPE:COUNT, as in \"h100:2\", or "
	        "a "
	        "number\n" },
	{ PART("limits = { gpus = \"any:1,4\"; };"),
	        "c:4: partitions[0].limits.gpus: \"any:1,4\": 'any': is there twice\n" },
	{ PART("limits = { gpus = \"h100:1000001\"; };"),
	        "c:4: partitions[0].limits.gpus: \"h100:1000001\": the count must be 0 to "
	        "1000000\n" },
	{ PART("limits = { gpu_hours = 500; };"),
	        "c:4: partitions[0].limits.gpu_hours: 500: must be "
	        "GPU-hours in quotes, as in \"500 / 30d\"\n" },
	{ PART("limits = { gpu_hours = \"500\"; };"),
	        "c:4: partitions[0].limits.gpu_hours: \"500\": must be GPU-hours / time, as in "
	        "\"500 / "
	        "30d\"\n" },
	{ PART("limits = { gpu_hours = \"500 / 30\"; };"),
	        "c:4: partitions[0].limits.gpu_hours: \"500 / 30\": needs a unit, as in \"30s\" or "
	        "\"30m\"\n" },
	{ PART("limits = { gpu_hours = \"5 / 59s\"; }; per_user = { gpu_hours = \"1 / unlimited\"; "
	       "};"),
	        "c:4: partitions[0].limits.gpu_hours: \"5 / 59s\": the time must be 60s to "
	        "365-00:00:00\n"
	        "c:4: partitions[0].per_user.gpu_hours: \"1 / unlimited\": the time must be 60s to "
	        "365-00:00:00\n" },
	{ PART("per_job = { running = 4; gpu_hours = \"5 / 1d\"; };")
	                ACCT("per_job = { queued = 1; };") QOS("per_job = { running = 0; };"),
	        "c:4: partitions[0].per_job.running: 4: says nothing of one job; limits and "
	        "per_user "
	        "can have it\n"
	        "c:4: partitions[0].per_job.gpu_hours: \"5 / 1-00:00:00\": says nothing of one "
	        "job; "
	        "limits and per_user can have it\n"
	        "c:5: accounts[0].per_job.queued: 1: says nothing of one job; limits and per_user "
	        "can "
	        "have it\n"
	        "c:6: qos[0].per_job.running: 0: says nothing of one job; limits and per_user can "
	        "have "
	        "it\n" },
	{ PART("per_job_min = { queued = 1; };"),
	        "c:4: partitions[0].per_job_min.queued: 1: says "
	        "nothing of one job; limits and per_user can have "
	        "it\n" },
	/* the least and the most */
	{ PART("per_job_min = { cpus = 8; mem = \"2G\"; gpu_mem = \"1G\"; nodes = 2; time = "
	       "\"2h\"; };\n"
	       "per_job = { cpus = 7; mem = \"1G\"; gpu_mem = \"0\"; nodes = 1; time = \"1h\"; };"),
	        "c:4: partitions[0].per_job_min.gpu_mem: 1G: more than per_job has, 0\n"
	        "c:4: partitions[0].per_job_min.cpus: 8: more than per_job has, 7\n"
	        "c:4: partitions[0].per_job_min.mem: 2G: more than per_job has, 1G\n"
	        "c:4: partitions[0].per_job_min.nodes: 2: more than per_job has, 1\n"
	        "c:4: partitions[0].per_job_min.time: 2:00:00: more than per_job has, 1:00:00\n" },
	{ PART("per_job_min = { gpus = \"h100:4,any:6\"; }; per_job = { gpus = "
	       "\"h100:3,any:5,l40s:0\"; "
	       "};"),
	        "c:4: partitions[0].per_job_min.gpus: h100:4: more than per_job has, h100:3\n"
	        "c:4: partitions[0].per_job_min.gpus: any:6: more than per_job has, any:5\n" },
	{ PART("per_job_min = { gpus = \"h100:4\"; }; per_job = { gpus = \"any:3\"; };"),
	        "c:4: partitions[0].per_job_min.gpus: h100:4: more than per_job has, any:3\n" },
	/* names that are not there */
	{ PART("accounts = [ \"reserch\", \"vision\" ];") "accounts = ( { name = \"research\"; } "
	                                                  ");\n" QOS(
	                                                          "accounts = [ \"zzz\" ]; "
	                                                          "preempts = [ \"p\", \"normal\" "
	                                                          "];") "default_account = "
	                                                                "\"x\";\n",
	        "c:4: partitions[0].accounts[0]: \"reserch\": not in accounts; did you mean "
	        "'research'?\n"
	        "c:4: partitions[0].accounts[1]: \"vision\": not in accounts\n"
	        "c:6: qos[0].preempts[0]: \"p\": not in qos\n"
	        "c:6: qos[0].preempts[1]: \"normal\": not in qos\n"
	        "c:6: qos[0].accounts[0]: \"zzz\": not in accounts\n"
	        "c:7: default_account: \"x\": not in accounts\n" },
	{ PART("accounts = [ \"a\" ];") "default_account = \"a\";\n",
	        "c:4: partitions[0].accounts[0]: \"a\": not in accounts\n"
	        "c:5: default_account: \"a\": not in accounts\n" },
	{ PART("") "accounts = ( { name = \"a\"; parent = \"b\"; }, { name = \"bb\"; parent = "
	           "\"aa\"; "
	           "} );\n",
	        "c:5: accounts[0].parent: \"b\": not in accounts\n"
	        "c:5: accounts[1].parent: \"aa\": not in accounts\n" },
	/* one that could not be read may be the one that is meant */
	{ PART("accounts = [ \"b\" ];") "accounts = ( { name = 5; }, { name = \"a\"; parent = "
	                                "\"b\"; } "
	                                ");\n",
	        "c:5: accounts[0].name: 5: must be text in quotes\n" },
	/* names twice, defaults twice */
	{ PART("") "accounts = ( { name = \"a\"; }, { name = \"b\"; },\n{ name = \"a\"; } );\n"
	           "qos = ( { name = \"q\"; default = true; }, { name = \"q\"; default = true; } "
	           ");\n"
	           "licences = ( { name = \"l\"; count = 1; }, { name = \"l\"; count = 1; } );\n"
	           "topology = ( { switch = \"s\"; nodes = \"n1\"; }, { switch = \"s\"; nodes = "
	           "\"n2\"; } );\n",
	        "c:6: accounts[2].name: \"a\": is also the name of accounts[0], line 5\n"
	        "c:7: qos[1].name: \"q\": is also the name of qos[0], line 7\n"
	        "c:7: qos[1].default: true: qos[0], line 7, is the default already\n"
	        "c:8: licences[1].name: \"l\": is also the name of licences[0], line 8\n"
	        "c:9: topology[1].switch: \"s\": is also the name of topology[0], line 9\n" },
	/* circles */
	{ PART("") "accounts = ( { name = \"a\"; parent = \"c\"; }, { name = \"b\"; parent = "
	           "\"a\"; },\n"
	           "{ name = \"c\"; parent = \"b\"; }, { name = \"d\"; parent = \"a\"; },\n"
	           "{ name = \"e\"; parent = \"e\"; } );\n",
	        "c:5: accounts[0].parent: a -> c -> b -> a: an account cannot be a part of itself\n"
	        "c:7: accounts[4].parent: e -> e: an account cannot be a part of itself\n" },
	{ PART("") "qos = ( { name = \"a\"; preempts = [ \"b\", \"d\" ]; }, { name = \"b\"; "
	           "preempts = [ "
	           "\"c\" ]; },\n{ name = \"c\"; preempts = [ \"d\", \"a\" ]; }, { name = \"d\"; "
	           "},\n"
	           "{ name = \"e\"; preempts = [ \"e\", \"a\" ]; } );\n",
	        "c:5: qos[0].preempts: a -> b -> c -> a: none may preempt itself, by others "
	        "neither\n"
	        "c:7: qos[4].preempts: e -> e: none may preempt itself, by others neither\n" },
	{ PART("") "topology = ( { switch = \"a\"; switches = [ \"b\" ]; }, { switch = \"b\"; "
	           "switches = "
	           "[ \"a\" ]; } );\n",
	        "c:5: topology[0].switches: a -> b -> a: a switch cannot be below itself\n" },
	/* quotas: within an account */
	{ PART("") ACCT("quota = { guaranteed = \"h100:8\"; lend = \"4\"; };"),
	        "c:5: accounts[0].quota.lend: any:4: more than the 0 guaranteed\n" },
	{ PART("") ACCT("quota = { guaranteed = \"any:8,l40s:5,h100:4\"; limit = \"any:8\"; };"),
	        "c:5: accounts[0].quota.limit: any:8: less than the 9 guaranteed by its quota\n"
	        "c:5: accounts[0].quota: l40s guaranteed to a = 5, the nodes have 0\n" },
	{ PART("") ACCT("quota = { guaranteed = \"h100:8\"; lend = \"h100:9,l40s:1\"; };"),
	        "c:5: accounts[0].quota.lend: h100:9: more than the 8 guaranteed\n"
	        "c:5: accounts[0].quota.lend: l40s:1: more than the 0 guaranteed\n" },
	{ PART("") ACCT("quota = { guaranteed = \"h100:8\";\nlimit = \"h100:7,any:7\"; }; limits = "
	                "{ gpus "
	                "= \"any:5\"; };"),
	        "c:6: accounts[0].quota.limit: h100:7: less than the 8 guaranteed by its quota\n"
	        "c:6: accounts[0].quota.limit: any:7: less than the 8 guaranteed by its quota\n"
	        "c:6: accounts[0].limits.gpus: any:5: less than the 8 guaranteed by its quota\n" },
	/* ... within its parent, whatever the order; places are those in the file */
	{ PART("") "accounts = ( " A("vision", "research", "guaranteed = \"h100:20\";") ",\n" A(
	          "research", "", "guaranteed = \"h100:32\";") ",\n" A("speech", "research",
	          "guaranteed = \"h100:20\";") " );\n",
	        "c:5: accounts[0].quota: h100 guaranteed to vision + speech = 40, research has "
	        "32\n" },
	/* ... which must have it itself */
	{ PART("") "accounts = ( " A("a", "", "guaranteed = \"h100:8\";") ", " A(
	          "b", "a", "") ",\n" A("c", "b", "guaranteed = \"h100:8,any:9\";") " );\n",
	        "c:6: accounts[2].quota: h100 guaranteed to c = 8, b has 0\n"
	        "c:6: accounts[2].quota: any guaranteed to c = 9, b has 0\n" },
	/* ... within the hardware; one whose guarantee is 0 is not named */
	{ PART("") "accounts = ( " A("z", "", "guaranteed = \"h100:0\";") ",\n" A("a", "",
	          "guaranteed = \"h100:30\";") ", " A("b", "", "guaranteed = \"h100:3\";") " );\n",
	        "c:6: accounts[1].quota: h100 guaranteed to a + b = 33, the nodes have 32\n" },
	{ PART("") "accounts = ( " A("a", "", "guaranteed = \"h100:30\";") ", " A(
	          "b", "", "guaranteed = \"any:3\";") " );\n",
	        "c:5: accounts[0].quota: any guaranteed to a + b = 33, the nodes have 32\n" },
	{ PART("") "accounts = ( " A("a", "", "guaranteed = \"l40s:1\";") " );\n",
	        "c:5: accounts[0].quota: l40s guaranteed to a = 1, the nodes have 0\n" },
	/* topology */
	{ PART("") "topology = ( { switch = \"a\"; nodes = \"n[1-3]\"; }, { switch = \"b\"; nodes "
	           "= "
	           "\"n4\"; },\n{ switch = \"c\"; nodes = \"n[2-5]\"; } );\n",
	        "c:6: topology[2].nodes: n5: not in nodes\n"
	        "c:6: topology[2].nodes: n[2-3]: already in topology[0], line 5\n"
	        "c:6: topology[2].nodes: n4: already in topology[1], line 5\n" },
	{ PART("") "topology = ( { switch = \"a\"; nodes = \"n[\"; }, { switch = \"b\"; },\n{ "
	           "switch = "
	           "\"c\"; switches = [ ]; },\n{ switch = \"d\"; nodes = \"n1\"; switches = [ "
	           "\"a\" ]; },\n"
	           "{ switch = \"e\"; switches = [ \"a\", \"g\" ]; } );\n",
	        "c:5: topology[0].nodes: \"n[\": '[': a '[' without its ']'\n"
	        "c:5: topology[1]: \"b\": must have nodes or switches\n"
	        "c:6: topology[2]: \"c\": must have nodes or switches\n"
	        "c:7: topology[3].switches: a switch with nodes is a leaf, and joins no others\n"
	        "c:8: topology[4].switches: a: already in topology[3], line 7\n"
	        "c:8: topology[4].switches[1]: \"g\": not in topology\n" },
	{ PART("") "topology = ( { switch = \"a\"; nodes = [ \"n1\" ]; } );\n",
	        "c:5: topology[0].nodes: must be text in quotes\n" },
};

static void every_row_is_told(void **state)
{
	(void)state;
	conf_rows_are_told(CTL TYPES NODES, rows, sizeof(rows) / sizeof(rows[0]));
}

/* The deepest tree that there may be, and one more. */
static void too_deep(void **state)
{
	struct strbuf text = { 0 };
	struct conf_problems problems;
	struct conf *conf;
	char *told;

	(void)state;
	strbuf_adds(&text, CTL TYPES NODES PART("") "accounts = ( { name = \"a0\"; }");
	for (int i = 1; i < CONF_MAX_ACCOUNT_DEPTH; i++)
		strbuf_addf(&text, ", { name = \"a%d\"; parent = \"a%d\"; }", i, i - 1);
	strbuf_adds(&text, " );\n");
	conf = conf_parse(text.s, "c", &problems);
	assert_non_null(conf);
	assert_int_equal(
	        conf->accounts[CONF_MAX_ACCOUNT_DEPTH - 1].depth, CONF_MAX_ACCOUNT_DEPTH - 1);
	conf_free(conf);
	conf_problems_clear(&problems);

	text.len -= strlen(" );\n");
	strbuf_addf(&text,
	        ", { name = \"x\"; parent = \"a%d\"; }, { name = \"y\"; parent = \"x\"; } );\n",
	        CONF_MAX_ACCOUNT_DEPTH - 1);
	told = conf_told(text.s);
	assert_string_equal(told,
	        "c:5: accounts[32].parent: \"a31\": more than 32 accounts within one "
	        "another\n");
	free(told);
	strbuf_free(&text);
}

/* A long list of names in one problem ends. */
static void names_end(void **state)
{
	struct strbuf text = { 0 };
	char *told;

	(void)state;
	strbuf_adds(&text, CTL TYPES NODES PART("") "accounts = ( ");
	for (int i = 0; i < 300; i++)
		strbuf_addf(&text, "%s{ name = \"a%d\"; quota = { guaranteed = \"h100:1\"; }; }",
		        i ? ", " : "", i);
	strbuf_adds(&text, " );\n");
	told = conf_told(text.s);
	assert_non_null(strstr(told, "h100 guaranteed to a0 + a1 + "));
	assert_non_null(strstr(told, " others = 300, the nodes have 32\n"));
	assert_true(strlen(told) < 400);
	free(told);
	text.len = 0;
	strbuf_adds(&text, CTL TYPES NODES PART("") "accounts = ( ");
	for (int i = 0; i < 300; i++)
		strbuf_addf(&text, "%s{ name = \"a%d\"; parent = \"a%d\"; }", i ? ", " : "", i,
		        (i + 1) % 300);
	strbuf_adds(&text, " );\n");
	told = conf_told(text.s);
	assert_non_null(strstr(told, "parent: a0 -> a1 -> "));
	assert_non_null(strstr(told, "-> ... -> a0: an account cannot be a part of itself\n"));
	assert_true(strlen(told) < 400);
	free(told);
	strbuf_free(&text);
}

static void too_many(void **state)
{
	static const struct {
		const char *section, *key, *more, *told;
		unsigned n;
	} cases[] = {
		{ "accounts", "name", "", "c:5: accounts: 4097 entries; at most 4096\n", 4097 },
		{ "qos", "name", "", "c:5: qos: 257 entries; at most 256\n", 257 },
		{ "licences", "name", "count = 1;", "c:5: licences: 257 entries; at most 256\n",
		        257 },
		{ "topology", "switch", "", "c:5: topology: 4097 entries; at most 4096\n", 4097 },
	};
	struct strbuf text = { 0 };
	char *told;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text.len = 0;
		strbuf_addf(&text, CTL TYPES NODES PART("") "%s = ( ", cases[i].section);
		for (unsigned e = 0; e < cases[i].n; e++)
			strbuf_addf(&text, "%s{ %s = \"x%u\"; %s }", e ? ", " : "", cases[i].key, e,
			        cases[i].more);
		strbuf_adds(&text, " );\n");
		told = conf_told(text.s);
		assert_string_equal(told, cases[i].told);
		free(told);
	}
	text.len = 0;
	strbuf_adds(&text, CTL TYPES NODES PART("") "accounts = ( { name = \"a\"; members = [ ");
	for (unsigned e = 0; e < 4097; e++)
		strbuf_addf(&text, "%s\"u%u\"", e ? ", " : "", e);
	strbuf_adds(&text, " ]; } );\n");
	told = conf_told(text.s);
	assert_string_equal(told, "c:5: accounts[0].members: 4097 entries; at most 4096\n");
	free(told);
	strbuf_free(&text);
}

/* A file with everything. */
static void cut_anywhere(void **state)
{
	FILE *in = fopen(TOP_SRCDIR "/etc/examples/policy.conf", "r");
	char text[8192];
	size_t size;

	(void)state;
	assert_non_null(in);
	size = fread(text, 1, sizeof(text), in);
	assert_true(feof(in) && size > 1000);
	fclose(in);
	conf_cut_anywhere(text, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_told),
		cmocka_unit_test(too_deep),
		cmocka_unit_test(names_end),
		cmocka_unit_test(too_many),
		cmocka_unit_test(cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
