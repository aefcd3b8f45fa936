/* test_sbatch.c - cmds/slurm/sbatch_options.h: what #SBATCH lines ask for
 *
 *	test_sbatch --manual	prints what man/gsubmit.1 must hold
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/options/tasks.h"
#include "cmds/slurm/sbatch_command_line.h"
#include "cmds/slurm/sbatch_options.h"
#include "cmds/slurm/script_warnings.h"
#include "cmds/slurm/slurmenv.h"
#include "common/base/xalloc.h"
#include "testsuite/unit/lib/asked.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* --- the lines ------------------------------------------------------------------------------ */

static const struct {
	const char *head;        /* of the script */
	const char *set, *error; /* NULL: not that */
	const char *warned;
	unsigned late;
} lines[] = {
	/* as sites publish them */
	{ "#SBATCH --job-name=train   # name\n#SBATCH --partition=gpu\n#SBATCH --gres=gpu:h100:2\n"
	  "#SBATCH --cpus-per-task=8\n#SBATCH --mem=64G\n#SBATCH --time=1-12:00:00\n"
	  "#SBATCH --output=logs/%x-%j.out\n#SBATCH --error=logs/%x-%j.err\n",
	        "J=train p=gpu G/node=h100:2 o=logs/%x-%j.out e=logs/%x-%j.err c=8 mem=65536 "
	        "t=129600",
	        NULL, "", 0 },
	{ "#SBATCH -J t -p gpu -A vision -q high -t 30 -N 2 -c4 -G2 -o a -e b -i c -D /d -H -W\n",
	        "J=t p=gpu A=vision q=high G=2 i=c o=a e=b D=/d c=4 N=2 N max=2 t=1800 hold=1 "
	        "wait=1",
	        NULL, "", 0 },
	{ "#SBATCH -n4 --mem-per-cpu=2G --ntasks-per-node 4 -C a100 -w h1 -x h2 -L x:1\n",
	        "C=a100 w=h1 x=h2 L=x:1 n=4 n/node=4 mem/cpu=2048", NULL, "", 0 },
	{ "#SBATCH --gpus-per-task=a100:1 --cpus-per-gpu=4 --mem-per-gpu 32G\n",
	        "G/task=a100:1 c/gpu=4 mem/gpu=32768", NULL, "", 0 },
	{ "#SBATCH --gpus-per-node=4 --exclusive --nice --open-mode=append --no-requeue\n",
	        "G/node=4 nice=100 no-requeue=1 append=1 exclusive=1", NULL, "", 0 },
	{ "#SBATCH --export=ALL,A=1 --signal=B:USR1@60 --parsable --nice=5 --requeue\n",
	        "export=ALL,A=1 sig=10 before=60 nice=5 parsable=1", NULL, "", 0 },
	/* where lines are read, and where not */
	{ "#SBATCH -J a\n\n  # x\n#SBATCH -c 2\ntrue\n#SBATCH -J b\n", "J=a c=2", NULL, "", 7 },
	{ "set -e\n#SBATCH -J b\n", "", NULL, "", 3 },
	{ "##SBATCH -J a\n# SBATCH -J b\n #SBATCH -J c\n#sbatch -J d\n", "", NULL, "", 0 },
	{ "#SBATCH--time=5\n", "t=300", NULL, "", 0 },
	{ "#SBATCHES -J a\n", NULL, "2: '#SBATCH' needs a blank behind it", "", 0 },
	{ "#SBATCH\n#SBATCH \t\n#SBATCH # -J x\n", "", NULL, "", 0 },
	{ "#SBATCH -J last", "J=last", NULL, "", 0 },
	{ "#SBATCH\t-J\ttab\t# more\n", "J=tab", NULL, "", 0 },
	{ "#SBATCH -J a\r\n", NULL, "2: the line ends as in DOS (CR LF)", "", 0 },
	{ "#GPUSCHED -J ours\n#SBATCH -c 2\n", "c=2", NULL, "", 0 },
	/* quotes: a # outside of them ends the line, a backslash is one also inside */
	{ "#SBATCH --job-name=\"two words\" -o 'a # b'\n", "J=two words o=a # b", NULL, "", 0 },
	{ "#SBATCH -J a#b --time=3\n", "J=a", NULL, "", 0 },
	{ "#SBATCH -J 'a \\b'\n", "J=a b", NULL, "", 0 },
	{ "#SBATCH -J \"a\n#SBATCH b\"\n", NULL, "2: the quote \" is not closed on this line", "",
	        0 },
	/* abbreviations */
	{ "#SBATCH --part=p --job-n x --ntasks=2 --exc=h1\n", NULL,
	        "2: '--exc=h1': could be several options", "", 0 },
	{ "#SBATCH --part=p --job-n x --ntasks=2 --exclud=h1\n", "J=x p=p x=h1 n=2", NULL, "", 0 },
	{ "#SBATCH --cpus=2\n", NULL, "2: '--cpus=2': could be several options", "", 0 },
	{ "#SBATCH --mem=2G\n", "mem=2048", NULL, "", 0 }, /* whole, though others begin so */
	/* values */
	{ "#SBATCH -t 0\n", "t=4294967295", NULL, "", 0 },
	{ "#SBATCH --time= -c 2\n", NULL, "", "", 0 },
	{ "#SBATCH -t infinite\n", "t=4294967295", NULL, "", 0 },
	{ "#SBATCH -t 1:30\n", "t=90", NULL, "", 0 },
	{ "#SBATCH -t 2:0:0\n", "t=7200", NULL, "", 0 },
	{ "#SBATCH -t 2-0\n", "t=172800", NULL, "", 0 },
	{ "#SBATCH -t 1-2:3\n", "t=93780", NULL, "", 0 },
	{ "#SBATCH --mem=2GB\n", "mem=2048", NULL, "", 0 },
	{ "#SBATCH --mem=4096\n", "mem=4096", NULL, "", 0 },
	{ "#SBATCH --mem=0\n#SBATCH --exclusive\n", "all mem=1 exclusive=1", NULL, "", 0 },
	{ "#SBATCH --mem=0 --mem=2G\n", "mem=2048", NULL, "", 0 },
	{ "#SBATCH --mem=0 --mem-per-cpu=2G\n", NULL, "2: --mem-per-cpu=2G: conflicts with --mem",
	        "", 0 },
	{ "#SBATCH --mem-per-cpu=0\n", NULL, "2: --mem-per-cpu=0: must be more than nothing", "",
	        0 },
	{ "#SBATCH --open-mode=a\n", "append=1", NULL, "", 0 },
	{ "#SBATCH -c 2 --open-mode=App\n#SBATCH --open-mode=T\n", "c=2", NULL, "", 0 },
	{ "#SBATCH --open-mode=appendix\n", NULL,
	        "2: --open-mode=appendix: expected append or truncate", "", 0 },
	{ "#SBATCH --tasks=4\n", "n=4", NULL, "", 0 },
	{ "#SBATCH --tasks-per-node 2\n", "n/node=2", NULL, "", 0 },
	{ "#SBATCH -C [rack1|rack2]\n", NULL,
	        "2: --constraint=[rack1|rack2]: a feature for so many of the nodes, or one of "
	        "several for all of them, cannot be asked for",
	        "", 0 },
	{ "#SBATCH -C a*2\n", NULL, "", "", 0 },
	{ "#SBATCH -d 4812\n", "d=afterany:4812", NULL, "", 0 },
	{ "#SBATCH -d 4812:4813\n", "d=afterany:4812:4813", NULL, "", 0 },
	{ "#SBATCH -d afterok:1\n", "d=afterok:1", NULL, "", 0 },
	{ "#SBATCH -o none -e NONE -i none\n", "i=/dev/null o=/dev/null e=/dev/null", NULL, "", 0 },
	{ "#SBATCH -o %x.%u.%N.%j.%A.%a.%%\n", "o=%x.%u.%N.%j.%A.%a.%%", NULL, "", 0 },
	{ "#SBATCH --gres=gpu\n", "G/node=1", NULL, "", 0 },
	{ "#SBATCH --gres=gpu:2\n", "G/node=2", NULL, "", 0 },
	{ "#SBATCH --gres=gpu:h100\n", "G/node=h100:1", NULL, "", 0 },
	{ "#SBATCH --gres=gres:gpu:1g.10gb:1\n", "G/node=1g.10gb:1", NULL, "", 0 },
	{ "#SBATCH --gres=none\n", "G/node=0", NULL, "", 0 },
	{ "#SBATCH --gres=shard:2\n", NULL, "2: --gres=shard:2: a GPU is not cut into shards here",
	        "", 0 },
	{ "#SBATCH --gres=mps:50\n", "G/node=1 share=500", NULL, "", 0 },
	{ "#SBATCH --gres=mps:l40s:25\n", "G/node=l40s:1 share=250", NULL, "", 0 },
	{ "#SBATCH --gres=mps:50 -G 2\n", "G=2", NULL, "", 0 },
	{ "#SBATCH --gres=mps:101\n", NULL,
	        "2: --gres=mps:101: expected mps:PERCENT or mps:TYPE:PERCENT, 1 to 100 of one "
	        "GPU",
	        "", 0 },
	{ "#SBATCH --gres=mps\n", NULL, "", "", 0 },
	{ "#SBATCH --gres=gpu:1,nvme:1\n", NULL, "", "", 0 },
	{ "#SBATCH --gres=gpu:a:1,gpu:b:1\n", NULL, "", "", 0 },
	{ "#SBATCH -c=2\n", NULL, "", "", 0 },
	{ "#SBATCH -p a,b\n", "p=a,b", NULL, "", 0 },
	{ "#SBATCH --exclusive=user\n", NULL, "", "", 0 },
	{ "#SBATCH --signal=R:USR1@60\n", NULL, "", "", 0 },
	{ "#SBATCH --job-name\n#SBATCH x\n", NULL, "2: --job-name: needs a value on its line", "",
	        0 },
	{ "#SBATCH --hold=yes\n", NULL, "2: --hold: takes no value", "", 0 },
	/* what cannot be together, and the later one where it can */
	{ "#SBATCH --mem=1G\n#SBATCH --mem-per-cpu=1G\n", NULL,
	        "3: --mem-per-cpu=1G: conflicts with --mem", "", 0 },
	{ "#SBATCH --cpus-per-gpu=2 -c 3\n", NULL,
	        "2: --cpus-per-task=3: conflicts with --cpus-per-gpu", "", 0 },
	{ "#SBATCH --mem=1G\n#SBATCH --mem=2G\n", "mem=2048", NULL, "", 0 },
	{ "#SBATCH -G 4 --gres=gpu:2\n", "G/node=2", NULL, "", 0 },
	/* nothing of ours */
	{ "#SBATCH --mail-type=END,ARRAY_TASKS,STAGE_OUT,TIME_LIMIT_80 --mail-user a@b -c 2\n",
	        "c=2", NULL, "2: --mail-type: there is no mail for STAGE_OUT, TIME_LIMIT_80;", 0 },
	{ "#SBATCH --segment=2 --stepmgr --tres-bind=gpu:closest\n", "", NULL,
	        "2: --segment is ignored: nodes are chosen as close together as the topology "
	        "allows;2: --stepmgr is ignored: steps are kept by the first node of their job;"
	        "2: --tres-bind is ignored: where processes run on a node is left to the kernel "
	        "and to the script;",
	        0 },
	{ "#SBATCH --tres-per-task=cpu:2\n", NULL,
	        "2: --tres-per-task: --cpus-per-task and --gpus-per-task say how many", "", 0 },
	{ "#SBATCH -sO --contiguous\n", "", NULL,
	        "2: --oversubscribe is ignored: the job gets CPUs of its own;"
	        "2: --overcommit is ignored: each task gets its CPUs;"
	        "2: --contiguous is ignored: nodes are chosen as close together as the topology "
	        "allows;",
	        0 },
	{ "#SBATCH --tmp=10G\n", "tmp=10240", NULL, "", 0 },
	{ "#SBATCH --wckey=submitit --priority=TOP -c 2\n", "c=2", NULL, "", 0 },
	{ "#SBATCH -M all -c 2\n", "c=2 M=all", NULL, "", 0 },
	{ "#SBATCH --reservation=x\n", NULL, "2: --reservation: there are no reservations yet", "",
	        0 },
	{ "#SBATCH --wrap=x\n", NULL, "2: --wrap: only on the command line", "", 0 },
	{ "#SBATCH --nosuch=1\n", NULL,
	        "2: '--nosuch=1': neither sbatch nor gsubmit has such an option", "", 0 },
	{ "#SBATCH -Z\n", NULL, "2: '-Z': neither sbatch nor gsubmit has such an option", "", 0 },
	{ "#SBATCH --time = 5\n", NULL, "", "", 0 },
	{ "#SBATCH -c 2 stray\n", NULL, "2: Invalid directive found in batch script: stray", "",
	        0 },
	{ "#SBATCH -\n", NULL, "2: Invalid directive found in batch script: -", "", 0 },
	{ "#SBATCH --\n", NULL, "2: Invalid directive found in batch script: --", "", 0 },
	{ "#SBATCH -c 1\n#SBATCH hetjob\n#SBATCH -c 2\n", "c=1", NULL, "", 0 },
	{ "#SBATCH -c 1\n#SBATCH packjob # next\n#SBATCH --nosuch=1\n", NULL,
	        "4: '--nosuch=1': neither sbatch nor gsubmit has such an option", "", 0 },
	{ "#SBATCH -c 1 hetjob\n", NULL, "2: Invalid directive found in batch script: hetjob", "",
	        0 },
	{ "#SBATCH hetjob -c 1\n", NULL, "2: hetjob stands alone on its line", "", 0 },
	{ "#SBATCH -c 1 : -c 2\n", NULL, "2: ':' separates components on srun's command line alone",
	        "", 0 },
};

