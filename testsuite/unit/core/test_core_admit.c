/* test_core_admit.c - which account, QOS and partition a job gets, and what is refused */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/core_world.h"

#define HEAD                                                                                      \
	"cluster = \"test\"; controller = { host = \"h\"; };\n"                                   \
	"gpu_types = ( { name = \"h100\"; mem = \"80G\"; }, { name = \"l40s\"; mem = \"48G\"; } " \
	");\n"                                                                                    \
	"nodes = ( { name = \"n[0-3]\"; cpus = 64; mem = \"512G\"; gpus = \"h100:8\"; },\n"       \
	"  { name = \"s[0-3]\"; cpus = 64; mem = \"512G\"; gpus = \"l40s:8\"; } );\n"

#define PARTITIONS                                                                                \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;\n"                   \
	"    max_time = \"2-00:00:00\"; default_time = \"8:00:00\"; per_user = { queued = 3; }; " \
	"},\n"                                                                                    \
	"  { name = \"gpu\"; nodes = \"ALL\"; require_gpu = true; accounts = [ \"research\" ];\n" \
	"    per_gpu = { cpus = 7; mem = \"32G\"; }; per_job_min = { gpus = \"any:2\"; }; },\n"   \
	"  { name = \"old\"; nodes = \"ALL\"; state = \"drain\"; },\n"                            \
	"  { name = \"off\"; nodes = \"ALL\"; state = \"inactive\"; },\n"                         \
	"  { name = \"down\"; nodes = \"ALL\"; state = \"down\"; } );\n"

#define ACCOUNTS                                                                                 \
	"accounts = ( { name = \"serving\"; members = [ \"@serving\", \"deploy\" ]; },\n"        \
	"  { name = \"research\"; members = [ \"pi\" ]; required_labels = [ \"grant\" ]; },\n"   \
	"  { name = \"vision\"; parent = \"research\"; members = [ \"@vision\" ];\n"             \
	"    limits = { gpus = \"h100:8\"; }; per_job = { gpus = \"h100:4\"; cpus = 32; }; },\n" \
	"  { name = \"guest\"; members = [ \"eve\" ]; required_labels = [ \"project\" ];\n"      \
	"    per_user = { time = \"1:00:00\"; }; } );\n"

#define QOS                                                           \
	"qos = ( { name = \"normal\"; default = true; },\n"           \
	"  { name = \"production\"; accounts = [ \"serving\" ]; },\n" \
	"  { name = \"quick\"; per_job = { time = \"30m\"; }; } );\n"

static const char with_default[] = HEAD PARTITIONS ACCOUNTS QOS "default_account = \"guest\";\n";
static const char without_default[] = HEAD PARTITIONS ACCOUNTS QOS;

static const struct label labels[] = { { "grant", "x7" }, { "project", "one" } };

/* Who asks: name, group ("" none). */
struct who {
	const char *user, *group;
	bool admin;
};

static const struct who ana = { "ana", "vision", false };

static uint64_t submit(struct world *w, const struct who *who, const struct submit_job *job)
{
	const char *const groups[] = { "users", who->group };
	struct core_event e = { .kind = EV_SUBMIT, .submit = { .jobs = job, .n = 1 } };

	e.caller = (struct caller){ .reply = 77,
		.uid = (uint32_t)who->user[0] * 256 + (uint32_t)who->user[1],
		.role = who->admin ? ROLE_ADMIN : ROLE_USER,
		.user = who->user,
		.host = "login1",
		.groups = groups,
		.n_groups = *who->group ? 2 : 1 };
	w->n_ids = 0;
	world_apply(w, &e);
	world_schedule(w);
	return w->n_ids ? w->ids[0] : 0;
}

static struct submit_job labelled(struct world *w, const char *gpus)
{
	struct submit_job job = world_job(w, gpus);

	job.labels = labels;
	job.n_labels = 2;
	return job;
}

static void refused(struct world *w, const char *name, const char *text, const char *hint)
{
	assert_string_equal(w->error.text, text);
	assert_string_equal(error_name(w->error.code), name);
	assert_string_equal(w->error.hint, hint);
}

