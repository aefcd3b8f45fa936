/* test_drmaa.c - cmds/drmaa/: what is pure of it; testsuite/system/cmds/test_drmaa.py has the rest
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/drmaa/attribute_values.h"
#include "cmds/drmaa/drmaa.h"
#include "cmds/drmaa/error_diagnosis.h"
#include "cmds/drmaa/exit_stat.h"
#include "cmds/drmaa/job_template.h"
#include "cmds/drmaa/jobset.h"
#include "cmds/drmaa/jobspec.h"
#include "cmds/drmaa/native_spec.h"
#include "cmds/drmaa/string_vectors.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* --- values --------------------------------------------------------------------------------- */

static void moments(void **state)
{
	/* Now it is 2026-11-26 14:30:00 UTC, a Thursday. */
	const int64_t now = INT64_C(1795703400);
	static const struct {
		const char *text;
		int64_t s; /* 0: refused */
	} rows[] = {
		{ "2026/11/26 15:00 +00:00", 1795705200 },
		{ "2026/11/26 15:00:30+00:00", 1795705230 },
		{ "26/11/26 15:00", 1795705200 },
		{ "2026/11/26 15:00 +02:00", 1795698000 }, /* the past is the past */
		{ "2026/11/26 15:00 -01:30", 1795710600 },
		{ "15:00", 1795705200 },
		{ "14:00", 1795788000 }, /* tomorrow */
		{ " 14:30:00 ", 1795703400 },
		{ "27 14:00", 1795788000 },
		{ "25 14:00", 1798207200 }, /* of December */
		{ "12/25 14:00", 1798207200 },
		{ "11/25 14:00", 1827151200 }, /* of 2027 */
		{ "11/25 14:00 +00:00", 1827151200 },
		{ "", 0 },
		{ "soon", 0 },
		{ "24:00", 0 },
		{ "14:60", 0 },
		{ "14:30:61", 0 },
		{ "14", 0 },
		{ "0 14:30", 0 },
		{ "32 14:30", 0 },
		{ "13/01 14:30", 0 },
		{ "1/2026/11/26 14:30", 0 },
		{ "2026/11/26", 0 },
		{ "14:30 +2", 0 },
		{ "14:30 +15:00", 0 },
		{ "14:30 x", 0 },
		{ "20266/11/26 14:30", 0 },
		{ "-1:30", 0 },
	};

	(void)state;
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < LEN(rows); i++) {
		struct error err = { .code = ERR_NONE };
		int64_t us = -1;
		int rc = value_time(rows[i].text, now * 1000000, &us, &err);

		if (rc != (rows[i].s ? 0 : -1) || (!rc && us != rows[i].s * 1000000))
			fail_msg("'%s': %d, %lld", rows[i].text, rc, (long long)us / 1000000);
		assert_int_equal(err.code, rows[i].s ? ERR_NONE : ERR_USAGE);
	}
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		uint32_t s;
	} rows[] = {
		{ "90", 90 },
		{ "1:30", 90 },
		{ "2:00:00", 7200 },
		{ "0:90", 90 },
		{ "0", 0 },
		{ "", 0 },
		{ ":1", 0 },
		{ "1:", 0 },
		{ "1:2:3:4", 0 },
		{ "-1", 0 },
		{ "1h", 0 },
		{ "4294967295", 0 },
		{ "99999999:00:00", 0 },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		uint32_t s = 0;

		assert_int_equal(value_duration(rows[i].text, &s, NULL), rows[i].s ? 0 : -1);
		assert_int_equal(s, rows[i].s);
	}
}

