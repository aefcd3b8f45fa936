/* test_slurm_commands.c - the tables of Slurm's names, and the three ways to ask for fields
 *
 *	test_slurm_commands		what is expected was printed by Slurm 22.05
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "cmds/slurm_commands/acctfields.h"
#include "cmds/slurm_commands/jobfields.h"
#include "cmds/slurm_commands/nodefields.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/scontrol_records.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/sorted_lines.h"
#include "cmds/slurm_commands/state_codes.h"
#include "cmds/slurm_commands/value_formats.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static Gpusched__Job a_job(void)
{
	Gpusched__Job j = GPUSCHED__JOB__INIT;

	j.id = 4812;
	j.name = (char *)"embed";
	j.user = (char *)"root";
	j.partition = (char *)"batch";
	j.state = (char *)"RUNNING";
	j.nodes = j.node = (char *)"n1";
	j.n_nodes = j.nodes_min = j.nodes_max = 1;
	j.cpus = 2;
	j.mem_mb = 2048;
	j.time_limit_s = 3600;
	j.elapsed_s = 61;
	j.submit_time = 1000000;
	j.start_time = 2000000;
	j.cwd = (char *)"/work";
	j.output = (char *)"slurm-4812.out";
	j.task_count = 1;
	return j;
}

static char *letters(const char *format, const Gpusched__Job *j)
{
	struct fields f = { 0 };
	struct strbuf out = { 0 };
	size_t n;
	const struct slurm_cmd_field *table = job_fields(&n);

	fields_letters(&f, "test", format, table, n);
	fields_line(&f, j, &out);
	fields_clear(&f);
	return strbuf_take(&out);
}

static char *longs(const char *format, const Gpusched__Job *j)
{
	struct fields f = { 0 };
	struct strbuf out = { 0 };
	size_t n;
	const struct slurm_cmd_field *table = job_fields(&n);

	fields_long(&f, "test", format, table, n);
	fields_line(&f, j, &out);
	fields_clear(&f);
	return strbuf_take(&out);
}

static void check(char *got, const char *want)
{
	assert_string_equal(got, want);
	free(got);
}

static void test_letters(void **state)
{
	Gpusched__Job j = a_job();

	(void)state;
	check(letters("%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R", NULL),
	        "             JOBID PARTITION     NAME     USER ST       TIME  NODES "
	        "NODELIST(REASON)\n");
	check(letters("%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R", &j),
	        "              4812     batch    embed     root  R       1:01      1 n1\n");
	check(letters("%3j|%8j|%.8j|%.2j%%i", &j), "emb|embed   |   embed|em%i\n");
	check(letters("\"%i\",\"%m\"", &j), "\"4812\",\"2G\"\n");
	check(letters("%18i %T", &j), "4812               RUNNING\n");
	check(letters("%l %L %C %Q %y", &j), "1:00:00 58:59 2 0 0\n");
	/* what is no field stands as it is */
	check(letters("%! %-8j %5", &j), "%! %-8j %5\n");
	check(letters("", &j), "\n");
	check(letters("no fields", &j), "no fields\n");
}

static void test_longs(void **state)
{
	Gpusched__Job j = a_job();

	(void)state;
	check(longs("JobID:.6,Name:3,State:4+,JobID,Partition:.8", &j),
	        "  4812embRUNN+4812                   batch\n");
	check(longs("Account:\x1f,jobid:\x1f", NULL), "ACCOUNT\x1fJOBID\x1f\n");
	check(longs("nosuch,name:", &j), "embed\n");
	check(longs("tres-alloc:60", &j),
	        "cpu=2,mem=2G,node=1,billing=2                               \n");
}

