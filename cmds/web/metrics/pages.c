/* pages.c - which pages of metrics there are, and the manual's list of them */
#include "cmds/web/metrics/rows.h"

const struct metrics_page metrics_pages[] = {
	{ "/metrics", "The project's own names", metrics_own },
	{ "/metrics/jobs", "Jobs, under the names of Slurm 25.11", metrics_jobs },
	{ "/metrics/nodes", "Nodes, under the names of Slurm 25.11", metrics_nodes },
	{ "/metrics/partitions", "Partitions, under the names of Slurm 25.11", metrics_partitions },
	{ "/metrics/jobs-users-accts", "Users and accounts, under the names of Slurm 25.11",
	        metrics_users_accounts },
	{ "/metrics/scheduler", "The controller, under the names of Slurm 25.11",
	        metrics_scheduler },
	{ "/metrics/exporter", "The names of prometheus-slurm-exporter", metrics_exporter },
	{ "/metrics/gpus", "GPUs, under the names of dcgm-exporter", metrics_gpus },
	{ NULL, NULL, NULL },
};

void metrics_manual(FILE *out)
{
	for (const struct metrics_page *page = metrics_pages; page->path; page++) {
		fprintf(out, ".Ss %s\n%s.\n.Bl -tag -width Ds -compact\n", page->path, page->about);
		for (const struct metric *m = page->rows; m->name; m++)
			fprintf(out, ".It Li %s%s%s%s Pq %s\n%s.\n", m->name, *m->labels ? "{" : "",
			        m->labels, *m->labels ? "}" : "", m->type, m->help);
		fprintf(out, ".El\n");
	}
}