static void paths(void **state)
{
	static const struct {
		const char *text;
		bool bulk;
		const char *want, *error;
	} rows[] = {
		{ ":/tmp/x", false, "/tmp/x", NULL },
		{ "/tmp/x", false, "/tmp/x", NULL },
		{ ":x/y", false, "x/y", NULL },
		{ "login1:/x", false, "/x", NULL },
		{ "LOGIN1.example.org:/x", false, "/x", NULL },
		{ "localhost:/x", false, "/x", NULL },
		{ ":$drmaa_hd_ph$/x", false, "/home/ana/x", NULL },
		{ ":$drmaa_wd_ph$/100%", false, "/data/100%%", NULL },
		{ ":x.$drmaa_incr_ph$.$drmaa_incr_ph$", true, "x.%a.%a", NULL },
		{ ":x.%a", true, "x.%%a", NULL },
		{ ":/x:y", false, "/x:y", NULL },
		{ "other:/x", false, NULL,
		        "files are on the node that runs the job, and not on 'other'" },
		{ ":", false, NULL, "the path is empty" },
		{ "", false, NULL, "the path is empty" },
		{ ":a\\b", false, NULL, "a backslash in the path" },
		{ ":$drmaa_incr_ph$", false, NULL,
		        "$drmaa_incr_ph$ stands for the index of a bulk, and this is a single "
		        "job" },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct value_places places = { "/home/ana", "/data", "login1.example.org",
			rows[i].bulk };
		struct error err = { .code = ERR_NONE };
		char *out = NULL;

		assert_int_equal(
		        value_path(rows[i].text, &places, &out, &err), rows[i].want ? 0 : -1);
		if (rows[i].want)
			assert_string_equal(out, rows[i].want);
		else
			assert_string_equal(err.text, rows[i].error);
		if (rows[i].want)
			free(out);
	}
}

static void folders(void **state)
{
	struct value_places bulk = { "/home/ana", "/data", "", true }, single = bulk;
	char *out, *script;

	(void)state;
	single.bulk = false;
	assert_int_equal(value_folder("$drmaa_hd_ph$/x", &single, &out, &script, NULL), 0);
	assert_string_equal(out, "/home/ana/x");
	assert_null(script);
	free(out);
	assert_int_equal(value_folder("/it's/$drmaa_incr_ph$/x", &bulk, &out, &script, NULL), 0);
	assert_string_equal(out, "/it's/$drmaa_incr_ph$/x");
	assert_string_equal(script, "cd -- '''/it'\\''s/'\"$GPUSCHED_ARRAY_TASK_ID\"'/x' || exit");
	free(out);
	free(script);
	assert_int_equal(value_folder("/$drmaa_incr_ph$", &single, &out, &script, NULL), -1);
	assert_int_equal(value_folder("relative", &single, &out, &script, NULL), -1);
}

static void words(void **state)
{
	static const struct {
		const char *text, *want; /* each word in <>; NULL: refused */
	} rows[] = {
		{ "", "" },
		{ "  a  b\tc\nd ", "<a><b><c><d>" },
		{ "'a b' \"c d\" e\\ f", "<a b><c d><e f>" },
		{ "'a\\b' \"c\\\"d\\e\" f\\\\", "<a\\b><c\"d\\e><f\\>" },
		{ "-J'x'\"y\"z ''", "<-Jxyz><>" },
		{ "a # b", "<a><#><b>" },
		{ "'open", NULL },
		{ "\"open", NULL },
		{ "end\\", NULL },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		char shown[128] = "";
		size_t n, used = 0;
		char **v = value_words(rows[i].text, &n, NULL);

		if (!rows[i].want) {
			assert_null(v);
			continue;
		}
		for (size_t k = 0; k < n; k++)
			used += (size_t)snprintf(shown + used, sizeof(shown) - used, "<%s>", v[k]);
		assert_string_equal(shown, rows[i].want);
		assert_null(v[n]);
		free(v);
	}
}

/* --- the native specification --------------------------------------------------------------- */

