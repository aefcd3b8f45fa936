/* test_roles.c - rights: every verb for every role, by hand; and that the core does so */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/accounts/roles.h"
#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

/* --- the whole truth ------------------------------------------------------------------------- */

/* A letter for each who may: any User, the Owner, a Coordinator, an operator (P), an Administrator,
 * an aGent, a Web user. */
static const struct {
	enum verb verb;
	const char *who;
} truth[] = {
	{ VERB_LOOK, "UW" },
	{ VERB_SUBMIT, "UW" },
	{ VERB_LIST, "UW" },
	{ VERB_LOOK_AS, "AW" },
	{ VERB_ASK, "U" },
	{ VERB_RECONFIGURE, "A" },
	{ VERB_SHUTDOWN, "A" },
	{ VERB_BACKUP, "A" },
	{ VERB_ARCHIVE, "A" },
	{ VERB_NODE, "PA" },
	{ VERB_PARTITION, "PA" },
	{ VERB_AGENT, "G" },
	{ VERB_OUTPUT, "UW" },
	{ VERB_STREAM, "UWG" },
	{ VERB_JOB_SEE, "OCPAW" },
	{ VERB_JOB_CANCEL, "OCPA" },
	{ VERB_JOB_HOLD, "OCPA" },
	{ VERB_JOB_RELEASE, "OCPA" },
	{ VERB_JOB_SIGNAL, "OPA" },
	{ VERB_JOB_REQUEUE, "OCPA" },
	{ VERB_JOB_SUSPEND, "OPA" },
	{ VERB_JOB_RESUME, "OPA" },
	{ VERB_JOB_RANK, "OCPA" },
	{ VERB_JOB_UPDATE, "OPA" },
	{ VERB_JOB_LONGER, "PA" },
	{ VERB_JOB_STEPS, "OPA" },
	{ VERB_JOB_RESIGN, "O" },
	{ VERB_JOB_RELEASE_COORDINATOR, "CPA" },
	{ VERB_JOB_RELEASE_ADMIN, "PA" },
	{ VERB_JOB_OUTPUT, "OA" },
	{ VERB_JOB_SCRIPT, "OA" },
	{ VERB_JOB_EVENTS, "OCPA" },
	{ VERB_EVENTS, "PA" },
	{ VERB_BUDGETS, "PA" },
	{ VERB_BOOST, "PA" },
	{ VERB_ANY_ACCOUNT, "PA" },
};
#define N_TRUTH (sizeof(truth) / sizeof(truth[0]))

static const struct {
	char letter;
	enum standing as;
} letters[] = {
	{ 'U', AS_USER },
	{ 'O', AS_OWNER },
	{ 'C', AS_COORDINATOR },
	{ 'P', AS_OPERATOR },
	{ 'A', AS_ADMIN },
	{ 'G', AS_AGENT },
	{ 'W', AS_WEB },
};
#define N_LETTERS (sizeof(letters) / sizeof(letters[0]))

static const char *who_may(enum verb verb)
{
	for (size_t i = 0; i < N_TRUTH; i++)
		if (truth[i].verb == verb)
			return truth[i].who;
	fail_msg("%s has no row here", verb_name(verb));
	return NULL;
}

static void every_verb(void **state)
{
	(void)state;
	assert_int_equal(N_TRUTH, VERB_COUNT);
	for (int v = 0; v < VERB_COUNT; v++) {
		const char *who = who_may((enum verb)v);

		for (size_t i = 0; i < N_LETTERS; i++) {
			bool may = verb_permits((enum verb)v, letters[i].as);

			if (may != (strchr(who, letters[i].letter) != NULL))
				fail_msg("%s: %c", verb_name((enum verb)v), letters[i].letter);
		}
		assert_false(verb_permits((enum verb)v, 0));
	}
}

static void errors_say_who(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(verb_refuse(VERB_JOB_CANCEL, &err), -1);
	assert_int_equal(err.code, ERR_NOT_PERMITTED);
	assert_string_equal(err.text,
	        "only its owner, a coordinator of its account, an operator or an administrator "
	        "may cancel it");
	verb_refuse(VERB_RECONFIGURE, &err);
	assert_string_equal(
	        err.text, "only an administrator may have the configuration read again");
}

