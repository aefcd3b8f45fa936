/* test_tasks.c - cmds/options/tasks.h, het.h: tasks and components become what a node is asked for */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/options/het.h"
#include "cmds/options/tasks.h"
#include "cmds/slurm/sbatch_options.h"
#include "common/base/xalloc.h"
#include "testsuite/unit/lib/asked.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *words; /* with blanks between */
	const char *set, *error;
} sums[] = {
	{ "-n 4", "c=4 n=4", NULL },
	{ "-n 1", "n=1", NULL }, /* the partition may give more */
	{ "-n 4 -c 2", "c=8 n=4", NULL },
	{ "-c 2", "c=2", NULL },
	{ "--ntasks-per-node=4 -c 2", "c=8 n/node=4", NULL },
	{ "-n 4 --mem-per-cpu=2G", "c=4 n=4 mem=8192 mem/cpu=2048", NULL },
	{ "--mem-per-cpu=2G", "c=1 mem=2048 mem/cpu=2048", NULL },
	{ "-G 2 --mem-per-gpu=10G --cpus-per-gpu=7", "G=2 c=14 c/gpu=7 mem=20480 mem/gpu=10240",
	        NULL },
	{ "-N 2 -G a:4 --cpus-per-gpu=3", "G=a:4 c=6 c/gpu=3 N=2 N max=2", NULL },
	{ "-N 2 --gpus-per-node=4 --cpus-per-gpu=3", "G/node=4 c=12 c/gpu=3 N=2 N max=2", NULL },
	{ "-w h[1-2] -G 4 --cpus-per-gpu=3", "G=4 w=h[1-2] c=6 c/gpu=3", NULL },
	{ "-n 2 --gpus-per-task=a:2", "G/node=a:4 c=2 n=2", NULL },
	{ "-n 2 --gpus-per-task=a:2|b:1", "G/node=a:4|b:2 c=2 n=2", NULL },
	{ "--gpus-per-task=2", "G/node=any:2", NULL },
	{ "-N 2 -n 2 --gpus-per-task=1 -c 4", "G/node=any:1 c=4 n=2 N=2 N max=2", NULL },
	{ "-N 2 --ntasks-per-node=1", "n/node=1 N=2 N max=2", NULL },
	{ "-n 2 --ntasks-per-node=1", "n=2 n/node=1 N=2 N max=2", NULL },
	{ "-N 2-4", "N=2 N max=4", NULL },
	/* GPUs said in several ways come to the same */
	{ "-G 4 --gpus-per-node=2", "G/node=2 N=2 N max=2", NULL },
	{ "-G 4 --gres=gpu:2 -N 2", "G/node=2 N=2 N max=2", NULL },
	{ "--gpus-per-node=2 -G 2", "G/node=2", NULL },
	{ "--gpus-per-task=1 --ntasks-per-node=4 --gres=gpu:4", "G/node=4 c=4 n/node=4", NULL },
	{ "-n 2 --gres=gpu:a:2 --gpus-per-task=a:1", "G/node=a:2 c=2 n=2", NULL },
	{ "-G 4 --gpus-per-node=1 -N 2", NULL,
	        "--gpus=4 and --gpus-per-node=1 contradict each other on 2 nodes" },
	{ "-G 3 --gres=gpu:2", NULL, "--gpus=3 and --gres=gpu:2 contradict each other on 1 node" },
	{ "-n 4 --gpus-per-task=1 --gres=gpu:2", NULL,
	        "--gpus-per-task=1 and --gres=gpu:2 contradict each other on 1 node" },
	{ "--gpus-per-node=a:2 -G b:2", NULL,
	        "--gpus=b:2 and --gpus-per-node=a:2 contradict each other on 1 node" },
	/* tasks on several nodes, which srun starts: the fullest node counts */
	{ "-N 2 -n 4", "c=2 n=4 N=2 N max=2", NULL },
	{ "-N 2 -n 5 -c 3", "c=9 n=5 N=2 N max=2", NULL },
	{ "-n 8 --ntasks-per-node=4", "c=4 n=8 n/node=4 N=2 N max=2", NULL },
	{ "-N 2 -n 8 --ntasks-per-node=4 --gpus-per-task=1", "G/node=any:4 c=4 n=8 n/node=4 N=2 N max=2",
	        NULL },
	{ "-N 2-4 -n 2", "n=2 N=2 N max=2", NULL },
	{ "-N 4 -n 2", "n=2 N=2 N max=2", NULL },
	{ "-N 2 -n 4 -G 8", "G/node=any:4 c=2 n=4 N=2 N max=2", NULL },
	{ "-N 2 -n 4 -G 3", "G=3 c=2 n=4 N=2 N max=2", NULL },
	{ "-N 2 -n 9 --ntasks-per-node=4", NULL,
	        "--ntasks=9: 2 nodes with --ntasks-per-node=4 have room for 8" },
	{ "-G 4 --ntasks-per-gpu=2", "G=4 c=8 n=8 n/gpu=2", NULL },
	{ "-n 4 --ntasks-per-gpu=2", "G=2 c=4 n=4 n/gpu=2", NULL },
	{ "-N 2 --gpus-per-node=2 --ntasks-per-gpu=1", "G/node=2 c=2 n=4 n/gpu=1 N=2 N max=2", NULL },
	{ "-n 3 --ntasks-per-gpu=2", NULL, "--ntasks-per-gpu=2: how many GPUs or tasks?" },
	{ "-n 2 --ntasks-per-gpu=2 --gpus-per-task=1", NULL,
	        "--ntasks-per-gpu and --gpus-per-task contradict each other" },
	{ "--cpus-per-gpu=2", NULL, "--cpus-per-gpu: the job asks for no GPU" },
	{ "--mem-per-gpu=2G -G 0", NULL, "--mem-per-gpu: the job asks for no GPU" },
	{ "--gpu-mem=20G -G 0", NULL, "--gpus=0: --gpu-mem asks for a part of a GPU" },
	{ "--gpu-share=20% --gres=none", NULL, "--gpus=0: --gpu-share asks for a part of a GPU" },
	{ "--mem-per-gpu=2G --cpus-per-gpu=3 --gpu-mem=20G", "c=3 c/gpu=3 mem=2048 mem/gpu=2048",
	        NULL },
	{ "-G a:1|b:2 --cpus-per-gpu=2", NULL,
	        "--cpus-per-gpu: the alternatives of --gpus=a:1|b:2 differ in number" },
	{ "-N 2 -G 3 --cpus-per-gpu=2", NULL,
	        "--cpus-per-gpu: --gpus=3 cannot be shared equally by the nodes" },
	{ "-n 1000000 -c 1000000", NULL, "--cpus-per-task=1000000 times 1000000: too much" },
	{ "-n 1000000 --gpus-per-task=2", NULL, "" },
	{ "--mem=0", NULL, "--mem=0 requires --exclusive: only a job that is alone on its node "
	        "can have all of its memory" },
	{ "--mem=0 --exclusive -c 2", "c=2 all mem=1 exclusive=1", NULL },
};

