/* test_output_summary.c - what is said at the end of a job's output */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "noded/shepherd/output_summary.h"

static Gpusched__LaunchRecord launch;
static Gpusched__RunReport end;
static Gpusched__RunUsed used;
static Gpusched__RunId run;
static uint32_t gpus[] = { 0, 1 };
static ProtobufCBinaryData env;

static int begin(void **state)
{
	(void)state;
	gpusched__launch_record__init(&launch);
	gpusched__run_report__init(&end);
	gpusched__run_used__init(&used);
	gpusched__run_id__init(&run);
	run.job = 4655;
	end = (Gpusched__RunReport){ .base = end.base,
		.run = &run,
		.cause = GPUSCHED__END_CAUSE__CAUSE_EXIT,
		.gpu_type = (char *)(uintptr_t) "h100",
		.gpus = gpus,
		.n_gpus = 2,
		.cpus = 28,
		.mem_mb = 440 * 1024,
		.elapsed_us = 5400 * 1000000ull,
		.cpu_time_us = 49140 * 1000000ull,
		.used = &used };
	used.gpu_seen_us = 1000000;
	used.gpu_busy_us = 910000;
	used.gpu_mem_peak_mb = 61 * 1024;
	used.mem_peak_mb = 120 * 1024;
	launch.report = &end;
	launch.summary = true;
	launch.time_limit_s = 4 * 3600;
	launch.waited_us = 12 * 1000000ull;
	launch.cost_hour_u = 5720000; /* 2 GPUs at 2.50, 28 CPUs at 0.01, 440 GiB at 0.001 */
	launch.currency = (char *)(uintptr_t) "EUR";
	launch.gpu_mem_mb = 80 * 1024;
	return 0;
}

static void says(const char *text)
{
	char out[SUMMARY_MAX];

	assert_int_equal(summary_text(&launch, &end, out), strlen(text));
	assert_string_equal(out, text);
}

static void test_note(void **state)
{
	char out[SUMMARY_MAX];
	const char *want = "== gpusched: job 4655 used 24.3G of 20G of GPU 2\n";

	(void)state;
	assert_int_equal(summary_note(&launch, "used 24.3G of 20G of GPU 2", out), strlen(want));
	assert_string_equal(out, want);
}

static void test_text(void **state)
{
	(void)state;
	says("== gpusched: job 4655 COMPLETED 0:0 in 1:30:00 after 0:12; EUR 8.58\n"
	     "   asked  2 h100, 28 CPUs, 440G, 4:00:00\n"
	     "   used   compute 91%, GPU memory 61G of 80G, 9.1 CPUs, 120G\n"
	     "   next   --mem=160G --time=2:00:00 are enough\n");
	end.nnodes = 4; /* what the others have used it does not know */
	says("== gpusched: job 4655 COMPLETED 0:0 in 1:30:00 after 0:12; EUR 8.58\n"
	     "   asked  2 h100, 28 CPUs, 440G, 4:00:00\n"
	     "   used   compute 91%, GPU memory 61G of 80G, 9.1 CPUs, 120G\n"
	     "   nodes  this is of the first of 4; of each: gacct --runs -j 4655\n");
	end.nnodes = 1;
	/* Of an older controller, without prices. */
	launch.waited_us = launch.cost_hour_u = launch.gpu_mem_mb = 0;
	says("== gpusched: job 4655 COMPLETED 0:0 in 1:30:00\n"
	     "   asked  2 h100, 28 CPUs, 440G, 4:00:00\n"
	     "   used   compute 91%, GPU memory 61G, 9.1 CPUs, 120G\n"
	     "   next   --mem=160G --time=2:00:00 are enough\n");
	/* Of what nobody knows nothing is said, and nothing is advised to who failed. */
	used.gpu_seen_us = used.gpu_mem_peak_mb = 0;
	end.exit_code = 3;
	launch.time_limit_s = 0;
	run.task = 7;
	env = (ProtobufCBinaryData){ 24, (uint8_t *)(uintptr_t) "GPUSCHED_ARRAY_TASK_ID=7" };
	launch.env = &env;
	launch.n_env = 1;
	says("== gpusched: job 4655_7 FAILED 3:0 in 1:30:00\n"
	     "   asked  2 h100, 28 CPUs, 440G\n"
	     "   used   9.1 CPUs, 120G\n");
	end.cause = GPUSCHED__END_CAUSE__CAUSE_TIME_LIMIT;
	end.used = NULL;
	says("== gpusched: job 4655_7 TIMEOUT 3:0 in 1:30:00\n"
	     "   asked  2 h100, 28 CPUs, 440G\n");
	end.cause = GPUSCHED__END_CAUSE__CAUSE_SCALE;
	says("== gpusched: job 4655_7 CANCELLED 3:0 in 1:30:00\n"
	     "   asked  2 h100, 28 CPUs, 440G\n");
	end.cause = GPUSCHED__END_CAUSE__CAUSE_GPU_MEMORY;
	end.detail = (char *)(uintptr_t) "used 24.3G of 20G of GPU 2";
	says("== gpusched: job 4655_7 OUT_OF_MEMORY 3:0 in 1:30:00\n"
	     "   reason used 24.3G of 20G of GPU 2\n"
	     "   asked  2 h100, 28 CPUs, 440G\n");
	end.share_mb = 20480;
	end.share_milli = 125;
	end.share_charge = 500;
	end.cause = GPUSCHED__END_CAUSE__CAUSE_EXIT;
	says("== gpusched: job 4655_7 FAILED 3:0 in 1:30:00\n"
	     "   asked  2 h100/20G,12.5%, 28 CPUs, 440G\n");
}

