/* test_submit_options.c - cmds/options/options.h, and its values: gpus.h, signal_names.h, export.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/api/gpus.h"
#include "cmds/api/spec.h"
#include "cmds/cli/signal_names.h"
#include "cmds/options/export.h"
#include "cmds/options/options.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* --- values --------------------------------------------------------------------------------- */

static void show_gpus(const struct gpus *g, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < g->n; i++)
		used += (size_t)snprintf(
		        out + used, size - used, "<%s %u>", g->v[i].type, g->v[i].count);
}

static const struct {
	const char *text, *parsed; /* NULL: refused */
} gpu_rows[] = {
	{ "4", "< 4>" },
	{ "any:4", "< 4>" },
	{ "h100:2", "<h100 2>" },
	{ "h100:2|l40s:4", "<h100 2><l40s 4>" },
	{ "1g.10gb:7|any:1|2", "<1g.10gb 7>< 1>< 2>" },
	{ "0", "" },
	{ "1000000", "< 1000000>" },
	{ "a:1|a:1|a:1|a:1|a:1|a:1|a:1|a:1", "<a 1><a 1><a 1><a 1><a 1><a 1><a 1><a 1>" },
	{ "a:1|a:1|a:1|a:1|a:1|a:1|a:1|a:1|a:1", NULL },
	{ "", NULL },
	{ "h100", NULL },
	{ ":1", NULL },
	{ "h100:", NULL },
	{ "h100:0", NULL },
	{ "h100:0|2", NULL },
	{ "h100:-1", NULL },
	{ "-1", NULL },
	{ "+1", NULL },
	{ "1 ", NULL },
	{ " 1", NULL },
	{ "1000001", NULL },
	{ "99999999999999999999", NULL },
	{ "4294967297", NULL },
	{ "h100:2,l40s:1", NULL },
	{ "h100:2|", NULL },
	{ "|h100:2", NULL },
	{ "h\n100:2", NULL },
	{ "h/100:2", NULL },
	{ "a:b:2", NULL },
};

static void test_gpus(void **state)
{
	char long_type[80] = "", shown[256];

	(void)state;
	for (size_t i = 0; i < LEN(gpu_rows); i++) {
		struct gpus g = { .n = 5 };
		struct error err = { .code = ERR_NONE };
		int rc = gpus_parse(gpu_rows[i].text, &g, &err);

		if (!gpu_rows[i].parsed) {
			assert_int_equal(rc, -1);
			assert_int_equal(err.code, ERR_USAGE);
			assert_int_equal(g.n, 5);
			continue;
		}
		assert_string_equal(err.text, "");
		assert_int_equal(rc, 0);
		show_gpus(&g, shown, sizeof(shown));
		assert_string_equal(shown, gpu_rows[i].parsed);
	}
	memset(long_type, 'x', GPUS_TYPE_MAX);
	strcat(long_type, ":1");
	assert_int_equal(gpus_parse(long_type, &(struct gpus){ 0 }, NULL), 0);
	memset(long_type, 'x', GPUS_TYPE_MAX + 1);
	strcpy(long_type + GPUS_TYPE_MAX + 1, ":1");
	assert_int_equal(gpus_parse(long_type, &(struct gpus){ 0 }, NULL), -1);
}

static const struct {
	const char *text;
	int sig; /* 0: refused */
	unsigned before_s;
} sig_rows[] = {
	{ "USR1", 10, 60 },
	{ "SIGUSR1", 10, 60 },
	{ "sigterm", 15, 60 },
	{ "usr1@120", 10, 120 },
	{ "B:USR1@120", 10, 120 },
	{ "10@1", 10, 1 },
	{ "64", 64, 60 },
	{ "B:TERM", 15, 60 },
	{ "TERM@65535", 15, 65535 },
	{ "TERM@65536", 0, 0 },
	{ "TERM@0", 0, 0 },
	{ "TERM@", 0, 0 },
	{ "TERM@-1", 0, 0 },
	{ "TERM@1m", 0, 0 },
	{ "0", 0, 0 },
	{ "65", 0, 0 },
	{ "-9", 0, 0 },
	{ "", 0, 0 },
	{ "@60", 0, 0 },
	{ "B:", 0, 0 },
	{ "B", 0, 0 },
	{ "R:USR1", 0, 0 },
	{ "SIGSIGTERM", 0, 0 },
	{ "NOSUCHSIGNALWITHAVERYLONGNAMEINDEED", 0, 0 },
	{ "TERM\n", 0, 0 },
};