static void test_sums(void **state)
{
	char shown[1024];

	(void)state;
	for (size_t i = 0; i < LEN(sums); i++) {
		char *text = xstrdup(sums[i].words), *words[16];
		struct submit_options o;
		struct error err = { .code = ERR_NONE };
		int rc;

		options_init(&o);
		assert_int_equal(options_from_words(&o, asked_words(text, words, 16), words, &err), 0);
		rc = tasks_settle(&o, &err);
		if (sums[i].error) {
			if (rc != -1)
				fail_msg("accepted: %s", sums[i].words);
			assert_int_equal(err.code, ERR_USAGE);
			if (*sums[i].error)
				assert_string_equal(err.text, sums[i].error);
		} else {
			assert_string_equal(err.text, "");
			assert_int_equal(rc, 0);
			asked_show(&o, shown, sizeof(shown));
			assert_string_equal(shown, sums[i].set);
		}
		options_clear(&o);
		free(text);
	}
}

/* A script that was written for sbatch runs once, on the first node; ours on each, unless tasks are
 * asked for. */
static void test_several_nodes(void **state)
{
	static const struct {
		const char *script;
		bool steps;
	} cases[] = {
		{ "#!/bin/sh\n#SBATCH -N 2\n", true },
		{ "#!/bin/sh\n#SBATCH -N 1-3\n", true },
		{ "#!/bin/sh\n#SBATCH -n 2 --ntasks-per-node=1\n", true },
		{ "#!/bin/sh\n#SBATCH -G 4 --gpus-per-node=2\n", true },
		{ "#!/bin/sh\n#SBATCH -N 1\n", true },
		{ "#!/bin/sh\n#SBATCH -N 2\n#GPUSCHED -N 2\n", false },
		{ "#!/bin/sh\n#SBATCH -J x\n#GPUSCHED --nodes=2\n", false },
		{ "#!/bin/sh\n#GPUSCHED --nodes=2\n", false },
		{ "#!/bin/sh\n#GPUSCHED --nodes=2 --ntasks=4\n", true },
		{ "#!/bin/sh\n#GPUSCHED --ntasks=4\n", true },
		{ "#!/bin/sh\n#GPUSCHED --cpus-per-task=4\n", false },
	};

	(void)state;
	for (size_t i = 0; i < LEN(cases); i++) {
		const char *script = cases[i].script;
		struct submit_options o;
		struct error err = { .code = ERR_NONE };

		options_init(&o);
		assert_int_equal(sbatch_from_script(
		                         &o, script, strlen(script), asked_warning, NULL, NULL, &err),
		        0);
		o.source++;
		assert_int_equal(options_from_script(&o, script, strlen(script), NULL, &err), 0);
		assert_int_equal(tasks_settle(&o, &err), 0);
		if (o.steps != cases[i].steps)
			fail_msg("%s: steps %d", script, o.steps);
		options_clear(&o);
	}
}

