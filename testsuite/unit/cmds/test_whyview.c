/* test_whyview.c - cmds/views/whyview.h: why a job waits, against golden files, at any width */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmds/cli/table.h"
#include "cmds/views/whyview.h"
#include "testsuite/unit/lib/golden.h"

#define LEN(a)  (sizeof(a) / sizeof((a)[0]))
#define S(text) ((char *)(uintptr_t)(text))
#define PIPE    9999
#define NOW     INT64_C(1795255320000000) /* 2026-11-21T10:02:00Z */
#define MINUTE  INT64_C(60000000)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Woverride-init"
#define INIT(type) .base = PROTOBUF_C_MESSAGE_INIT(&gpusched__##type##__descriptor)

static Gpusched__GpuCount eight = { INIT(gpu_count), .type = "h100", .count = 8 };
static Gpusched__GpuCount four = { INIT(gpu_count), .type = "l40s", .count = 4 };
static Gpusched__GpuCount some = { INIT(gpu_count), .type = "", .count = 1 };
static Gpusched__GpuCount *counts[] = { &eight, &four, &some };

#define JOB                                                                                      \
	INIT(job), .id = 4812, .name = "embed", .user = "ana", .account = "vision", .qos = "",   \
	           .partition = "batch", .state = "PENDING", .nodes = "", .tasks = "",           \
	           .comment = "", .constraint = "", .prefer = "", .nodelist = "", .exclude = "", \
	           .licences = "", .gpu_link = "", .nodes_min = 1, .nodes_max = 1,               \
	           .submit_time = NOW - 11 * MINUTE - 40000000

static Gpusched__Job job = { JOB, .n_gpus = 1, .gpus = counts, .cpus = 112, .mem_mb = 1802240,
	.time_limit_s = 28800 };

static Gpusched__Blocker limit = { INIT(blocker), .partition = "", .reason = "AssocGrpGRES",
	.text = "vision: limit h100:32, holds 28, +8", .clears_time = NOW + 78 * MINUTE,
	.clears = "4690 must end" };
static Gpusched__Blocker resources = { INIT(blocker), .partition = "", .reason = "Resources",
	.text = "16 nodes: 15 with under 8 free h100 (h07 4, h03 2), 1 drained (h12)",
	.clears_time = NOW + 103 * MINUTE, .clears = "on h07, 4731 must end" };
static Gpusched__Blocker priority = { INIT(blocker), .partition = "", .reason = "Priority",
	.text = "third in batch, after 4799 and 4805", .clears_time = NOW + 28 * MINUTE,
	.clears = "both elsewhere" };
static Gpusched__Blocker qos = { INIT(blocker), .partition = "", .reason = "QOSMaxJobsPerUserLimit",
	.text = "interactive: ana has 2 of 2 running", .clears = "" };
static Gpusched__Blocker held = { INIT(blocker), .partition = "", .reason = "JobHeldUser",
	.text = "held by ana from login1: later", .clears = "" };
static Gpusched__Blocker *three[] = { &limit, &resources, &priority };
static Gpusched__Blocker *two[] = { &qos, &limit };
static Gpusched__Blocker *one[] = { &held };

static Gpusched__Change fewer = { INIT(change), .option = "--gpus=h100:4",
	.effect = "on h07, within the limit (32 of 32)" };
static Gpusched__Change other = { INIT(change), .option = "--partition=small --gpus=l40s:5",
	.effect = "on s03" };
static Gpusched__Change wordy = { INIT(change),
	.option = "--partition=interactive --gpus=1g.10gb:7 --time=1:00:00",
	.effect = "on m01, where seven of them are free" };
static Gpusched__Change *changes[] = { &fewer, &other, &wordy };

#define WHY                                                                            \
	INIT(why), .planned_nodes = "", .planned_why = "", .tried = "", .position = 3, \
	           .position_of = 12

static Gpusched__Why sample = { WHY, .n_blockers = 3, .blockers = three, .n_changes = 2,
	.changes = changes, .planned_start_time = NOW + 103 * MINUTE, .planned_nodes = "h07",
	.first_planned_start_time = NOW + 103 * MINUTE,
	.tried = "shorter --time, --qos=scavenger, other h100 nodes" };
static Gpusched__Why later = { WHY, .n_blockers = 2, .blockers = two, .n_changes = 3,
	.changes = changes, .planned_start_time = NOW + 26 * 60 * MINUTE,
	.first_planned_start_time = NOW + 60 * MINUTE, .planned_nodes = "h[01-02]",
	.planned_why = "node h03 was lost" };