static void test_signals(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(sig_rows); i++) {
		uint32_t sig = 99, before = 99;
		struct error err = { .code = ERR_NONE };
		int rc = sig_parse_warning(sig_rows[i].text, &sig, &before, &err);

		assert_int_equal(rc, sig_rows[i].sig ? 0 : -1);
		assert_int_equal(err.code, sig_rows[i].sig ? ERR_NONE : ERR_USAGE);
		assert_int_equal(sig, sig_rows[i].sig ? sig_rows[i].sig : 99);
		assert_int_equal(before, sig_rows[i].sig ? sig_rows[i].before_s : 99);
	}
	assert_string_equal(sig_name(9), "KILL");
	assert_null(sig_name(0));
	assert_null(sig_name(1000));
}

static char *const sample_env[] = { "HOME=/h", "PATH=/bin", "USER=ana", "A=1", "_=/usr/bin/x",
	"B=two\nlines", "GPUSCHED_JOB_ID=7", "GPUSCHED_CONF=/c", "BASH_FUNC_f%%=() { :; }", "AB=3",
	"odd", "=x", "SLURM_JOB_ID=3", "SLURM_CONF=/s", "SLURMD_NODENAME=n", NULL };

static const struct {
	const char *rule, *env, *missing; /* env: joined with '|'; NULL: refused */
} export_rows[] = {
	{ "ALL",
	        "HOME=/h|PATH=/bin|USER=ana|A=1|B=two\nlines|GPUSCHED_CONF=/c|"
	        "BASH_FUNC_f%%=() { :; }|AB=3|SLURM_CONF=/s",
	        "" },
	{ "NONE", "HOME=/h|PATH=/bin|USER=ana", "" },
	{ "A", "HOME=/h|PATH=/bin|USER=ana|A=1", "" },
	{ "A,B", "HOME=/h|PATH=/bin|USER=ana|A=1|B=two\nlines", "" },
	{ "A=9,C=", "HOME=/h|PATH=/bin|USER=ana|A=9|C=", "" },
	{ "NONE,A=9", "HOME=/h|PATH=/bin|USER=ana|A=9", "" },
	{ "A=9,A=10", "HOME=/h|PATH=/bin|USER=ana|A=10", "" },
	{ "A='1,2',X=\"a'b\"", "HOME=/h|PATH=/bin|USER=ana|A=1,2|X=a'b", "" },
	{ "X=a=b", "HOME=/h|PATH=/bin|USER=ana|X=a=b", "" },
	{ "PATH=/mine,HOME", "HOME=/h|USER=ana|PATH=/mine", "" },
	{ "GPUSCHED_JOB_ID,GPUSCHED_CONF", "HOME=/h|PATH=/bin|USER=ana|GPUSCHED_CONF=/c", "" },
	{ "SLURM_JOB_ID,SLURM_CONF", "HOME=/h|PATH=/bin|USER=ana|SLURM_CONF=/s", "" },
	{ "SLURM_X=1", "HOME=/h|PATH=/bin|USER=ana|SLURM_X=1", "" },
	{ "NOTHING,A", "HOME=/h|PATH=/bin|USER=ana|A=1", "NOTHING" },
	{ "ALL,A=5",
	        "HOME=/h|PATH=/bin|USER=ana|B=two\nlines|GPUSCHED_CONF=/c|"
	        "BASH_FUNC_f%%=() { :; }|AB=3|SLURM_CONF=/s|A=5",
	        "" },
	{ "", NULL, NULL },
	{ ",", NULL, NULL },
	{ "A,", NULL, NULL },
	{ "=1", NULL, NULL },
	{ "1A=1", NULL, NULL },
	{ "A B", NULL, NULL },
	{ "A='1", NULL, NULL },
};