/* --- a cluster of all kinds of people -------------------------------------------------------- */

#define NODES                                                                                   \
	"cluster = \"test\"; controller = { host = \"h\"; };\n"                                 \
	"gpu_types = ( { name = \"h100\"; } );\n"                                               \
	"nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:2\"; } );\n"     \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; },\n"              \
	"  { name = \"other\"; nodes = \"ALL\"; } );\n"                                         \
	"accounts = ( { name = \"lab\"; coordinators = [ \"prof\" ]; members = [ \"*\" ]; },\n" \
	"  { name = \"red\"; parent = \"lab\"; coordinators = [ \"@heads\" ]; members = [ "     \
	"\"ana\" ]; },\n"                                                                       \
	"  { name = \"blue\"; parent = \"lab\"; coordinators = [ \"zoe\" ]; } );\n"

#define ROLES "roles = { admins = [ \"adm\", \"@wheel\" ]; operators = [ \"op\", \"@oncall\" ]; " \
	"web_users = [ \"www\", \"@web\", \"ana2\" ]; "

static const char open_conf[] = NODES ROLES "};\n";
static const char private_conf[] = NODES ROLES "private_data = [ \"jobs\" ]; };\n";

#define ANA 1000 /* the owner of all jobs */

static const struct person {
	const char *name, *group;
	uint32_t uid;
	const char *to_ana; /* how he stands to a job of hers in red, as in the truth */
} people[] = {
	{ "ana", "", ANA, "UO" }, { "bob", "users", 1001, "U" },
	{ "zoe", "", 1002, "U" }, /* coordinates another account */
	{ "prof", "", 1003, "UC" }, { "head", "heads", 1004, "UC" }, { "op", "", 1005, "UP" },
	{ "pat", "oncall", 1006, "UP" }, { "adm", "", 1007, "UA" },
	{ "root2", "wheel", 1008, "UA" },
	{ "wheel", "", 1009, "U" },   /* a name that is that of a group */
	{ "@wheel", "", 1010, "UA" }, /* no login name can be that; if one is, it is listed */
	{ "www", "", 1011, "W" }, { "gweb", "web", 1012, "W" },
	{ "www", "heads", 1013, "W" }, /* who coordinates does not, as a web user */
	{ "ana2", "", ANA, "W" },      /* nor does its owner */
	{ "op", "web", 1014, "UP" },
};
#define N_PEOPLE (sizeof(people) / sizeof(people[0]))

/* Its groups are good until the next call. */
static struct caller caller_of(const struct world *w, const struct person *p)
{
	static const char *groups[2] = { "everybody" };
	struct caller c = { .reply = 77, .uid = p->uid, .user = p->name, .host = "login1" };

	groups[1] = p->group;
	c.groups = groups;
	c.n_groups = 2;
	c.role = role_of(w->conf, &c);
	return c;
}

static bool may(const struct person *p, enum verb verb)
{
	return strpbrk(p->to_ana, who_may(verb)) != NULL;
}

static void who_stands_how(void **state)
{
	struct world *w = world_new(open_conf);

	(void)state;
	for (size_t i = 0; i < N_PEOPLE; i++) {
		struct caller c = caller_of(w, &people[i]);
		unsigned as = standing_to_named(w->conf, &c, ANA, "red"), want = 0;

		for (size_t k = 0; k < N_LETTERS; k++)
			if (strchr(people[i].to_ana, letters[k].letter))
				want |= letters[k].as;
		if (as != want)
			fail_msg("%s: %x, not %x", people[i].name, as, want);
		/* Nobody coordinates what is not configured. */
		assert_false(standing_to_named(w->conf, &c, ANA, "gone") & AS_COORDINATOR);
	}
	world_free(w);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static uint64_t anas_job(struct world *w, bool hold)
{
	struct submit_job job = world_job(w, "h100:1");
	struct core_event e = { .kind = EV_SUBMIT, .submit = { .jobs = &job, .n = 1 } };

	job.account = "red";
	job.hold = hold;
	e.caller = caller_of(w, &people[0]);
	w->n_ids = 0;
	world_apply(w, &e);
	world_schedule(w);
	assert_int_equal(w->n_ids, 1);
	return w->ids[0];
}

struct deed {
	enum job_verb verb;
	uint64_t fields;
	struct submit_job change;
};

static uint32_t perform(
        struct world *w, const struct person *p, const struct deed *deed, uint64_t id)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = caller_of(w, p),
		.job = { .verb = deed->verb,
		        .ids = &id,
		        .n = 1,
		        .reason = "",
		        .signal = 10,
		        .fields = deed->fields,
		        .change = &deed->change } };

	w->error = (struct error){ 0 };
	world_apply(w, &e);
	world_schedule(w);
	return w->done;
}

