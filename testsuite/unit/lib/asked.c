/* asked.c - see asked.h */
#include "testsuite/unit/lib/asked.h"

#include <stdio.h>
#include <string.h>

void asked_warning(void *arg, unsigned line, const char *text)
{
	struct asked_seen *seen = arg;
	size_t used = strlen(seen->text);

	snprintf(seen->text + used, sizeof(seen->text) - used, "%u: %s;", line, text);
}

void asked_show(const struct submit_options *o, char *out, size_t size)
{
	const struct {
		const char *name, *text;
		unsigned long long n;
	} fields[] = {
		{ "J", o->name, 0 },
		{ "p", o->partition, 0 },
		{ "A", o->account, 0 },
		{ "q", o->qos, 0 },
		{ o->gpus_per_task         ? "G/task"
		        : o->gpus_per_node ? "G/node"
		                           : "G",
		        o->gpus, 0 },
		{ "i", o->input, 0 },
		{ "o", o->output, 0 },
		{ "e", o->error, 0 },
		{ "D", o->chdir, 0 },
		{ "export", o->export, 0 },
		{ "C", o->constraint, 0 },
		{ "w", o->nodelist, 0 },
		{ "x", o->exclude, 0 },
		{ "L", o->licences, 0 },
		{ "d", o->dependency, 0 },
		{ "c", NULL, o->cpus },
		{ "c/gpu", NULL, o->cpus_per_gpu },
		{ "n", NULL, o->ntasks },
		{ "n/node", NULL, o->ntasks_per_node },
		{ "n/gpu", NULL, o->ntasks_per_gpu },
		{ "mem", NULL, o->mem_mb },
		{ "all mem", NULL, o->all_mem },
		{ "share", NULL, o->gpu_share_milli },
		{ "mem/cpu", NULL, o->mem_per_cpu_mb },
		{ "mem/gpu", NULL, o->mem_per_gpu_mb },
		{ "tmp", NULL, o->tmp_mb },
		{ "N", NULL, o->nodes_min },
		{ "N max", NULL, o->nodes_max },
		{ "t", NULL, o->time_limit_s },
		{ "sig", NULL, o->warn_signal },
		{ "before", NULL, o->warn_before_s },
		{ "nice", NULL, (unsigned long long)o->nice },
		{ "hold", NULL, o->hold },
		{ "no-requeue", NULL, o->no_requeue },
		{ "append", NULL, o->append },
		{ "wait", NULL, o->wait },
		{ "exclusive", NULL, o->exclusive },
		{ "parsable", NULL, o->parsable },
		{ "M", o->clusters, 0 },
	};
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *sep = used ? " " : "";

		if (fields[i].text)
			used += (size_t)snprintf(out + used, size - used, "%s%s=%s", sep,
			        fields[i].name, fields[i].text);
		else if (fields[i].n)
			used += (size_t)snprintf(out + used, size - used, "%s%s=%llu", sep,
			        fields[i].name, fields[i].n);
	}
}

size_t asked_words(char *text, char **words, size_t max)
{
	size_t n = 0;

	for (char *w = strtok(text, " "); w && n < max; w = strtok(NULL, " "))
		words[n++] = w;
	return n;
}