static void test_lines(void **state)
{
	char shown[1024];

	(void)state;
	for (size_t i = 0; i < LEN(lines); i++) {
		char *script = xasprintf("#!/bin/bash\n%s", lines[i].head);
		struct submit_options o;
		struct asked_seen seen = { "" };
		struct error err = { .code = ERR_NONE };
		unsigned late = 0;
		int rc;

		options_init(&o);
		rc = sbatch_from_script(&o, script, strlen(script), asked_warning, &seen, &late, &err);
		if (lines[i].error) {
			if (rc != -1)
				fail_msg("accepted: %s", script);
			assert_int_equal(err.code, ERR_USAGE);
			if (*lines[i].error)
				assert_string_equal(err.text, lines[i].error);
		} else {
			assert_string_equal(err.text, "");
			assert_int_equal(rc, 0);
			asked_show(&o, shown, sizeof(shown));
			assert_string_equal(shown, lines[i].set);
			assert_string_equal(seen.text, lines[i].warned);
			assert_int_equal(late, lines[i].late);
			assert_int_equal(o.slurm_env, *lines[i].set || *lines[i].warned);
		}
		options_clear(&o);
		free(script);
	}
}

/* #SBATCH gives way to #GPUSCHED, also where two options say the same in different ways. */
static void test_precedence(void **state)
{
	static const char script[] =
	        "#!/bin/bash\n"
	        "#GPUSCHED --mem=1G -J ours --no-slurm-env\n"
	        "#SBATCH --mem-per-cpu=9G -J theirs -c 3 --cpus-per-task=2 -p gpu\n";
	static char *cli[] = { "--cpus-per-gpu=5", "-G2" };
	struct submit_options o;
	struct error err = { .code = ERR_NONE };
	char shown[256];

	(void)state;
	options_init(&o);
	assert_int_equal(
	        sbatch_from_script(&o, script, sizeof(script) - 1, asked_warning, NULL, NULL, &err),
	        0);
	assert_true(o.slurm_env);
	o.source++;
	assert_int_equal(options_from_script(&o, script, sizeof(script) - 1, NULL, &err), 0);
	assert_false(o.slurm_env);
	o.source++;
	assert_int_equal(options_from_words(&o, LEN(cli), cli, &err), 0);
	asked_show(&o, shown, sizeof(shown));
	assert_string_equal(shown, "J=ours p=gpu G=2 c/gpu=5 mem=1024");
	assert_int_equal(tasks_settle(&o, &err), 0);
	assert_int_equal(o.cpus, 10);
	options_clear(&o);
}