static void test_names(void **state)
{
	Gpusched__Acct a = GPUSCHED__ACCT__INIT;
	const struct acct_line job = { &a, false, NULL }, batch = { &a, true, NULL };
	const struct fields_style pretty = { .parsable = false }, two = { .parsable = true },
	                          one = { .parsable = true, .ended = true };
	struct fields f = { 0 };
	struct strbuf out = { 0 };
	struct error err;
	size_t n;
	const struct slurm_cmd_field *table = sacct_fields(&n);

	(void)state;
	a.id = 12;
	a.name = (char *)"a-very-long-name";
	a.state = (char *)"COMPLETED";
	assert_int_equal(
	        fields_names(&f, "jobid,JobName,state%20,nodelist%-15", table, n, &err), 0);
	fields_print(&f, &pretty, &job, &out);
	check(strbuf_take(&out), "12           a-very-lo+            COMPLETED None assigned   \n");
	fields_print(&f, &two, &job, &out);
	check(strbuf_take(&out), "12|a-very-long-name|COMPLETED|None assigned\n");
	fields_print(&f, &one, &batch, &out);
	check(strbuf_take(&out), "12.batch|batch|COMPLETED|None assigned|\n");
	fields_clear(&f);
	/* names may be abbreviated, and spaces stand between them */
	assert_int_equal(fields_names(&f, "jobi, stat,", table, n, &err), 0);
	assert_int_equal(f.n, 2);
	fields_clear(&f);
	assert_int_equal(fields_names(&f, "jobid,nosuch", table, n, &err), -1);
	assert_string_equal(err.text, "Invalid field requested: \"nosuch\"");
	fields_clear(&f);
}

static void test_exit_codes(void **state)
{
	static const struct {
		const char *state;
		uint32_t code, signal;
		const char *job, *batch;
	} rows[] = {
		{ "COMPLETED", 0, 0, "0:0", "0:0" },
		{ "FAILED", 3, 0, "3:0", "3:0" },
		{ "FAILED", 0, 9, "0:9", "0:9" },
		{ "TIMEOUT", 0, 15, "0:0", "0:15" },
		{ "OUT_OF_MEMORY", 137, 0, "0:125", "0:125" },
		{ "OUT_OF_MEMORY", 0, 9, "0:125", "0:125" },
	};
	const struct fields_style style = { .parsable = true };
	struct fields f = { 0 };
	struct error err;
	size_t n;
	const struct slurm_cmd_field *table = sacct_fields(&n);

	(void)state;
	assert_int_equal(fields_names(&f, "exitcode", table, n, &err), 0);
	for (size_t i = 0; i < LEN(rows); i++) {
		Gpusched__Acct a = GPUSCHED__ACCT__INIT;
		const struct acct_line job = { &a, false, NULL }, batch = { &a, true, NULL };
		struct strbuf out = { 0 };
		char want[64];

		a.state = (char *)rows[i].state;
		a.exit_code = rows[i].code;
		a.exit_signal = rows[i].signal;
		fields_print(&f, &style, &job, &out);
		fields_print(&f, &style, &batch, &out);
		snprintf(want, sizeof(want), "%s\n%s\n", rows[i].job, rows[i].batch);
		check(strbuf_take(&out), want);
	}
	fields_clear(&f);
}

static void test_hostile(void **state)
{
	Gpusched__Job j = a_job();

	(void)state;
	j.name = (char *)"a\x1b[31m\nb|c";
	check(letters("%j|", &j), "a\\x1B[31m\\x0Ab|c|\n");
	j.name = (char *)"h\xc3\xa9\xc3\xa9llo";
	check(letters("%3j|%.8j|", &j), "h\xc3\xa9\xc3\xa9|  h\xc3\xa9\xc3\xa9llo|\n");
	j.name = (char *)"bad\xff\xfe";
	check(letters("%j", &j), "bad\\xFF\\xFE\n");
	j.name = (char *)"";
	check(letters("%8j|", &j), "        |\n");
}