static void native(void **state)
{
	static const struct {
		const char *text, *error; /* NULL: accepted */
	} rows[] = {
		{ "", NULL },
		{ "-J x -G2 --mem=1G --time=0 --gpu-mem 20G -c 2 -H --job-n y", NULL },
		{ "--wckey=x --contiguous --tmp 0 --hold", NULL },
		{ "--dependency 12", NULL },
		{ "--nosuch", "'--nosuch': no such option" },
		{ "--mem-per", "'--mem-per': could be several options" },
		{ "-Z", "'-Z': no such option" },
		{ "word", "'word': no option" },
		{ "--", "'--': no option" },
		{ "--gpus", "--gpus: needs a value" },
		{ "--hold=yes", "--hold: takes no value" },
		{ "--wrap=x", "--wrap: only on a command line" },
		{ "--test-only", "--test-only: only on a command line" },
		{ "-W", "--wait: drmaa_wait() waits" },
		{ "--reservation=x", "--reservation: there are no reservations yet" },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct submit_options o;
		struct error err = { .code = ERR_NONE };
		int rc;

		options_init(&o);
		rc = native_apply(&o, rows[i].text, &err);
		assert_string_equal(err.text, rows[i].error ? rows[i].error : "");
		assert_int_equal(rc, rows[i].error ? -1 : 0);
		if (i == 1) {
			assert_string_equal(o.name, "y");
			assert_string_equal(o.gpus, "2");
			assert_true(o.hold);
			assert_int_equal(o.time_limit_s, UINT32_MAX);
		}
		options_clear(&o);
	}
}

/* --- templates ------------------------------------------------------------------------------ */