static void expect(const struct world *w, const struct person *p, enum verb verb, bool hidden)
{
	int want = may(p, verb) ? 0 : hidden ? ERR_NO_JOB : ERR_NOT_PERMITTED;

	if (want ? w->error.code != want
	         : w->error.code == ERR_NOT_PERMITTED || w->error.code == ERR_NO_JOB)
		fail_msg("%s, %s: %d (%s)", verb_name(verb), p->name, w->error.code, w->error.text);
}

/* Each verb on jobs there is, by everybody, on a job that waits and one that runs. */
static void jobs_of(const char *conf)
{
	bool private = conf == private_conf;

	for (int v = 1; verb_of_job((enum job_verb)v) != VERB_COUNT; v++)
		for (size_t i = 0; i < 2 * N_PEOPLE; i++) {
			const struct person *p = &people[i / 2];
			struct world *w = world_new(conf);
			struct deed deed = { .verb = (enum job_verb)v, .fields = UPDATE_CPUS };
			uint64_t id;

			deed.change.cpus = 2;
			world_register_all(w);
			id = anas_job(w, i % 2);
			if (i % 2 == 0)
				world_run_starts(w, id);
			perform(w, p, &deed, id);
			expect(w, p, verb_of_job(deed.verb), private && !may(p, VERB_JOB_SEE));
			world_free(w);
		}
}

static void every_verb_on_jobs(void **state)
{
	(void)state;
	jobs_of(open_conf);
	jobs_of(private_conf);
}