static void test_values(void **state)
{
	static const struct {
		const char *state, *tasks, *dependency, *format, *want;
		bool several;
		uint32_t throttle;
	} rows[] = {
		{ "PENDING", "3-5", "", "%i %K %F", "4812_[3-5%2] 3-5%2 4812\n", true, 2 },
		{ "PENDING", "3-5", "", "%i", "4812_[3-5]\n", true, 0 },
		{ "RUNNING", "3", "", "%i %K", "4812_3 3\n", false, 2 },
		{ "PENDING", "", "afterok:1:2,singleton", "%E",
		        "afterok:1(unfulfilled),afterok:2(unfulfilled),singleton(unfulfilled)\n",
		        false, 0 },
		{ "PENDING", "", "afterok:1(failed)", "%E", "afterok:1(failed)\n", false, 0 },
		{ "PENDING", "", "", "%t %M %N|%R %S %e", "PD 0:00 |(None) N/A N/A\n", false, 0 },
		{ "FAILED", "", "", "%t %N|%R", "F n1|(None)\n", false, 0 },
		{ "COMPLETED", "", "", "%t %R %r %E %k", "CD n1 None (null) (null)\n", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		Gpusched__Job j = a_job();

		j.state = (char *)rows[i].state;
		j.tasks = (char *)rows[i].tasks;
		j.several = rows[i].several;
		j.array_throttle = rows[i].throttle;
		j.dependency = (char *)rows[i].dependency;
		check(letters(rows[i].format, &j), rows[i].want);
	}
}

/* Long sets of tasks are cut as squeue does it, unless SLURM_BITSTR_LEN says otherwise. */
static void test_long_arrays(void **state)
{
	char tasks[200] = "", want[300], buf[6000];

	(void)state;
	for (size_t i = 0; i < 60; i++)
		strcat(tasks, i ? ",1" : "1");
	snprintf(want, sizeof(want), "7_[%.64s...]", tasks);
	job_id_text(buf, sizeof(buf), 7, tasks, true, 0);
	assert_string_equal(buf, want);
	setenv("SLURM_BITSTR_LEN", "0", 1);
	job_id_text(buf, sizeof(buf), 7, tasks, true, 0);
	assert_int_equal(strlen(buf), strlen(tasks) + 4);
	unsetenv("SLURM_BITSTR_LEN");
}

static void test_times(void **state)
{
	struct view_cell cell;
	struct error err;
	int64_t us, other;

	(void)state;
	setenv("TZ", "UTC", 1);
	slurm_time(&cell, 86400 * (int64_t)1000000, "N/A");
	assert_string_equal(cell.text, "1970-01-02T00:00:00");
	slurm_time(&cell, 0, "N/A");
	assert_string_equal(cell.text, "N/A");
	setenv("SLURM_TIME_FORMAT", "%s", 1);
	slurm_time(&cell, 86400 * (int64_t)1000000, "N/A");
	assert_string_equal(cell.text, "86400");
	unsetenv("SLURM_TIME_FORMAT");
	slurm_clock(&cell, 90061);
	assert_string_equal(cell.text, "1-01:01:01");
	slurm_clock(&cell, 59);
	assert_string_equal(cell.text, "00:00:59");
	slurm_moment("1970-01-02-00:00:01", &us, &err);
	slurm_moment("1970-01-02T00:00:01", &other, &err);
	assert_int_equal(err.code, ERR_NONE);
	assert_int_equal(us, other);
	slurm_moment("nosuch", &us, &err);
	assert_int_equal(err.code, ERR_USAGE);
	slurm_memory(&cell, 382);
	assert_string_equal(cell.text, "382M");
	slurm_memory(&cell, 3 * 1024);
	assert_string_equal(cell.text, "3G");
}

static void test_order(void **state)
{
	Gpusched__Job j = a_job();
	struct rows r = { 0 };
	struct fields f = { 0 };
	size_t n;
	const struct slurm_cmd_field *table = job_fields(&n);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	static const struct {
		uint64_t id;
		const char *partition, *state;
		int64_t priority;
	} jobs[] = { { 1, "b", "RUNNING", 0 }, { 2, "a", "RUNNING", 0 }, { 3, "a", "PENDING", 1 },
		{ 4, "a", "PENDING", 9 }, { 10, "a", "COMPLETED", 0 } };

	(void)state;
	fields_letters(&f, "test", "%i", table, n);
	rows_order(&r, "test", "P,t,-p", table, n);
	for (size_t i = 0; i < LEN(jobs); i++) {
		j.id = jobs[i].id;
		j.partition = (char *)jobs[i].partition;
		j.state = (char *)jobs[i].state;
		j.priority = jobs[i].priority;
		rows_add(&r, &f, &j);
	}
	rows_print(&r, out);
	fclose(out);
	assert_string_equal(text, "10\n4\n3\n2\n1\n");
	free(text);
	rows_clear(&r);
	fields_clear(&f);
}

static void test_states(void **state)
{
	struct filter f = { .me = false };
	bool none, all;
	struct error err;

	(void)state;
	assert_int_equal(slurm_filter_states(&f, "PD,RQ,running", &none, &all, &err), 0);
	assert_int_equal(f.lists[FILTER_STATES].n, 2);
	assert_false(none || all || f.ended);
	filter_clear(&f);
	f = (struct filter){ .me = false };
	assert_int_equal(slurm_filter_states(&f, "RQ,SE", &none, &all, &err), 0);
	assert_true(none);
	assert_int_equal(slurm_filter_states(&f, "CD,all", &none, &all, &err), 0);
	assert_true(all && f.ended && !f.lists[FILTER_STATES].n);
	assert_int_equal(slurm_filter_states(&f, "NOSUCH", &none, &all, &err), -1);
	assert_string_equal(slurm_base_state("CONFIGURING"), "RUNNING");
	assert_string_equal(slurm_base_state("FAILED"), "FAILED");
	filter_clear(&f);
}

static void test_nodes(void **state)
{
	static const uint32_t v[] = { 0, 1, 2, 5, 7, 8 };
	Gpusched__Node node = GPUSCHED__NODE__INIT;
	char buf[64], reason[64], user[64], when[64];

	(void)state;
	index_list(buf, sizeof(buf), v, LEN(v));
	assert_string_equal(buf, "0-2,5,7-8");
	index_list(buf, sizeof(buf), v, 0);
	assert_string_equal(buf, "N/A");
	node.state = (char *)"draining";
	assert_string_equal(node_words(&node)->record, "MIXED+DRAIN");
	assert_true(node_state_meant("drain", &node));
	assert_false(node_state_meant("idle", &node));
	assert_true(node_state_known("maint"));
	assert_false(node_state_known("nosuch"));
	node.reason = (char *)"fan [x] is loud [ana@2026-11-26T13:47:27Z]";
	node_reason(&node, reason, user, when, sizeof(reason));
	assert_string_equal(reason, "fan [x] is loud");
	assert_string_equal(user, "ana");
	assert_string_equal(when, "2026-11-26T13:47:27Z");
}

/* Each row of each table can be asked for, and says something of an empty object. */
static void test_tables(void **state)
{
	Gpusched__Job j = a_job();
	Gpusched__Acct a = GPUSCHED__ACCT__INIT;
	const struct acct_line line = { &a, false, NULL };
	const struct node_group nodes = { NULL, NULL, 0, 0 };
	const struct {
		const struct slurm_cmd_field *(*table)(size_t *n);
		const void *object;
	} tables[] = { { job_fields, &j }, { sacct_fields, &line }, { sinfo_fields, &nodes } };

	(void)state;
	for (size_t t = 0; t < LEN(tables); t++) {
		size_t n;
		const struct slurm_cmd_field *f = tables[t].table(&n);

		for (size_t i = 0; i < n; i++) {
			struct view_cell cell;

			assert_non_null(f[i].heading);
			assert_non_null(field_value(&f[i], tables[t].object, &cell));
			assert_ptr_equal(field_by_name(f[i].name, strlen(f[i].name), f, n), &f[i]);
			assert_true(!f[i].letter || field_by_letter(f[i].letter, f, n) == &f[i]);
		}
	}
}

/* Options: no name twice, each letter with one meaning, and a sentence where there is none such. */
static void test_options(void **state)
{
	(void)state;
	for (size_t p = 0; p < n_slurm_cmds; p++) {
		size_t n;
		const struct slurm_cmd_option *o = slurm_cmds[p].options(&n);

		assert_ptr_equal(slurm_cmd_find(slurm_cmds[p].name), &slurm_cmds[p]);
		for (size_t i = 0; i < n; i++) {
			assert_true(o[i].says != SLURM_CMD_NO || (o[i].text && *o[i].text));
			for (size_t k = 0; k < i; k++) {
				assert_string_not_equal(o[i].name, o[k].name);
				assert_true(!o[i].letter || o[i].letter != o[k].letter ||
				            o[i].arg == o[k].arg);
			}
		}
	}
	assert_null(slurm_cmd_find("srun-nosuch"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_longs),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_long_arrays),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
