/* srun.c - tasks on the nodes of a job, as srun(1) of Slurm 22.05 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cli/cmd.h"
#include "cmds/srun/srun.h"
#include "common/base/xalloc.h"

extern char **environ;

const char *srun_name = "srun";

#define EXIT_UNKNOWN_OPTION 255 /* as Slurm's commands */
#define PATIENCE_S          30

/* Each part of A : B is a command line of its own. Returns how many there are, 0: too many. */
static size_t split_parts(int argc, char **argv, int *first, int *count)
{
	size_t n = 1;

	first[0] = 1;
	count[0] = 0;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], ":") != 0) {
			count[n - 1]++;
			continue;
		}
		if (n == SRUN_PARTS_MAX)
			return 0;
		first[n] = i + 1;
		count[n++] = 0;
	}
	return n;
}

/* Reads one part. -1: say err, or it was said already (*unknown). */
static int read_part(struct srun_part *part, char **words, int n, bool *unknown, struct error *err)
{
	char **argv = xcalloc((size_t)n + 2, sizeof(*argv)), *name = xstrdup(srun_name);
	int rc;

	argv[0] = name;
	memcpy(argv + 1, words, (size_t)n * sizeof(*argv));
	srun_options_init(&part->o);
	rc = srun_options_from_environment(&part->o, environ, err) < 0
	             ? -1
	             : srun_options_from_words(&part->o, n + 1, argv, unknown, err);
	free(name);
	free(argv);
	return rc;
}

static int say_unknown(bool unknown, const struct error *err)
{
	if (unknown) {
		fprintf(stderr, "%s\n", err->text);
		return EXIT_UNKNOWN_OPTION;
	}
	srun_fail("%s", err->text);
	if (*err->hint)
		fprintf(stderr, "hint: %s\n", err->hint);
	return 1;
}

static void set_dests(struct srun_part *part)
{
	const struct srun_options *o = &part->o;

	srun_dest_read(&part->dest[0], o->output, STDOUT_FILENO);
	srun_dest_read(&part->dest[1], o->error, STDERR_FILENO);
	if (o->output && !o->error) {
		int fd = part->dest[0].where == SRUN_FILE ? -1 : STDERR_FILENO;

		part->dest[1] = part->dest[0];
		part->dest[1].fd = fd;
	}
}

/* Slurm's srun knows the job's nodes before it asks. */
static int check_nodes(const struct srun_options *o, struct error *err)
{
	const char *text = getenv("GPUSCHED_NNODES");
	unsigned long nodes = text && !o->jobid ? strtoul(text, NULL, 10) : 0;

	if (!nodes || !o->nodes_said || o->nodes_min <= nodes)
		return 0;
	return error_set(
	        err, ERR_USAGE, "Only allocated %lu nodes asked for %u", nodes, o->nodes_min);
}

static void warn_nodes(const struct srun_options *o)
{
	if (o->ntasks_said && o->nodes_min > o->ntasks && !o->quiet)
		srun_info("Warning: can't run %u processes on %u nodes, setting nnodes to %u",
		        o->ntasks, o->nodes_min, o->ntasks);
}

/* What is asked of srun itself. -1: nothing, go on. */
static int answer_simple(const struct srun_options *o)
{
	if (o->version)
		return puts(SRUN_VERSION) < 0;
	if (o->help)
		return srun_options_help(stdout, srun_name), 0;
	if (o->mpi_list)
		return puts(SRUN_HAS_PMIX ? "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\n"
		                            "specific pmix plugin versions available: pmix_v4"
		                          : "MPI plugin types are...\n\tnone\n\tpmi2") < 0;
	return -1;
}

static const char *of_group(const char *name, size_t group)
{
	char variable[64];

	snprintf(variable, sizeof(variable), "%s_HET_GROUP_%zu", name, group);
	return getenv(variable);
}

/* In a job of several components each part of A : B has the nodes of one of them. */
static void take_component(struct srun_options *o, size_t group)
{
	const char *nodelist = of_group("SLURM_JOB_NODELIST", group);
	const char *count = of_group("SLURM_JOB_NUM_NODES", group);

	if (!nodelist || !count || o->nodelist || o->nodes_said)
		return;
	o->nodelist = xstrdup(nodelist);
	o->nodes_min = o->nodes_max = (uint32_t)strtoul(count, NULL, 10);
	if (!o->ntasks_said)
		o->ntasks = o->nodes_min * (o->ntasks_per_node ? o->ntasks_per_node : 1);
}

static int make_requests(struct srun_part *parts, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (n > 1)
			take_component(&parts[i].o, i);
		set_dests(&parts[i]);
		if (srun_request_make(&parts[i], n - 1 - i, err) < 0)
			return -1;
	}
	return 0;
}

static int run_outside(struct srun_part *parts, size_t n, struct error *err)
{
	struct submit_options job;
	int stopped, status = -1;

	if (srun_job_options(&parts[0].o, &job, err) == 0)
		status = srun_alone(parts, n, &job, PATIENCE_S, &stopped, err);
	options_clear(&job);
	return status;
}

static int run(struct srun_part *parts, size_t n, struct error *err)
{
	struct srun_job job;
	int fd, status = -1;

	if (parts[0].o.test_only)
		return srun_test_only(&parts[0].o, err);
	if (make_requests(parts, n, err) < 0 || srun_find_job(&parts[0].o, &job, err) < 0)
		return -1;
	if (!job.id)
		return run_outside(parts, n, err);
	if (check_nodes(&parts[0].o, err) < 0)
		return -1;
	warn_nodes(&parts[0].o);
	fd = srun_connect(&job, err);
	if (fd >= 0) {
		status = srun_step(parts, n, &job, fd);
		close(fd);
	}
	srun_hang_up();
	return status;
}

int main(int argc, char **argv)
{
	static int first[SRUN_PARTS_MAX], count[SRUN_PARTS_MAX];
	struct srun_part *parts = xcalloc(SRUN_PARTS_MAX, sizeof(*parts));
	size_t n = split_parts(argc, argv, first, count);
	struct error err = { .code = ERR_NONE };
	bool unknown = false;
	int status = n ? -1 : 1;

	cmd_occupy_standard_files();
	if (!n)
		srun_fail("more than %d parts", SRUN_PARTS_MAX);
	for (size_t i = 0; i < n && status < 0; i++) {
		if (read_part(&parts[i], argv + first[i], count[i], &unknown, &err) < 0)
			status = say_unknown(unknown, &err);
		else
			status = answer_simple(&parts[i].o);
		if (status < 0 && srun_options_check(&parts[i].o, &err) < 0) {
			fprintf(stderr, "%s: fatal: %s\n", srun_name, err.text);
			status = 1;
		}
	}
	if (status < 0) {
		status = run(parts, n, &err);
		if (status < 0)
			status = say_unknown(false, &err);
		else if (status == SRUN_FAILED)
			status = 1;
	}
	for (size_t i = 0; i < n; i++)
		srun_request_clear(&parts[i]);
	free(parts);
	return status;
}