static void attributes(void **state)
{
	static const struct {
		const char *name, *value;
		int code;
	} rows[] = {
		{ DRMAA_REMOTE_COMMAND, "/bin/true", DRMAA_ERRNO_SUCCESS },
		{ DRMAA_JS_STATE, "drmaa_hold", DRMAA_ERRNO_SUCCESS },
		{ DRMAA_JS_STATE, "held", DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE },
		{ DRMAA_BLOCK_EMAIL, "2", DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE },
		{ DRMAA_JOIN_FILES, "yes", DRMAA_ERRNO_INVALID_ATTRIBUTE_VALUE },
		{ DRMAA_START_TIME, "then", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT },
		{ DRMAA_WCT_HLIMIT, "1:x", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT },
		{ DRMAA_NATIVE_SPECIFICATION, "'", DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT },
		{ DRMAA_TRANSFER_FILES, "ioe", DRMAA_ERRNO_INVALID_ARGUMENT },
		{ DRMAA_V_ARGV, "x", DRMAA_ERRNO_INVALID_ARGUMENT },
		{ "nosuch", "x", DRMAA_ERRNO_INVALID_ARGUMENT },
		{ NULL, "x", DRMAA_ERRNO_INVALID_ARGUMENT },
	};
	drmaa_job_template_t *jt = calloc(1, sizeof(*jt));
	const char *env[] = { "A=1", "B=2=3", NULL }, *wrong[] = { "A=1", "B", NULL };
	drmaa_attr_values_t *values = NULL;
	drmaa_attr_names_t *names = NULL;
	char text[64];
	size_t n;

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++)
		assert_int_equal(drmaa_set_attribute(jt, rows[i].name, rows[i].value, NULL, 0),
		        rows[i].code);
	assert_int_equal(drmaa_get_attribute(jt, DRMAA_JS_STATE, text, sizeof(text), NULL, 0), 0);
	assert_string_equal(text, "drmaa_hold");
	assert_int_equal(drmaa_set_attribute(jt, DRMAA_JS_STATE, "", NULL, 0), 0);
	assert_null(template_text(jt, ATTRIBUTE_JS_STATE));
	assert_int_equal(drmaa_set_vector_attribute(jt, DRMAA_V_ENV, env, NULL, 0), 0);
	assert_int_equal(drmaa_set_vector_attribute(jt, DRMAA_V_ENV, wrong, text, sizeof(text)),
	        DRMAA_ERRNO_INVALID_ATTRIBUTE_FORMAT);
	assert_string_equal(text, "drmaa_v_env=B: expected NAME=VALUE");
	assert_int_equal(drmaa_get_vector_attribute(jt, DRMAA_V_ENV, &values, NULL, 0), 0);
	assert_int_equal(drmaa_get_num_attr_values(values, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(drmaa_get_next_attr_value(values, text, sizeof(text)), 0);
	assert_int_equal(drmaa_get_next_attr_value(values, text, 4), 0);
	assert_string_equal(text, "B=2"); /* cut to fit */
	assert_int_equal(drmaa_get_next_attr_value(values, text, 4), DRMAA_ERRNO_NO_MORE_ELEMENTS);
	drmaa_release_attr_values(values);
	assert_int_equal(drmaa_get_vector_attribute_names(&names, NULL, 0), 0);
	assert_int_equal(drmaa_get_num_attr_names(names, &n), 0);
	assert_int_equal(n, 3);
	drmaa_release_attr_names(names);
	assert_int_equal(drmaa_delete_job_template(jt, NULL, 0), 0);
	assert_int_equal(drmaa_delete_job_template(NULL, NULL, 0), DRMAA_ERRNO_INVALID_ARGUMENT);
}

static void specs(void **state)
{
	drmaa_job_template_t *jt = calloc(1, sizeof(*jt));
	const char *argv[] = { "a b", "$x", NULL }, *env[] = { "HOME=/other", "NEW=1", NULL };
	struct jobspec job;
	char why[256];
	size_t homes = 0;

	(void)state;
	setenv("HOME", "/home/ana", 1);
	assert_int_equal(jobspec_make(&job, jt, NULL, (struct diagnosis){ why, sizeof(why) }),
	        DRMAA_ERRNO_CONFLICTING_ATTRIBUTE_VALUES);
	jobspec_clear(&job);
	drmaa_set_attribute(jt, DRMAA_REMOTE_COMMAND, "/opt/run it", NULL, 0);
	drmaa_set_attribute(jt, DRMAA_WD, "$drmaa_hd_ph$/w", NULL, 0);
	drmaa_set_attribute(jt, DRMAA_OUTPUT_PATH, ":$drmaa_wd_ph$/o", NULL, 0);
	drmaa_set_attribute(jt, DRMAA_ERROR_PATH, ":e", NULL, 0);
	drmaa_set_attribute(jt, DRMAA_WCT_HLIMIT, "10:00", NULL, 0);
	drmaa_set_attribute(jt, DRMAA_WCT_SLIMIT, "9:00", NULL, 0);
	drmaa_set_attribute(jt, DRMAA_NATIVE_SPECIFICATION, "-c 2 -n 2", NULL, 0);
	drmaa_set_vector_attribute(jt, DRMAA_V_ARGV, argv, NULL, 0);
	drmaa_set_vector_attribute(jt, DRMAA_V_ENV, env, NULL, 0);
	assert_int_equal(jobspec_make(&job, jt, "1-3", (struct diagnosis){ why, sizeof(why) }), 0);
	assert_string_equal(job.spec.script, "#!/bin/sh\nexec \"$@\"\n");
	assert_string_equal(job.spec.args[0], "/opt/run it");
	assert_string_equal(job.spec.args[2], "$x");
	assert_null(job.spec.args[3]);
	assert_string_equal(job.spec.name, "run it");
	assert_string_equal(job.spec.cwd, "/home/ana/w");
	assert_string_equal(job.spec.output, "/home/ana/w/o");
	assert_string_equal(job.spec.error, "e");
	assert_string_equal(job.spec.array, "1-3");
	assert_int_equal(job.spec.cpus, 4);
	assert_int_equal(job.spec.time_limit_s, 600);
	assert_int_equal(job.spec.warn_before_s, 60);
	assert_int_equal(job.spec.warn_signal, SIGUSR1);
	for (const char *const *e = job.spec.env; *e; e++)
		homes += !strncmp(*e, "HOME=", 5) && !strcmp(*e, "HOME=/other");
	assert_int_equal(homes, 1);
	jobspec_clear(&job);
	drmaa_delete_job_template(jt, NULL, 0);
}

/* --- sets of jobs --------------------------------------------------------------------------- */

static void sets(void **state)
{
	struct jobset set = { .v = NULL }, copy;
	struct jobset_message m;
	struct taskset tasks;
	uint64_t id;
	uint32_t task;
	char name[JOBSET_NAME];

	(void)state;
	assert_int_equal(jobset_parse("4812", &id, &task, NULL), 0);
	assert_int_equal(task, TASK_NONE);
	assert_int_equal(jobset_parse("4812_0", &id, &task, NULL), 0);
	assert_string_equal(jobset_name(name, id, task), "4812_0");
	assert_int_equal(jobset_parse("0", &id, &task, NULL), -1);
	assert_int_equal(jobset_parse("1_", &id, &task, NULL), -1);
	assert_int_equal(jobset_parse("_1", &id, &task, NULL), -1);
	assert_int_equal(jobset_parse("1_4000001", &id, &task, NULL), -1);

	jobset_add(&set, 1, TASK_NONE);
	assert_int_equal(taskset_parse("0-99999:2", &tasks, NULL), 0);
	jobset_add_array(&set, 2, &tasks);
	taskset_clear(&tasks);
	assert_true(jobset_has(&set, 1, TASK_NONE) && jobset_has(&set, 2, 4));
	assert_false(jobset_has(&set, 2, 5) || jobset_has(&set, 2, TASK_NONE) ||
	             jobset_has(&set, 1, 0) || jobset_has(&set, 3, TASK_NONE));
	assert_true(jobset_first(&set, 2, "1,3-7", &task));
	assert_int_equal(task, 4);
	assert_false(jobset_first(&set, 2, "1,3", &task));
	assert_true(jobset_first(&set, 1, "", &task));

	jobset_message(&set, 10, &m);
	assert_int_equal(m.n_ids, 1);
	assert_string_equal(m.tasks[0]->tasks, "0-18:2");
	assert_false(m.all);
	jobset_message_clear(&m);
	assert_true(jobset_remove(&set, 2, 4));
	assert_false(jobset_remove(&set, 2, 4));
	jobset_take(&set, 2, "100-99999");
	jobset_message(&set, UINT32_MAX, &m);
	assert_string_equal(m.tasks[0]->tasks, "0-2:2,6-98:2");
	assert_true(m.all);
	jobset_message_clear(&m);

	jobset_copy(&copy, &set);
	assert_true(jobset_remove(&copy, 1, TASK_NONE));
	jobset_take(&copy, 2, "2-98");
	assert_true(jobset_has(&copy, 2, 0));
	jobset_remove_all(&set, &copy);
	assert_false(jobset_has(&set, 2, 0));
	assert_true(jobset_has(&set, 2, 2));
	jobset_join(&set, &copy);
	assert_true(jobset_has(&set, 2, 0));
	jobset_clear(&copy);
	jobset_copy(&copy, &set);
	jobset_remove_all(&set, &copy);
	assert_int_equal(set.n, 0);
	jobset_clear(&copy);
	jobset_clear(&set);
}

/* Of a set in tatters the whole array is asked for. */
static void sets_in_tatters(void **state)
{
	struct jobset set = { .v = NULL };
	struct jobset_message m;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		jobset_add(&set, 7, i * 800 + i * i % 7);
	jobset_message(&set, UINT32_MAX, &m);
	assert_int_equal(m.n_ids, 1);
	assert_int_equal(m.n_tasks, 0);
	jobset_message_clear(&m);
	jobset_message(&set, 4000, &m);
	assert_int_equal(m.n_ids, 0);
	assert_int_equal(m.n_tasks, 1);
	assert_false(m.all);
	jobset_message_clear(&m);
	jobset_clear(&set);
}

static void ids(void **state)
{
	drmaa_job_ids_t *list = list_job_ids(9, 3, 8, 2);
	char id[32], all[64] = "";
	size_t n;

	(void)state;
	assert_int_equal(drmaa_get_num_job_ids(list, &n), 0);
	assert_int_equal(n, 3);
	while (drmaa_get_next_job_id(list, id, sizeof(id)) == DRMAA_ERRNO_SUCCESS)
		strcat(strcat(all, id), " ");
	assert_string_equal(all, "9_3 9_5 9_7 ");
	drmaa_release_job_ids(list);
	drmaa_release_job_ids(NULL);
	assert_int_equal(drmaa_get_next_job_id(NULL, id, 1), DRMAA_ERRNO_INVALID_ARGUMENT);
}

/* --- ends ----------------------------------------------------------------------------------- */

static void ends(void **state)
{
	static const struct {
		struct query_job job;
		int exited, status, signaled, aborted;
		const char *signal;
	} rows[] = {
		{ { .state = "COMPLETED", .start_time = 1 }, 1, 0, 0, 0, "" },
		{ { .state = "FAILED", .start_time = 1, .exit_code = 255 }, 1, 255, 0, 0, "" },
		{ { .state = "FAILED", .start_time = 1, .exit_signal = 9 }, 0, 0, 1, 0, "SIGKILL" },
		{ { .state = "FAILED", .start_time = 1 }, 0, 0, 0, 1, "" },
		{ { .state = "CANCELLED" }, 0, 0, 0, 1, "" },
		{ { .state = "CANCELLED", .start_time = 1 }, 0, 0, 1, 0, "SIGTERM" },
		{ { .state = "TIMEOUT", .start_time = 1, .exit_signal = 9 }, 0, 0, 1, 0,
		        "SIGKILL" },
		{ { .state = "OUT_OF_MEMORY", .start_time = 1, .exit_code = 1 }, 0, 0, 1, 0,
		        "SIGTERM" },
		{ { .state = "FAILED", .start_time = 1, .exit_signal = 40 }, 0, 0, 1, 0, "40" },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		int stat = exit_stat(&rows[i].job), v;
		char sig[DRMAA_SIGNAL_BUFFER];

		assert_int_equal(drmaa_wifexited(&v, stat, NULL, 0), 0);
		assert_int_equal(v, rows[i].exited);
		assert_int_equal(drmaa_wexitstatus(&v, stat, NULL, 0), 0);
		assert_int_equal(v, rows[i].status);
		assert_int_equal(drmaa_wifsignaled(&v, stat, NULL, 0), 0);
		assert_int_equal(v, rows[i].signaled);
		assert_int_equal(drmaa_wifaborted(&v, stat, NULL, 0), 0);
		assert_int_equal(v, rows[i].aborted);
		assert_int_equal(drmaa_wcoredump(&v, stat, NULL, 0), 0);
		assert_int_equal(drmaa_wtermsig(sig, sizeof(sig), stat, NULL, 0), 0);
		assert_string_equal(sig, rows[i].signal);
	}
}

static void errors(void **state)
{
	static const struct {
		int error, code;
	} rows[] = {
		{ ERR_USAGE, DRMAA_ERRNO_DENIED_BY_DRM },
		{ ERR_UNREACHABLE, DRMAA_ERRNO_DRM_COMMUNICATION_FAILURE },
		{ ERR_BUSY, DRMAA_ERRNO_TRY_LATER },
		{ ERR_NOT_PERMITTED, DRMAA_ERRNO_AUTH_FAILURE },
		{ ERR_NO_JOB, DRMAA_ERRNO_INVALID_JOB },
		{ ERR_NO_PARTITION, DRMAA_ERRNO_DENIED_BY_DRM },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct error err = { rows[i].error, "the controller's text", "and its hint" };

		assert_int_equal(fail_as((struct diagnosis){ text, sizeof(text) }, &err,
		                         DRMAA_ERRNO_DENIED_BY_DRM),
		        rows[i].code);
		assert_string_equal(text, "the controller's text; and its ");
		assert_int_equal(fail_as((struct diagnosis){ NULL, 0 }, &err, 17), rows[i].code);
	}
	for (int code = -1; code < 30; code++)
		assert_true(*drmaa_strerror(code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments),
		cmocka_unit_test(durations),
		cmocka_unit_test(paths),
		cmocka_unit_test(folders),
		cmocka_unit_test(words),
		cmocka_unit_test(native),
		cmocka_unit_test(attributes),
		cmocka_unit_test(specs),
		cmocka_unit_test(sets),
		cmocka_unit_test(sets_in_tatters),
		cmocka_unit_test(ids),
		cmocka_unit_test(ends),
		cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