static void test_export(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(export_rows); i++) {
		char shown[1024] = "";
		const char *missing = NULL;
		char **list;

		if (!export_rows[i].env) {
			assert_int_equal(export_check(export_rows[i].rule, NULL), -1);
			continue;
		}
		assert_int_equal(export_check(export_rows[i].rule, NULL), 0);
		list = export_apply(export_rows[i].rule, sample_env, &missing);
		for (size_t k = 0; list[k]; k++) {
			strcat(shown, k ? "|" : "");
			strcat(shown, list[k]);
		}
		assert_string_equal(shown, export_rows[i].env);
		assert_string_equal(missing, export_rows[i].missing);
		free(list);
	}
}

/* --- options -------------------------------------------------------------------------------- */

static const struct {
	const char *words[6], *error; /* error NULL: fine */
} word_rows[] = {
	{ { "--gpus=h100:2" }, NULL },
	{ { "--gpus", "h100:2" }, NULL },
	{ { "-G", "h100:2" }, NULL },
	{ { "-Gh100:2" }, NULL },
	{ { "-HG", "2", "-W" }, NULL },
	{ { "--nice" }, NULL },
	{ { "--nice", "--hold" }, NULL },
	{ { "--nice=-5" }, NULL },
	{ { "--label=team/model.x_1-2=a b" }, NULL },
	{ { "--time=0:02" }, NULL },
	{ { "--gpus" }, "--gpus: needs a value: --gpus=[TYPE:]COUNT" },
	{ { "-G" }, "--gpus: needs a value: --gpus=[TYPE:]COUNT" },
	{ { "--hold=yes" }, "--hold: takes no value" },
	{ { "--gpu=1" }, "'--gpu=1': no such option; did you mean --gpus?" },
	{ { "--zzz" }, "'--zzz': no such option" },
	{ { "-Z" }, "'-Z': no such option" },
	{ { "--" }, "'--': no such option" },
	{ { "-" }, "'-': no such option" },
	{ { "" }, "'': no such option" },
	{ { "job.sh" }, "'job.sh': no such option" },
	{ { "-H", "job.sh" }, "'job.sh': no such option" },
	{ { "--wrap=x" }, "--wrap: only on the command line" },
	{ { "--token=x" }, "--token: only on the command line" },
	{ { "--test-only" }, "--test-only: only on the command line" },
	{ { "--gpus=h100" },
	        "--gpus=h100: 'h100': must be TYPE:COUNT, as in \"h100:2\", or a number" },
	{ { "--open-mode=at" }, "--open-mode=at: expected append or truncate" },
	{ { "--job-name=" }, "--job-name=: needs a value" },
	{ { "--mem-per-gpu=0" }, "--mem-per-gpu=0: must be more than nothing" },
	{ { "--time=0" }, "--time=0: must be more than nothing" },
	{ { "--label=x" }, "--label=x: expected k=v" },
	{ { "--label=a b=x" }, "--label=a b=x: label key 'a b': must be 1 to 63 letters, digits, "
	                       "'.', '_', '-' and '/'" },
	{ { "--export=" },
	        "--export=: expected ALL, NONE, or NAME and NAME=VALUE with commas between" },
};

static void test_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(word_rows); i++) {
		struct submit_options o;
		struct error err = { .code = ERR_NONE };
		char *words[6];
		size_t n = 0;
		int rc;

		for (; n < 6 && word_rows[i].words[n]; n++)
			words[n] = (char *)word_rows[i].words[n];
		options_init(&o);
		rc = options_from_words(&o, n, words, &err);
		assert_string_equal(err.text, word_rows[i].error ? word_rows[i].error : "");
		assert_int_equal(rc, word_rows[i].error ? -1 : 0);
		options_clear(&o);
	}
}

