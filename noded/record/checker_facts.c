/* checker_facts.c - see checker_facts.h */
#include "config.h"

#include "noded/record/checker_facts.h"

#ifdef ENABLE_FAILPOINTS

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

static const char *node_of(const Gpusched__LaunchRecord *launch, char *out, size_t size)
{
	static const char key[] = "GPUSCHED_NODE=";
	size_t n = sizeof(key) - 1;

	snprintf(out, size, "-");
	for (size_t i = 0; i < launch->n_env; i++) {
		const ProtobufCBinaryData *e = &launch->env[i];

		if (e->len > n && memcmp(e->data, key, n) == 0)
			snprintf(out, size, "%.*s", (int)(e->len - n), (const char *)e->data + n);
	}
	return out;
}

/* "JOB TASK ATTEMPT RANK" */
static const char *id_of(const Gpusched__LaunchRecord *launch, char *out, size_t size)
{
	const Gpusched__RunId *id = launch->report->run;

	snprintf(out, size, "%" PRIu64 " %u %u %u", id->job, id->task, id->attempt, id->rank);
	return out;
}

static void append(const char *line, int len)
{
	const char *path = getenv("GPUSCHED_JOURNAL");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	if (write(fd, line, (size_t)len) != len)
		abort(); /* a test without its facts must not pass */
	close(fd);
}

void checker_facts_start(const Gpusched__LaunchRecord *launch)
{
	const Gpusched__RunReport *r = launch->report;
	uint64_t gpus = 0;
	char line[256], node[80], id[64];

	for (size_t i = 0; i < r->n_gpus; i++)
		gpus |= (uint64_t)1 << r->gpus[i];
	append(line,
	        snprintf(line, sizeof(line), "start %s %u %s %" PRIu64 " %" PRIx64 " %" PRId64 "\n",
	                id_of(launch, id, sizeof(id)), r->nnodes ? r->nnodes : 1,
	                node_of(launch, node, sizeof(node)), r->epoch, gpus,
	                clock_us(CLOCK_MONOTONIC)));
}

void checker_facts_end(const Gpusched__LaunchRecord *launch, unsigned code, unsigned sig)
{
	char line[256], node[80], id[64];

	append(line, snprintf(line, sizeof(line), "end %s %s %u %u %" PRId64 "\n",
	                     id_of(launch, id, sizeof(id)), node_of(launch, node, sizeof(node)),
	                     code, sig, clock_us(CLOCK_MONOTONIC)));
}

void checker_facts_gone(const Gpusched__LaunchRecord *launch)
{
	char line[256], node[80], id[64];

	append(line, snprintf(line, sizeof(line), "gone %s %s %" PRId64 "\n",
	                     id_of(launch, id, sizeof(id)), node_of(launch, node, sizeof(node)),
	                     clock_us(CLOCK_MONOTONIC)));
}

#endif