/* What sbatch tells a job of its options, and when. */
static const struct {
	const char *words, *set;
} envs[] = {
	{ "-J x", "PATH=/bin SLURM_JOB_ID=" },
	{ "-n 4 -c 2", "PATH=/bin SLURM_JOB_ID= SLURM_NTASKS=4 SLURM_NPROCS=4 "
	               "SLURM_TASKS_PER_NODE=4 SLURM_CPUS_PER_TASK=2" },
	{ "--ntasks-per-node=2 --mem-per-cpu=1G",
	        "PATH=/bin SLURM_JOB_ID= SLURM_NTASKS=2 SLURM_NPROCS=2 SLURM_NTASKS_PER_NODE=2 "
	        "SLURM_TASKS_PER_NODE=2 SLURM_MEM_PER_CPU=1024" },
	{ "-N 2 -n 2", "PATH=/bin SLURM_JOB_ID= SLURM_NTASKS=2 SLURM_NPROCS=2" },
	{ "-G h100:2 --cpus-per-gpu=3 --mem-per-gpu=1G",
	        "PATH=/bin SLURM_JOB_ID= SLURM_CPUS_PER_GPU=3 SLURM_MEM_PER_GPU=1024 "
	        "SLURM_GPUS=h100:2" },
	{ "-G a:1|b:2", "PATH=/bin SLURM_JOB_ID=" },
	{ "--gpus-per-node=2", "PATH=/bin SLURM_JOB_ID= SLURM_GPUS_PER_NODE=2" },
	{ "--gpus-per-task=2", "PATH=/bin SLURM_JOB_ID= SLURM_GPUS_PER_TASK=2" },
	{ "--gres=gpu:2", "PATH=/bin SLURM_JOB_ID=" },
	{ "--export=ALL,A=1", "PATH=/bin SLURM_JOB_ID= SLURM_EXPORT_ENV=ALL,A=1" },
};