/* Values that must be refused, wherever they come from. */
static void test_bad_values(void **state)
{
	static const char *const bad[][2] = { { "time", "-5" }, { "time", "5x" }, { "time", "" },
		{ "time", "1:2:3:4" }, { "time", "99999999999999999999" }, { "mem", "-1" },
		{ "mem", "1X" }, { "mem", "99999999999T" }, { "cpus-per-task", "0" },
		{ "cpus-per-task", "-1" }, { "cpus-per-task", "1.5" }, { "nice", "x" },
		{ "nice", "--5" }, { "nice", "2147483646" }, { "job-name", "a\nb" },
		{ "job-name", "\033[31mred" }, { "job-name", "\xff" }, { "partition", "a\tb" },
		{ "account", "" }, { "signal", "XYZ" }, { "label", "=x" }, { "output", "" },
		{ "chdir", "" }, { "token", "" }, { "token", "a\nb" }, { "wrap", " " },
		{ "qos", "" }, { "qos", "a\nb" }, { "nodes", "" }, { "nodes", "0" },
		{ "nodes", "-1" }, { "nodes", "4-" }, { "nodes", "4-2" }, { "nodes", "2-x" },
		{ "nodes", "65537" }, { "nodes", "1-99999999999999999999" },
		{ "gpus-per-node", "h100" }, { "gpus-per-node", "h100:1,l40s:1" },
		{ "gpu-mem-min", "80X" }, { "gpu-mem-min", "-80G" }, { "gpu-mem-min", "" },
		{ "constraint", "a\nb" }, { "constraint", "\xff" }, { "prefer", "\033[2J" },
		{ "nodelist", "h[2-1]" }, { "nodelist", "h[1-100000]" }, { "exclude", "a b" },
		{ "exclude", "h1,h1" }, { "licenses", "a\nb" }, { "licences", "a\tb" },
		{ "max-wait", "soon" }, { "max-wait", "" }, { "max-wait", "99999d" },
		{ "max-wait", "unlimited" } };

	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		const struct option_row *row = option_by_name(bad[i][0], strlen(bad[i][0]));
		struct submit_options o;
		struct error err = { .code = ERR_NONE };

		options_init(&o);
		assert_non_null(row);
		assert_int_equal(options_set(&o, row, bad[i][1], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		/* the error names the option, and is one plain line */
		assert_memory_equal(err.text, "--", 2);
		assert_memory_equal(err.text + 2, bad[i][0], strlen(bad[i][0]));
		assert_null(strpbrk(err.text, "\n\033\t"));
		options_clear(&o);
	}
}

/* Directives give way to variables, variables to the command line; labels key by key. */
static void test_precedence(void **state)
{
	static const char script[] =
	        "#!/bin/sh\n"
	        "#GPUSCHED -J script --gpus=1 --time=10 --label a=1 --label b=1\n"
	        "#GPUSCHED --no-requeue -H --mem=1G --nice=7\n";
	static char *const env[] = { "PATH=/bin", "GSUBMIT_JOB_NAME=env", "GSUBMIT_GPUS=h100:2",
		"GSUBMIT_REQUEUE=yes", "GSUBMIT_HOLD=no", "GSUBMIT_CPUS_PER_TASK=3",
		"GSUBMIT_LABEL=b=2", "GSUBMIT_OPEN_MODE=append", NULL };
	static char *cli[] = { "-J", "cli", "--label", "c=3", "--time", "unlimited" };
	struct submit_options o;
	struct error err = { .code = ERR_NONE };
	unsigned late;

	(void)state;
	options_init(&o);
	assert_int_equal(options_from_script(&o, script, sizeof(script) - 1, &late, &err), 0);
	assert_string_equal(o.name, "script");
	assert_true(o.no_requeue && o.hold);
	assert_int_equal(o.time_limit_s, 600);
	assert_int_equal(options_from_environment(&o, env, &err), 0);
	assert_string_equal(o.name, "env");
	assert_string_equal(o.gpus, "h100:2");
	assert_false(o.no_requeue || o.hold);
	assert_true(o.append);
	assert_int_equal(o.cpus, 3);
	assert_int_equal(options_from_words(&o, LEN(cli), cli, &err), 0);
	assert_string_equal(o.name, "cli");
	assert_int_equal(o.time_limit_s, UINT32_MAX);
	assert_int_equal(o.mem_mb, 1024);
	assert_int_equal(o.nice, 7);
	assert_int_equal(o.n_labels, 3);
	assert_string_equal(o.labels[0], "a=1");
	assert_string_equal(o.labels[1], "b=2");
	assert_string_equal(o.labels[2], "c=3");
	options_clear(&o);
	assert_null(o.name);
	assert_int_equal(o.n_labels, 0);
}

static void test_sources_are_named(void **state)
{
	static const char script[] = "#!/bin/sh\n\n#GPUSCHED --time=soon\n";
	static char *const bad[] = { "GSUBMIT_TIME=soon", NULL };
	static char *const unknown[] = { "GSUBMIT_GPU=1", NULL };
	static char *const not_here[] = { "GSUBMIT_TOKEN=1", NULL };
	static char *const flag[] = { "GSUBMIT_HOLD=maybe", NULL };
	struct submit_options o;
	struct error err;

	(void)state;
	options_init(&o);
	assert_int_equal(options_from_script(&o, script, sizeof(script) - 1, NULL, &err), -1);
	assert_memory_equal(err.text, "3: --time=soon: ", 16);
	assert_int_equal(options_from_environment(&o, bad, &err), -1);
	assert_memory_equal(err.text, "GSUBMIT_TIME=soon: ", 19);
	assert_int_equal(options_from_environment(&o, unknown, &err), -1);
	assert_string_equal(err.text, "GSUBMIT_GPU: no option has this variable");
	assert_int_equal(options_from_environment(&o, not_here, &err), -1);
	assert_int_equal(options_from_environment(&o, flag, &err), -1);
	assert_string_equal(err.text, "GSUBMIT_HOLD=maybe: expected yes or no");
	options_clear(&o);
}

/* What is asked of places, and what of it reaches the spec. */
static void test_places(void **state)
{
	static char *words[] = { "-q", "high", "-N", "2-8", "--gpus-per-node=h100:4", "-C",
		"nvlink&ib", "--prefer=fast", "-w", "h[01-04]", "-x", "h03", "--exclusive", "-L",
		"trtllm:2", "--max-wait=2", "--gpu-mem-min=80G" };
	static char *again[] = { "--licences=other", "-G4", "--nodes=3",
		"--constraint=", "--no-exclusive", "--max-wait=90s", "--gpu-mem-min=0" };
	struct gpusched_spec spec;
	struct submit_options o;
	struct error err = { .code = ERR_NONE };

	(void)state;
	options_init(&o);
	gpusched_spec_init(&spec);
	assert_int_equal(options_from_words(&o, LEN(words), words, &err), 0);
	options_ask(&o, &spec);
	assert_string_equal(spec.qos, "high");
	assert_int_equal(spec.nodes_min, 2);
	assert_int_equal(spec.nodes_max, 8);
	assert_string_equal(spec.gpus, "h100:4");
	assert_true(spec.gpus_per_node && spec.exclusive);
	assert_string_equal(spec.constraint, "nvlink&ib");
	assert_string_equal(spec.prefer, "fast");
	assert_string_equal(spec.nodelist, "h[01-04]");
	assert_string_equal(spec.exclude, "h03");
	assert_string_equal(spec.licences, "trtllm:2");
	assert_int_equal(spec.max_wait_s, 120);
	assert_int_equal(spec.gpu_mem_min_mb, 81920);

	assert_int_equal(options_from_words(&o, LEN(again), again, &err), 0);
	options_ask(&o, &spec);
	assert_string_equal(spec.licences, "other");
	assert_string_equal(spec.gpus, "4");
	assert_false(spec.gpus_per_node || spec.exclusive);
	assert_int_equal(spec.nodes_min, 3);
	assert_int_equal(spec.nodes_max, 3);
	assert_string_equal(spec.constraint, "");
	assert_int_equal(spec.max_wait_s, 90);
	assert_int_equal(spec.gpu_mem_min_mb, 0);
	options_clear(&o);
}

static void test_shares(void **state)
{
	char *words[] = { "--gpu-mem=20G", "--gpu-mem-burst=30G", "--gpu-share=12.5%" };
	char *bad[] = { "--gpu-share=25", "--gpu-share=0%", "--gpu-share=101%",
		"--gpu-share=100.1%", "--gpu-share=%", "--gpu-share=-1%", "--gpu-share=1.25%",
		"--gpu-mem=20X" };
	struct submit_options o;
	struct gpusched_spec spec;
	struct error err;

	(void)state;
	gpusched_spec_init(&spec);
	options_init(&o);
	assert_int_equal(options_from_words(&o, LEN(words), words, &err), 0);
	options_ask(&o, &spec);
	assert_int_equal(spec.gpu_mem_mb, 20480);
	assert_int_equal(spec.gpu_mem_burst_mb, 30720);
	assert_int_equal(spec.gpu_share_milli, 125);
	for (size_t i = 0; i < LEN(bad); i++) {
		assert_int_equal(options_from_words(&o, 1, &bad[i], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	options_clear(&o);
}

/* What the spec says is in the request that goes to the controller. */
static void test_request(void **state)
{
	struct gpusched_spec spec;
	Gpusched__JobRequest *r;
	struct error err = { .code = ERR_NONE };

	(void)state;
	gpusched_spec_init(&spec);
	spec.qos = "high";
	spec.gpus = "h100:4|2";
	spec.gpus_per_node = true;
	spec.nodes_min = 2;
	spec.nodes_max = 8;
	spec.licences = "trtllm:2";
	spec.exclude = "h03";
	spec.exclusive = true;
	spec.max_wait_s = 9;
	spec.gpu_mem_min_mb = 5;
	spec.gpu_mem_mb = 6;
	spec.gpu_mem_burst_mb = 7;
	spec.gpu_share_milli = 8;
	r = spec_request(&spec, &err);
	assert_non_null(r);
	assert_string_equal(r->qos, "high");
	assert_int_equal(r->n_gpus, 2);
	assert_true(r->gpus_per_node && r->exclusive);
	assert_int_equal(r->nodes_min, 2);
	assert_int_equal(r->nodes_max, 8);
	assert_string_equal(r->licences, "trtllm:2");
	assert_string_equal(r->exclude, "h03");
	assert_string_equal(r->constraint, "");
	assert_int_equal(r->max_wait_s, 9);
	assert_int_equal(r->gpu_mem_min_mb, 5);
	assert_int_equal(r->gpu_mem_mb, 6);
	assert_int_equal(r->gpu_mem_burst_mb, 7);
	assert_int_equal(r->gpu_share_milli, 8);
	gpusched__job_request__free_unpacked(r, NULL);
	spec.constraint = "a\nb";
	assert_null(spec_request(&spec, &err));
	assert_int_equal(err.code, ERR_USAGE);
}

static void test_label_limit(void **state)
{
	const struct option_row *row = option_by_name("label", 5);
	struct submit_options o;
	char text[32];

	(void)state;
	options_init(&o);
	for (int i = 0; i < LABELS_MAX; i++) {
		snprintf(text, sizeof(text), "k%d=%d", i, i);
		assert_int_equal(options_set(&o, row, text, NULL), 0);
	}
	assert_int_equal(options_set(&o, row, "k5=again", NULL), 0);
	assert_int_equal(options_set(&o, row, "more=1", NULL), -1);
	assert_int_equal(o.n_labels, LABELS_MAX);
	assert_string_equal(o.labels[5], "k5=again");
	options_clear(&o);
}

/* The table itself: names and letters once, a help, fields that are there. */
static void test_table(void **state)
{
	size_t n;
	const struct option_row *rows = option_rows(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(option_by_name(rows[i].name, strlen(rows[i].name)), &rows[i]);
		if (rows[i].letter)
			assert_ptr_equal(option_by_letter(rows[i].letter), &rows[i]);
		assert_non_null(rows[i].set);
		assert_true(strlen(rows[i].help) > 10);
		assert_true(rows[i].offset < sizeof(struct submit_options));
	}
	assert_null(option_by_name("gpu", 3));
	assert_null(option_by_name("", 0));
	assert_null(option_by_letter(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_export),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_sources_are_named),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_label_limit),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