static void which_account(void **state)
{
	static const struct {
		struct who who;
		const char *asked, *account; /* account "": refused: */
		const char *name, *text, *hint;
	} rows[] = {
		{ { "ana", "vision", false }, "", "vision", "", "", "" },
		{ { "ana", "vision", false }, "vision", "vision", "", "", "" },
		{ { "deploy", "vision", false }, "", "serving", "", "", "" },
		{ { "deploy", "vision", false }, "vision", "vision", "", "", "" },
		{ { "pi", "", false }, "", "research", "", "", "" },
		{ { "zoe", "", false }, "", "guest", "", "", "" },
		{ { "zoe", "", false }, "guest", "guest", "", "", "" },
		{ { "root", "", true }, "serving", "serving", "", "", "" },
		/* His membership above says nothing of what is below. */
		{ { "pi", "", false }, "vision", "", "account.member",
		        "--account=vision: pi is not a member of this account",
		        "accounts that you may use: research" },
		{ { "ana", "vision", false }, "guest", "", "account.member",
		        "--account=guest: ana is not a member of this account",
		        "accounts that you may use: vision" },
		{ { "zoe", "", false }, "serving", "", "account.member",
		        "--account=serving: zoe is not a member of this account",
		        "accounts that you may use: guest" },
		{ { "eve", "serving", false }, "visoin", "", "account.unknown",
		        "--account=visoin: there is no such account",
		        "accounts that you may use: serving, guest" },
		/* A group is a group and a user a user. */
		{ { "serving", "", false }, "serving", "", "account.member",
		        "--account=serving: serving is not a member of this account",
		        "accounts that you may use: guest" },
	};
	struct world *w = world_new(with_default);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct submit_job job = labelled(w, "h100:1");
		uint64_t id;

		job.account = rows[i].asked;
		id = submit(w, &rows[i].who, &job);
		if (*rows[i].account) {
			assert_int_not_equal(id, 0);
			assert_string_equal(world_view(w, id).account, rows[i].account);
		} else {
			assert_int_equal(id, 0);
			refused(w, rows[i].name, rows[i].text, rows[i].hint);
		}
	}
	world_free(w);
}

static void nobody_lists_him(void **state)
{
	struct world *w = world_new(without_default);
	const struct who zoe = { "zoe", "", false };
	struct submit_job job = labelled(w, "");
	uint64_t id;

	(void)state;
	assert_int_equal(submit(w, &zoe, &job), 0);
	refused(w, "account.member",
	        "no account lists zoe as a member, and there is no default account", "");
	job.account = "vision";
	assert_int_equal(submit(w, &zoe, &job), 0);
	refused(w, "account.member", "--account=vision: zoe is not a member of this account", "");
	world_free(w);
	/* Without accounts any name will do, and none too. */
	w = world_simple(1, "h100:1");
	job = world_job(w, "");
	job.account = "whatever";
	id = submit(w, &zoe, &job);
	assert_string_equal(world_view(w, id).account, "whatever");
	job = world_job(w, "");
	assert_string_equal(world_view(w, submit(w, &zoe, &job)).account, "");
	world_free(w);
}

static void required_labels(void **state)
{
	struct world *w = world_new(with_default);
	const struct who zoe = { "zoe", "", false };
	struct submit_job job = world_job(w, "h100:1");

	(void)state;
	assert_int_equal(submit(w, &zoe, &job), 0);
	refused(w, "account.labels", "account guest requires --label project=NAME", "");
	/* Those of the accounts above too. */
	assert_int_equal(submit(w, &ana, &job), 0);
	refused(w, "account.labels", "account research requires --label grant=NAME", "");
	job.labels = labels;
	job.n_labels = 1;
	assert_int_not_equal(submit(w, &ana, &job), 0);
	world_free(w);
}

static void which_qos(void **state)
{
	struct world *w = world_new(with_default);
	const struct who deploy = { "deploy", "", false };
	struct submit_job job = labelled(w, "h100:1");
	uint64_t id;

	(void)state;
	id = submit(w, &deploy, &job);
	assert_string_equal(world_view(w, id).qos, "normal");
	job = labelled(w, "h100:1");
	job.qos = "production";
	id = submit(w, &deploy, &job);
	assert_string_equal(world_view(w, id).qos, "production");
	assert_int_equal(submit(w, &ana, &job), 0);
	refused(w, "qos.account", "--qos=production: account vision may not use it",
	        "it is for the accounts serving");
	job.qos = "prodution";
	job.nonce[9] = 1;
	assert_int_equal(submit(w, &ana, &job), 0);
	refused(w, "qos.unknown", "--qos=prodution: there is no such QOS",
	        "QOS here: normal, production, quick");
	world_free(w);
}