static void test_environment(void **state)
{
	char *const base[] = { "PATH=/bin", NULL };
	char shown[1024];

	(void)state;
	for (size_t i = 0; i < LEN(envs); i++) {
		char *text = xstrdup(envs[i].words), *words[16], **env;
		struct submit_options o;
		size_t used = 0;

		options_init(&o);
		assert_int_equal(options_from_words(&o, asked_words(text, words, 16), words, NULL), 0);
		env = slurmenv_add(base, &o);
		for (char **e = env; *e; e++)
			used += (size_t)snprintf(shown + used, sizeof(shown) - used, "%s%s",
			        e == env ? "" : " ", *e);
		assert_string_equal(shown, envs[i].set);
		free(env);
		options_clear(&o);
		free(text);
	}
}

/* --- the table ------------------------------------------------------------------------------ */

static void test_table(void **state)
{
	size_t n;
	const struct sbatch_row *rows = sbatch_rows(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		const struct option_row *ours = option_by_name(rows[i].name, strlen(rows[i].name));
		bool taken = sbatch_kind(&rows[i]) <= SBATCH_BECOMES;

		if (i)
			assert_true(strcmp(rows[i - 1].name, rows[i].name) < 0);
		/* what is taken there is, under the same letter; the others say why not */
		if (taken && !sbatch_ours(&rows[i]))
			fail_msg("--%s", rows[i].name);
		if (taken && ours && ours->letter != rows[i].letter)
			fail_msg("--%s: -%c", rows[i].name, rows[i].letter);
		assert_int_equal(rows[i].kind == SBATCH_SAME, !*rows[i].text);
		if (rows[i].kind == SBATCH_BECOMES && !rows[i].convert)
			assert_true(ours == NULL && sbatch_ours(&rows[i]) != NULL);
		else if (rows[i].kind != SBATCH_TAKEN)
			assert_int_equal(rows[i].kind == SBATCH_BECOMES, rows[i].convert != NULL);
		for (size_t k = 0; rows[i].letter && k < i; k++)
			assert_int_not_equal(rows[k].letter, rows[i].letter);
	}
}