/* What was asked is not much more than what was used. */
static void test_no_advice(void **state)
{
	(void)state;
	end.mem_mb = 170 * 1024;
	launch.time_limit_s = 9000;
	says("== gpusched: job 4655 COMPLETED 0:0 in 1:30:00 after 0:12; EUR 8.58\n"
	     "   asked  2 h100, 28 CPUs, 170G, 2:30:00\n"
	     "   used   compute 91%, GPU memory 61G of 80G, 9.1 CPUs, 120G\n");
	launch.time_limit_s = 24 * 3600;
	says("== gpusched: job 4655 COMPLETED 0:0 in 1:30:00 after 0:12; EUR 8.58\n"
	     "   asked  2 h100, 28 CPUs, 170G, 1-00:00:00\n"
	     "   used   compute 91%, GPU memory 61G of 80G, 9.1 CPUs, 120G\n"
	     "   next   --time=2:00:00 is enough\n");
}

static void test_wanted(void **state)
{
	(void)state;
	assert_true(summary_wanted(&launch, &end));
	launch.interactive = true;
	assert_false(summary_wanted(&launch, &end));
	launch.interactive = false;
	run.rank = 1;
	assert_false(summary_wanted(&launch, &end));
	run.rank = 0;
	end.n_gpus = 0;
	assert_false(summary_wanted(&launch, &end));
	end.n_gpus = 2;
	launch.summary = false;
	assert_false(summary_wanted(&launch, &end));
}

/* Into a regular file that is there, and nowhere else. */
static void test_write(void **state)
{
	char dir[] = "/tmp/test_output_summary.XXXXXX", path[64], got[16] = "";
	struct stat st;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	end.uid = geteuid();
	launch.gid = getegid();
	launch.cwd = (ProtobufCBinaryData){ strlen(dir), (uint8_t *)dir };
	launch.output = (ProtobufCBinaryData){ 3, (uint8_t *)(uintptr_t) "out" };
	snprintf(path, sizeof(path), "%s/out", dir);
	summary_write(&launch, "new\n", 4);
	assert_int_not_equal(stat(path, &st), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	summary_write(&launch, "new\n", 4);
	assert_int_equal(unlink(path), 0);
	f = fopen(path, "w+");
	assert_non_null(f);
	fputs("old\n", f);
	fflush(f);
	summary_write(&launch, "new\n", 4);
	rewind(f);
	assert_int_equal(fread(got, 1, sizeof(got) - 1, f), 8);
	assert_string_equal(got, "old\nnew\n");
	fclose(f);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_note, begin),
		cmocka_unit_test_setup(test_text, begin),
		cmocka_unit_test_setup(test_no_advice, begin),
		cmocka_unit_test_setup(test_wanted, begin),
		cmocka_unit_test_setup(test_write, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