static void updates(void **state)
{
	static const struct {
		struct deed deed;
		enum verb verb;
	} rows[] = {
		{ { JOB_UPDATE, UPDATE_NICE, { .nice = 5 } }, VERB_JOB_RANK },
		{ { JOB_UPDATE, UPDATE_PARTITION, { .partition = "other" } }, VERB_JOB_RANK },
		{ { JOB_UPDATE, UPDATE_QOS, { .qos = "" } }, VERB_JOB_RANK },
		{ { JOB_UPDATE, UPDATE_NICE | UPDATE_CPUS, { .cpus = 1 } }, VERB_JOB_UPDATE },
		{ { JOB_UPDATE, UPDATE_ACCOUNT, { .account = "lab" } }, VERB_JOB_UPDATE },
		{ { JOB_UPDATE, UPDATE_REMARK, { .remark = "x" } }, VERB_JOB_UPDATE },
		{ { JOB_UPDATE, UPDATE_NICE, { .nice = -5 } }, VERB_BOOST },
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
		for (size_t i = 0; i < N_PEOPLE; i++) {
			struct world *w = world_new(open_conf);
			uint64_t id = anas_job(w, true);

			perform(w, &people[i], &rows[r].deed, id);
			expect(w, &people[i], rows[r].verb, false);
			if (may(&people[i], rows[r].verb) && w->error.code)
				fail_msg("row %zu, %s: %s", r, people[i].name, w->error.text);
			world_free(w);
		}
}

/* Who holds a job is released by those as high and higher; nobody's hold replaces a higher one. */
static void holds(void **state)
{
	static const struct deed hold = { .verb = JOB_HOLD }, release = { .verb = JOB_RELEASE };
	static const size_t who[] = { 0, 3, 5, 7 }; /* owner, coordinator, operator, admin */
	static const unsigned level[] = { 0, 1, 2, 2 };

	(void)state;
	for (size_t first = 0; first < 4; first++)
		for (size_t then = 0; then < 4; then++)
			for (size_t third = 0; third < 4; third++) {
				struct world *w = world_new(open_conf);
				uint64_t id = anas_job(w, false);
				unsigned high =
				        level[first] > level[then] ? level[first] : level[then];
				bool gone;

				perform(w, &people[who[first]], &hold, id);
				perform(w, &people[who[then]], &hold, id);
				assert_string_equal(
				        world_reason(w, id), high ? "JobHeldAdmin" : "JobHeldUser");
				world_seal(w);
				world_restart(w);
				perform(w, &people[who[third]], &release, id);
				gone = strncmp(world_reason(w, id), "JobHeld", 7) != 0;
				assert_int_equal(gone, level[third] >= high);
				assert_int_equal(w->error.code,
				        level[third] >= high ? 0 : ERR_NOT_PERMITTED);
				world_free(w);
			}
}

static void waits_for_others_jobs(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * N_PEOPLE; i++) {
		const struct person *p = &people[i / 2];
		struct world *w = world_new(i % 2 ? private_conf : open_conf);
		struct core_event e = { .kind = EV_WAIT_JOB };
		int want;

		e.wait = anas_job(w, true);
		e.caller = caller_of(w, p);
		w->error = (struct error){ 0 };
		world_apply(w, &e);
		want = i % 2 && !may(p, VERB_JOB_SEE) ? ERR_NO_JOB : 0;
		if (w->error.code != want)
			fail_msg("%s: %d (%s)", p->name, w->error.code, w->error.text);
		world_free(w);
	}
}

/* --- what is no job -------------------------------------------------------------------------- */

static void nodes_and_partitions(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_PEOPLE; i++) {
		struct world *w = world_new(open_conf);
		struct core_event e = { .kind = EV_NODE_CONTROL };
		uint32_t node = 0;

		e.caller = caller_of(w, &people[i]);
		e.node.nodes = &node;
		e.node.n = 1;
		e.node.reason = "x";
		for (int v = NODE_DRAIN; v <= NODE_CLEAR; v++) {
			e.node.verb = (enum node_verb)v;
			world_apply(w, &e);
			expect(w, &people[i], VERB_NODE, false);
		}
		e = (struct core_event){ .kind = EV_PARTITION_CONTROL };
		e.caller = caller_of(w, &people[i]);
		e.partition.reason = "x";
		world_apply(w, &e);
		expect(w, &people[i], VERB_PARTITION, false);
		world_free(w);
	}
}

static void submits(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_PEOPLE; i++) {
		struct world *w = world_new(open_conf);
		struct submit_job job = world_job(w, "");
		struct core_event e = { .kind = EV_SUBMIT, .submit = { .jobs = &job, .n = 1 } };

		e.caller = caller_of(w, &people[i]);
		job.nice = -1;
		world_apply(w, &e);
		assert_int_equal(
		        w->error.code, may(&people[i], VERB_BOOST) ? 0 : ERR_NOT_PERMITTED);
		job = world_job(w, "");
		job.account = "blue"; /* has no members */
		w->error = (struct error){ 0 };
		world_apply(w, &e);
		assert_int_equal(
		        w->error.code, may(&people[i], VERB_ANY_ACCOUNT) ? 0 : ERR_ACCOUNT_MEMBER);
		world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_verb),
		cmocka_unit_test(errors_say_who),
		cmocka_unit_test(who_stands_how),
		cmocka_unit_test(every_verb_on_jobs),
		cmocka_unit_test(updates),
		cmocka_unit_test(holds),
		cmocka_unit_test(waits_for_others_jobs),
		cmocka_unit_test(nodes_and_partitions),
		cmocka_unit_test(submits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