#define BEGIN ".\\\" options of sbatch: begin\n"
#define END   ".\\\" options of sbatch: end\n"

static char *read_all(FILE *f)
{
	char *text = xcalloc(1, 262144);

	text[fread(text, 1, 262143, f)] = '\0';
	fclose(f);
	return text;
}

static void test_manual(void **state)
{
	FILE *man = fopen(TOP_SRCDIR "/man/gsubmit.1", "r"), *list = tmpfile();
	char *text, *want, *begin, *end;

	(void)state;
	assert_non_null(man);
	assert_non_null(list);
	sbatch_manual(list);
	rewind(list);
	text = read_all(man);
	want = read_all(list);
	begin = strstr(text, BEGIN);
	assert_non_null(begin);
	begin += strlen(BEGIN);
	end = strstr(begin, END);
	assert_non_null(end);
	*end = '\0';
	assert_string_equal(begin, want);
	free(text);
	free(want);
}

static void test_lines_of_others(void **state)
{
	static const struct {
		const char *script;
		unsigned line;
		const char *mark;
	} rows[] = {
		{ "#!/bin/bash\n#PBS -N x\n#BSUB -J x\n", 2, "#PBS" },
		{ "#!/bin/bash\n# x\n\n#BSUB\t-J x\n#PBS -N x\n", 4, "#BSUB" },
		{ "#!/bin/bash\n##PBS -N x\n# PBS -N x\n#PBSX -N\n#PBS\n", 0, NULL },
		{ "#!/bin/bash\ntrue\n#PBS -N x\n", 0, NULL },
		{ "", 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		const char *mark = NULL;

		assert_int_equal(script_finds_others(rows[i].script, strlen(rows[i].script), &mark),
		        rows[i].line);
		if (rows[i].mark)
			assert_string_equal(mark, rows[i].mark);
	}
}

/* Unknown: what might have been meant. */
static void test_near_names(void **state)
{
	static const char *const rows[][2] = {
		{ "#!/bin/sh\n#SBATCH --jobname=x\n", "--job-name" },
		{ "#!/bin/sh\n#SBATCH --partitoin x\n", "--partition" },
		{ "#!/bin/sh\n#SBATCH --nosuch=1\n", "" },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct submit_options o;
		struct asked_seen seen = { "" };
		struct error err = { .code = ERR_NONE };

		options_init(&o);
		assert_int_equal(sbatch_from_script(&o, rows[i][0], strlen(rows[i][0]), asked_warning,
		                         &seen, NULL, &err),
		        -1);
		assert_string_equal(err.hint, rows[i][1]);
		options_clear(&o);
	}
}

/* The same options on a command line: what is set, what is said. */
static void test_command_line(void **state)
{
	static const struct {
		const char *option, *value;
		const char *row, *taken, *warning, *error;
	} rows[] = {
		{ "job-name", "x", "job-name", "x", "", NULL },
		{ "gpu-mem", "20G", "gpu-mem", "20G", "", NULL }, /* ours alone */
		{ "wrap", "true", "wrap", "true", "", NULL },
		{ "test-only", NULL, "test-only", NULL, "", NULL },
		{ "hold", NULL, "hold", NULL, "", NULL },
		{ "time", "0", "time", "unlimited", "", NULL },
		{ "dependency", "12", "dependency", "afterany:12", "", NULL },
		{ "tasks", "3", "ntasks", "3", "", NULL },
		{ "mail-type", "END,STAGE_OUT", "mail-type", "END",
		        "--mail-type: there is no mail for STAGE_OUT", NULL },
		{ "wckey", "x", NULL, NULL, "", NULL },
		{ "priority", "7", NULL, NULL, "", NULL },
		{ "clusters", "all", "clusters", "all", "", NULL },
		{ "use-min-nodes", NULL, NULL, NULL, "--use-min-nodes is ignored: --nodes says on how many", NULL },
		{ "partition", "a,b", "partition", "a,b", "", NULL },
		{ "reservation", "x", NULL, NULL, "",
		        "--reservation: there are no reservations yet" },
	};
	size_t n, i, k;
	struct argp_option *table =
	        options_for_argp(NULL, &n);

	(void)state;
	table = sbatch_args_for_argp(table, n);
	for (i = 0; i < LEN(rows); i++) {
		struct sbatch_arg_taken taken;
		struct error err = { .code = ERR_NONE };

		for (k = 0; !table[k].name || strcmp(table[k].name, rows[i].option); k++)
			assert_true(table[k].name || table[k].doc);
		assert_int_equal(sbatch_args_take(table[k].key, rows[i].value, &taken, &err),
		        rows[i].error ? -1 : 0);
		assert_string_equal(err.text, rows[i].error ? rows[i].error : "");
		if (rows[i].error)
			continue;
		assert_string_equal(taken.warning, rows[i].warning);
		assert_int_equal(taken.row != NULL, rows[i].row != NULL);
		if (!rows[i].row)
			continue;
		assert_string_equal(taken.row->name, rows[i].row);
		assert_int_equal(taken.value != NULL, rows[i].taken != NULL);
		if (rows[i].taken)
			assert_string_equal(taken.value, rows[i].taken);
	}
	/* Each of sbatch's options is there once, and no two have one key. */
	for (i = 0; table[i].name || table[i].doc; i++)
		for (k = 0; table[i].name && k < i; k++)
			if (table[k].name && (table[k].key == table[i].key ||
			                             !strcmp(table[k].name, table[i].name)))
				fail_msg("--%s and --%s", table[k].name, table[i].name);
	free(table);
}

static void test_calls_of_srun(void **state)
{
	static const struct {
		const char *script;
		unsigned line;
	} rows[] = {
		{ "#!/bin/bash\n#SBATCH -n 1\nsrun ./x\nsrun ./y\n", 3 },
		{ "#!/bin/sh\n\t srun", 2 },
		{ "#!/bin/sh\nsrun\t-n 1 x\n", 2 },
		{ "#!/bin/sh\n# srun x\necho srun\nsrunner\n", 0 },
		{ "#!/usr/bin/python3\nsrun = 1\n", 0 },
		{ "#!/bin/sh", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
		        script_finds_srun(rows[i].script, strlen(rows[i].script)), rows[i].line);
}

static void variables_as_sbatch_reads_them(void **state)
{
	static const struct {
		char *env[4];
		const char *want, *error;
	} cases[] = {
		{ { (char *)"SBATCH_TIMELIMIT=90", (char *)"SBATCH_PARTITION=p1" }, "t=5400 p=p1 ",
		        NULL },
		{ { (char *)"SBATCH_NO_REQUEUE=", (char *)"SBATCH_MEM_PER_NODE=2G" },
		        "mem=2048 once ", NULL },
		{ { (char *)"SBATCH_NO_REQUEUE=0", (char *)"SBATCH_WAIT=7" }, "wait ", NULL },
		{ { (char *)"SBATCH_WAIT=no", (char *)"SBATCH_NTASKS=4", (char *)"SBATCHX=1" }, "",
		        NULL },
		{ { (char *)"SBATCH_ARRAY_INX=1-3", (char *)"SBATCH_HINT=x" }, "a=1-3 warned ",
		        NULL },
		{ { (char *)"SBATCH_TIMELIMIT=soon" }, NULL, "SBATCH_TIMELIMIT" },
		{ { (char *)"SBATCH_RESERVATION=x" }, NULL, "SBATCH_RESERVATION" },
	};

	(void)state;
	for (size_t i = 0; i < LEN(cases); i++) {
		struct submit_options o;
		struct asked_seen seen = { "" };
		struct error err;
		char have[200] = "";
		size_t n = 0;
		int rc;

		options_init(&o);
		rc = sbatch_from_environment(&o, cases[i].env, asked_warning, &seen, &err);
		assert_int_equal(rc, cases[i].error ? -1 : 0);
		if (cases[i].error)
			assert_non_null(strstr(err.text, cases[i].error));
		if (o.time_limit_s)
			n += (size_t)snprintf(have + n, sizeof(have) - n, "t=%u ", o.time_limit_s);
		if (o.mem_mb)
			n += (size_t)snprintf(
			        have + n, sizeof(have) - n, "mem=%u ", (unsigned)o.mem_mb);
		n += (size_t)snprintf(have + n, sizeof(have) - n, "%s%s%s", o.partition ? "p=" : "",
		        o.partition ? o.partition : "", o.partition ? " " : "");
		n += (size_t)snprintf(have + n, sizeof(have) - n, "%s%s%s", o.array ? "a=" : "",
		        o.array ? o.array : "", o.array ? " " : "");
		snprintf(have + n, sizeof(have) - n, "%s%s%s", o.no_requeue ? "once " : "",
		        o.wait ? "wait " : "", *seen.text ? "warned " : "");
		if (cases[i].want)
			assert_string_equal(have, cases[i].want);
		options_clear(&o);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_lines_of_others),
		cmocka_unit_test(test_near_names),
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_calls_of_srun),
		cmocka_unit_test(variables_as_sbatch_reads_them),
	};

	if (argc > 1 && !strcmp(argv[1], "--manual")) {
		sbatch_manual(stdout);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