static void which_partition(void **state)
{
	static const struct {
		const char *partition, *gpus, *name, *text, *hint;
	} rows[] = {
		{ "gpu", "", "partition.require_gpu",
		        "partition gpu is for jobs with GPUs: --gpus is missing", "" },
		{ "gpu", "h100:1", "limit.partition.gpus",
		        "any:1: partition gpu is for jobs of at least any:2", "" },
		{ "old", "h100:1", "partition.state",
		        "--partition=old: it takes no jobs, it is drained", "" },
		{ "off", "h100:1", "partition.state",
		        "--partition=off: it takes no jobs, it is inactive", "" },
	};
	struct world *w = world_new(with_default);
	const struct who deploy = { "deploy", "", false };
	struct submit_job job;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		job = labelled(w, rows[i].gpus);
		job.partition = rows[i].partition;
		assert_int_equal(submit(w, &ana, &job), 0);
		refused(w, rows[i].name, rows[i].text, rows[i].hint);
	}
	job = labelled(w, "h100:2");
	job.partition = "gpu";
	assert_int_equal(submit(w, &deploy, &job), 0);
	refused(w, "partition.account", "--partition=gpu: account serving may not use it",
	        "it is for the accounts research");
	/* vision is below research. */
	assert_int_not_equal(submit(w, &ana, &job), 0);
	/* One that is down takes jobs, and starts none. */
	job = labelled(w, "h100:1");
	job.partition = "down";
	assert_int_not_equal(submit(w, &deploy, &job), 0);
	world_free(w);
}

static void defaults(void **state)
{
	struct world *w = world_new(with_default);
	const struct who zoe = { "zoe", "", false };
	struct submit_job job = labelled(w, "h100:2|l40s:4");
	struct job_view v;

	(void)state;
	job.partition = "gpu";
	job.cpus = 0;
	v = world_view(w, submit(w, &ana, &job));
	assert_int_equal(v.cpus, 14);
	assert_int_equal(v.mem_mb, 64 * 1024);
	assert_string_equal(v.account, "vision");
	/* Of each node. */
	job = labelled(w, "h100:4");
	job.partition = "gpu";
	job.cpus = 0;
	job.nodes_min = 2;
	job.mem_mb = 5;
	v = world_view(w, submit(w, &ana, &job));
	assert_int_equal(v.cpus, 14);
	assert_int_equal(v.mem_mb, 5);
	/* The tightest time limit, if that is less than the partition's default. */
	job = labelled(w, "");
	assert_int_equal(world_view(w, submit(w, &zoe, &job)).time_limit_s, 3600);
	job = labelled(w, "");
	job.qos = "quick";
	assert_int_equal(world_view(w, submit(w, &zoe, &job)).time_limit_s, 1800);
	job = labelled(w, "");
	assert_int_equal(world_view(w, submit(w, &ana, &job)).time_limit_s, 8 * 3600);
	world_free(w);
}

static void limits(void **state)
{
	struct world *w = world_new(with_default);
	const struct who zoe = { "zoe", "", false };
	struct submit_job job = labelled(w, "h100:6");

	(void)state;
	assert_int_equal(submit(w, &ana, &job), 0);
	refused(w, "limit.account.gpus",
	        "h100:6: account vision allows at most h100:4 a job, so this job could never start",
	        "");
	/* With another alternative it could. */
	job = labelled(w, "h100:6|l40s:2");
	assert_int_not_equal(submit(w, &ana, &job), 0);
	job = labelled(w, "");
	job.cpus = 20;
	job.nodes_min = 2;
	assert_int_equal(submit(w, &ana, &job), 0);
	refused(w, "limit.account.cpus",
	        "40 CPUs: account vision allows at most 32 CPUs a job, so this job could never "
	        "start",
	        "");
	job = labelled(w, "");
	job.time_limit_s = 7200;
	assert_int_equal(submit(w, &zoe, &job), 0);
	refused(w, "limit.account.time",
	        "--time=2:00:00: account guest allows at most 1:00:00 a job", "");
	world_free(w);
}

static const char too_many[] =
        "partition batch has 3 jobs of yours that wait or run, and its limit is 3";