/* Components become one job: as many nodes as all ask for, each with the largest amount. */
static const struct {
	const char *head; /* of the script */
	const char *set, *error, *nodes;
	bool differ;
} components[] = {
	{ "-N 1 -n 1 -c 2 --mem=1G\nhetjob\n-N 1 -n 1 -c 2 --mem=1G\n",
	        "c=2 n=1 mem=1024 N=2 N max=2", NULL, "1,1", false },
	/* as TorchX writes it */
	{ "--job-name=a-0 --requeue --time=5 --ntasks-per-node=1 --cpus-per-task=2 --mem=100\nhetjob\n"
	  "--job-name=a-1 --requeue --time=5 --ntasks-per-node=1 --cpus-per-task=2 --mem=100\n",
	        "J=a-0 c=2 n/node=1 mem=100 N=2 N max=2 t=300", NULL, "1,1", false },
	{ "-n 4 --ntasks-per-node=2 -t 5\nhetjob\n-N 3 -c 4 --mem=2G -t 9\nhetjob\n-w h9 -x h8\n",
	        "w=h9 x=h8 c=4 n=4 n/node=2 mem=2048 N=6 N max=6 t=540", NULL, "2,3,1", true },
	{ "-N 2 -n 2 -G a:4\nhetjob\n--gpus-per-task=3 -n 1\n", "G/node=a:3 n=2 N=3 N max=3", NULL,
	        "2,1", true },
	{ "-G 2\nhetjob\n-c 1\n", "G/node=any:2 c=1 N=2 N max=2", NULL, "1,1", true },
	{ "-p a --exclusive\nhetjob\n-p a\n", "p=a N=2 N max=2 exclusive=1", NULL, "1,1", true },
	{ "-p a\nhetjob\n-p b\n", NULL,
	        "component 1: --partition=b: the nodes of a job are all alike, by what its first "
	        "component asks for",
	        NULL, false },
	{ "-G a:1\nhetjob\n-G b:1\n", NULL,
	        "component 1 asks for GPUs of another type; all nodes of a job get the same", NULL,
	        false },
	{ "-c 1\nhetjob\n-n 3 --ntasks-per-gpu=2\n", NULL,
	        "component 1: --ntasks-per-gpu=2: how many GPUs or tasks?", NULL, false },
	{ "-c 1\nhetjob\n-N 2 -G 3\n", NULL,
	        "component 1: --gpus=3 cannot be shared equally by its 2 nodes", NULL, false },
	{ "-a 1-2\nhetjob\n-c 1\n", NULL, "a job of several components cannot be an array", NULL,
	        false },
};

/* "#!/bin/sh" and each line behind its mark; the caller frees. */
static char *marked(const char *lines_of)
{
	char *script = xstrdup("#!/bin/sh\n"), *copy = xstrdup(lines_of), *rest = copy, *line;

	while ((line = strsep(&rest, "\n")) && *line) {
		char *longer = xasprintf("%s#SBATCH %s\n", script, line);

		free(script);
		script = longer;
	}
	free(copy);
	return script;
}

static void test_components(void **state)
{
	char shown[1024], text[HET_NODES_TEXT];

	(void)state;
	for (size_t i = 0; i < LEN(components); i++) {
		char *script = marked(components[i].head);
		struct submit_options o;
		struct asked_seen seen = { "" };
		struct error err = { .code = ERR_NONE };
		int rc;

		options_init(&o);
		assert_int_equal(sbatch_from_script(&o, script, strlen(script), asked_warning, &seen,
		                         NULL, &err),
		        0);
		if (components[i].nodes)
			assert_string_equal(het_nodes(&o, text), components[i].nodes);
		rc = tasks_settle(&o, &err);
		if (components[i].error) {
			assert_int_equal(rc, -1);
			assert_int_equal(err.code, ERR_USAGE);
			assert_string_equal(err.text, components[i].error);
		} else {
			assert_string_equal(err.text, "");
			asked_show(&o, shown, sizeof(shown));
			assert_string_equal(shown, components[i].set);
			assert_true(o.steps);
			assert_int_equal(o.components_differ, components[i].differ);
		}
		options_clear(&o);
		free(script);
	}
}

static void test_too_many_components(void **state)
{
	char *script = xcalloc(1, 32 + HET_COMPONENTS_MAX * sizeof("#SBATCH hetjob\n"));
	size_t at = (size_t)sprintf(script, "#!/bin/sh\n");
	struct submit_options o;
	struct error err = { .code = ERR_NONE };

	(void)state;
	for (size_t i = 0; i < HET_COMPONENTS_MAX; i++)
		at += (size_t)sprintf(script + at, "#SBATCH hetjob\n");
	options_init(&o);
	assert_int_equal(sbatch_from_script(&o, script, at, NULL, NULL, NULL, &err), -1);
	assert_string_equal(err.text, "129: more than 128 components");
	options_clear(&o);
	free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_several_nodes),
		cmocka_unit_test(test_components),
		cmocka_unit_test(test_too_many_components),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
