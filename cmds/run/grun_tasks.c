/* grun_tasks.c - several processes, as the tasks of one step in a job made for it; see grun.h */
#include <stdlib.h>
#include <unistd.h>

#include "cmds/api/gpus.h"
#include "cmds/options/export.h"
#include "cmds/run/grun.h"
#include "cmds/srun/srun.h"
#include "common/base/xalloc.h"

extern char **environ;

const char *srun_name = "grun";

/* As the only process of a job: a shell finds the program on the node, where 127 says that there is
 * none, and a job does not run in another folder than its own. */
static char **make_words(const struct grun *g, char *cwd)
{
	static char shell[] = "/bin/sh", option[] = "-c", name[] = "grun",
	            line[] = "cd -- \"$1\" || exit 125; shift; exec \"$@\"";
	char *const first[] = { shell, option, line, name, cwd };
	size_t n_first = sizeof(first) / sizeof(first[0]), n = 0;
	char **words;

	while (g->command[n])
		n++;
	words = xcalloc(n_first + n + 1, sizeof(*words));
	for (size_t i = 0; i < n_first; i++)
		words[i] = first[i];
	for (size_t i = 0; i < n; i++)
		words[n_first + i] = (char *)(uintptr_t)g->command[i];
	return words;
}

/* Of each task; 0: nothing was said, or one of several types is chosen later. */
static uint32_t gpus_per_task(const struct submit_options *o)
{
	struct gpus gpus;

	if (!o->gpus_per_task || gpus_parse(o->gpus, &gpus, NULL) < 0 || gpus.n != 1)
		return 0;
	return gpus.v[0].count;
}

static int make_options(const struct grun *g, struct srun_options *o, struct error *err)
{
	srun_options_init(o);
	if (grun_make_cwd(g, &o->chdir, err) < 0)
		return -1;
	o->command = make_words(g, o->chdir);
	o->name = grun_make_name(g);
	o->ntasks_per_node = g->o.ntasks_per_node;
	o->cpus_per_task = g->o.cpus;
	o->gpus_per_task = gpus_per_task(&g->o);
	o->immediate = g->immediate_ms >= 0;
	o->immediate_s = (uint32_t)(g->immediate_ms / 1000);
	o->quiet = g->quiet;
	o->forward = true;
	o->disable_status = g->disable_status || !isatty(STDERR_FILENO);
	return 0;
}

int grun_tasks(struct grun *g, struct error *err)
{
	struct srun_part *part = xcalloc(1, sizeof(*part));
	const char *missing;
	int stopped = 0, status = -1;

	part->env = export_apply(g->o.export ? g->o.export : "ALL", environ, &missing);
	if (*missing)
		cmd_advise(&grun_cmd, "--export: %s is not set", missing);
	srun_dest_read(&part->dest[0], NULL, STDOUT_FILENO);
	srun_dest_read(&part->dest[1], NULL, STDERR_FILENO);
	g->o.slurm_env = true;
	if (make_options(g, &part->o, err) == 0 && srun_request_make(part, 0, err) == 0)
		status = srun_alone(part, 1, &g->o,
		        g->patience_s ? g->patience_s : GRUN_PATIENCE_S, &stopped, err);
	srun_request_clear(part);
	free(part);
	return stopped ? 128 + stopped : status == SRUN_FAILED ? EXIT_OWN_FAILURE : status;
}