static void queued(void **state)
{
	struct world *w = world_new(with_default);
	const struct who zoe = { "zoe", "", false };
	struct submit_job jobs[4], job;
	struct core_event e = { .kind = EV_SUBMIT };
	uint64_t id[3];

	(void)state;
	world_register_all(w);
	for (int i = 0; i < 3; i++) {
		job = labelled(w, "");
		id[i] = submit(w, &ana, &job);
		assert_int_not_equal(id[i], 0);
	}
	job = labelled(w, "");
	assert_int_equal(submit(w, &ana, &job), 0);
	refused(w, "limit.partition.queued", too_many, "submit again when some of them have ended");
	assert_int_not_equal(submit(w, &zoe, &job), 0);
	/* After a start, and with another configuration, it is as before. */
	world_restart(w);
	world_register_all(w);
	job = labelled(w, "");
	assert_int_equal(submit(w, &ana, &job), 0);
	world_reconfigure(w, without_default);
	assert_int_equal(submit(w, &ana, &job), 0);
	refused(w, "limit.partition.queued", too_many, "submit again when some of them have ended");
	/* Elsewhere there is room; it may move there, and back when there is room here. */
	job.partition = "down";
	assert_int_not_equal(submit(w, &ana, &job), 0);
	assert_int_equal(world_control(w, world_admin(), JOB_CANCEL, id[0]), 1);
	job = labelled(w, "");
	assert_int_not_equal(submit(w, &ana, &job), 0);
	job = labelled(w, "");
	assert_int_equal(submit(w, &ana, &job), 0);
	/* Of one submit all or none, and those before it count. */
	for (int i = 0; i < 4; i++)
		jobs[i] = labelled(w, "");
	e.caller =
	        (struct caller){ .reply = 77, .uid = 1, .role = ROLE_ADMIN, .user = "pi", .host = "h" };
	e.submit.jobs = jobs;
	e.submit.n = 4;
	world_apply(w, &e);
	assert_string_equal(error_name(w->error.code), "limit.partition.queued");
	e.submit.test_only = true;
	e.submit.n = 3;
	w->n_ids = 0;
	world_apply(w, &e);
	e.submit.test_only = false;
	world_apply(w, &e);
	assert_int_equal(w->n_ids, 3);
	world_schedule(w);
	world_seal(w);
	world_free(w);
}

static uint32_t update(struct world *w, uint64_t id, const struct who *who, uint64_t fields,
        const struct submit_job *change)
{
	const char *const groups[] = { who->group };
	struct core_event e = { .kind = EV_JOB_CONTROL };

	e.caller = (struct caller){ .reply = 77,
		.uid = (uint32_t)who->user[0] * 256 + (uint32_t)who->user[1],
		.role = who->admin ? ROLE_ADMIN : ROLE_USER,
		.user = who->user,
		.host = "login1",
		.groups = groups,
		.n_groups = 1 };
	e.job.verb = JOB_UPDATE;
	e.job.ids = &id;
	e.job.n = 1;
	e.job.fields = fields;
	e.job.change = change;
	world_apply(w, &e);
	world_schedule(w);
	return w->done;
}

/* What is not changed is not judged again. */
static void updates(void **state)
{
	static const char changed[] = HEAD
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; state = "
	        "\"drain\";\n"
	        "    accounts = [ \"serving\" ]; }, { name = \"other\"; nodes = \"ALL\"; } );\n"
	        "accounts = ( { name = \"serving\"; members = [ \"@serving\" ]; },\n"
	        "  { name = \"vision\"; members = [ \"pi\" ]; } );\n";
	struct world *w = world_new(with_default);
	const struct who serving = { "ana", "serving", false }, root = { "root", "", true };
	struct submit_job job = labelled(w, "h100:2"), change = world_job(w, "");
	uint64_t id = submit(w, &ana, &job);

	(void)state;
	world_reconfigure(w, changed);
	change.time_limit_s = 600;
	assert_int_equal(update(w, id, &ana, UPDATE_TIME, &change), 1);
	assert_int_equal(world_view(w, id).time_limit_s, 600);
	assert_int_equal(update(w, id, &root, UPDATE_TIME, &change), 1);
	change.partition = "other";
	assert_int_equal(update(w, id, &ana, UPDATE_PARTITION, &change), 1);
	change.partition = "batch";
	assert_int_equal(update(w, id, &ana, UPDATE_PARTITION, &change), 0);
	assert_non_null(
	        strstr(w->error.text, "--partition=batch: it takes no jobs, it is drained"));
	change.account = "serving";
	assert_int_equal(update(w, id, &ana, UPDATE_ACCOUNT, &change), 0);
	assert_non_null(
	        strstr(w->error.text, "--account=serving: ana is not a member of this account"));
	assert_int_equal(update(w, id, &serving, UPDATE_ACCOUNT, &change), 1);
	assert_string_equal(world_view(w, id).account, "serving");
	world_seal(w);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_account),
		cmocka_unit_test(nobody_lists_him),
		cmocka_unit_test(required_labels),
		cmocka_unit_test(which_qos),
		cmocka_unit_test(which_partition),
		cmocka_unit_test(defaults),
		cmocka_unit_test(limits),
		cmocka_unit_test(queued),
		cmocka_unit_test(updates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