static Gpusched__Why hold = { WHY, .n_blockers = 1, .blockers = one, .position = 0,
	.planned_why = "its owner holds it", .tried = "nothing" };
static Gpusched__Why unknown = { WHY, .position = 0 };

static Gpusched__Job gang = { JOB, .n_gpus = 2, .gpus = counts, .cpus = 1,
	.time_limit_s = UINT32_MAX, .nodes_min = 2, .nodes_max = 4, .gpus_per_node = true,
	.qos = "interactive", .constraint = "nvlink&ib", .prefer = "new", .nodelist = "h[01-02]",
	.exclude = "h03", .licences = "trtllm:2", .exclusive = true, .gpu_mem_min_mb = 81920,
	.account = "" };
static Gpusched__Job plain = { JOB, .name = "a\033[2Jb", .cpus = 4, .mem_mb = 16384,
	.time_limit_s = 90 };
static Gpusched__Job any = { JOB, .n_gpus = 1, .gpus = counts + 2, .cpus = 1, .nodes_max = 2,
	.nodes_min = 2, .time_limit_s = 90 };
static Gpusched__Job runs = { JOB, .state = "RUNNING", .nodes = "h[01-02]",
	.start_time = NOW - 90 * MINUTE };
static Gpusched__Job again = { JOB, .n_gpus = 1, .gpus = counts, .cpus = 1, .time_limit_s = 90,
	.attempt = 1, .comment = "preempted for job 19 of li (reclaim)" };
static Gpusched__Job leaves = { JOB, .state = "COMPLETING", .nodes = "h01", .attempt = 1,
	.start_time = NOW - 90 * MINUTE, .comment = "preempted for job 19 of li (tier)" };

#define RESULT INIT(why_result), .currency = "EUR", .now_time = NOW
static const struct {
	const char *golden;
	Gpusched__WhyResult result;
	unsigned width;
} rows[] = {
	{ "why-80", { RESULT, .job = &job, .why = &sample }, 80 },
	{ "why-20", { RESULT, .job = &job, .why = &sample }, 20 },
	{ "why-200", { RESULT, .job = &job, .why = &sample }, 200 },
	{ "why-pipe", { RESULT, .job = &job, .why = &sample }, PIPE },
	{ "why-gang", { RESULT, .job = &gang, .why = &later }, 80 },
	{ "why-gang-50", { RESULT, .job = &gang, .why = &later }, 50 },
	{ "why-held", { RESULT, .job = &plain, .why = &hold }, 80 },
	{ "why-unknown", { RESULT, .job = &any, .why = &unknown }, 80 },
	{ "why-runs", { RESULT, .job = &runs }, 80 },
	{ "why-again", { RESULT, .job = &again, .why = &unknown }, 80 },
	{ "why-leaves", { RESULT, .job = &leaves }, 80 },
};
#pragma GCC diagnostic pop

static char *print(const Gpusched__WhyResult *result, unsigned width)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	why_print(result, f, width == PIPE ? table_style_for(f).width : width);
	return golden_text(f);
}

static void test_golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(rows); i++)
		golden_check(rows[i].golden, print(&rows[i].result, rows[i].width));
}

/* No line is wider than it may be, none ends in a blank, and nothing moves the cursor. */
static void test_every_width(void **state)
{
	char *text, *line, *save;

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++)
		for (unsigned width = 20; width <= 130; width++) {
			text = print(&rows[i].result, width);
			assert_null(strchr(text, '\033'));
			for (line = strtok_r(text, "\n", &save); line;
			        line = strtok_r(NULL, "\n", &save)) {
				if (table_text_width(line) > width || line[strlen(line) - 1] == ' ')
					fail_msg("%s at %u: '%s'", rows[i].golden, width, line);
			}
			free(text);
		}
}

static void test_times(void **state)
{
	char buf[WHY_TIME_TEXT];

	(void)state;
	assert_string_equal(why_time(buf, NOW, NOW), "10:02");
	assert_string_equal(why_time(buf, NOW + 24 * 60 * MINUTE, NOW), "11-22 10:02");
	assert_string_equal(why_time(buf, NOW + 365 * 24 * 60 * MINUTE, NOW), "2027-11-21 10:02");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_every_width),
		cmocka_unit_test(test_times),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
