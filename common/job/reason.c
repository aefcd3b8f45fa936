/* reason.c - see reason.h */
#include "common/job/reason.h"

#include <stdio.h>
#include <string.h>

#define X(symbol, word, meaning) [symbol] = { word, meaning },
static const struct {
	const char *word, *meaning;
} rows[REASONS] = { REASON_WORDS(X) };
#undef X

/* A limit's word has three parts: its owner, its resource, and for whom it counts. */
static const struct {
	const char *prefix, *whose;
} scopes[] = {
	{ "Assoc", "its account's" },
	{ "QOS", "its QOS's" },
	{ "Partition", "its partition's" },
};

static const struct {
	const char *suffix, *what;
} limits[] = {
	{ "GrpGRES", "limit or quota of GPUs, or of their memory, of all jobs together" },
	{ "GrpCpuLimit", "limit of CPUs, of all jobs together" },
	{ "GrpMemLimit", "limit of host memory, of all jobs together" },
	{ "GrpNodeLimit", "limit of nodes, of all jobs together" },
	{ "GrpJobsLimit", "limit of running jobs, of all together" },
	{ "GrpSubmitJobsLimit", "limit of jobs in the queue, of all together" },
	{ "GrpGRESMinutes", "GPU-hours, of all jobs together" },
	{ "MaxGRESPerUser", "limit of GPUs, or of their memory, of a user" },
	{ "MaxCpuPerUserLimit", "limit of CPUs, of a user" },
	{ "MaxMemoryPerUser", "limit of host memory, of a user" },
	{ "MaxNodePerUserLimit", "limit of nodes, of a user" },
	{ "MaxJobsPerUserLimit", "limit of running jobs, of a user" },
	{ "MaxSubmitJobPerUserLimit", "limit of jobs in the queue, of a user" },
	{ "MaxGRESMinutesPerUser", "GPU-hours, of a user" },
	{ "MaxGRESPerJob", "limit of GPUs, or of their memory, of a job" },
	{ "MaxCpuPerJobLimit", "limit of CPUs, of a job" },
	{ "MaxMemoryPerJob", "limit of host memory, of a job" },
	{ "MaxNodePerJobLimit", "limit of nodes, of a job" },
	{ "MaxJobsLimit", "limit of running jobs, for a job" },
	{ "MaxSubmitJobLimit", "limit of jobs in the queue, for a job" },
	{ "MaxGRESMinutesPerJob", "GPU-hours, of a job" },
};

#define N_SCOPES (sizeof(scopes) / sizeof(*scopes))
#define N_LIMITS (sizeof(limits) / sizeof(*limits))

const char *reason_word(enum reason reason)
{
	return rows[reason].word;
}

bool reason_list(size_t i, char word[REASON_TEXT], char meaning[REASON_TEXT])
{
	size_t limit = (i - REASONS) / N_SCOPES, scope = (i - REASONS) % N_SCOPES;

	if (i < REASONS) {
		snprintf(word, REASON_TEXT, "%s", rows[i].word);
		snprintf(meaning, REASON_TEXT, "%s", rows[i].meaning);
		return true;
	}
	if (limit >= N_LIMITS)
		return false;
	snprintf(word, REASON_TEXT, "%s%s", scopes[scope].prefix, limits[limit].suffix);
	snprintf(meaning, REASON_TEXT, "%s %s", scopes[scope].whose, limits[limit].what);
	return true;
}

bool reason_known(const char *word)
{
	char known[REASON_TEXT], meaning[REASON_TEXT];
	size_t i;

	for (i = 0; reason_list(i, known, meaning); i++) {
		if (!strcmp(word, known))
			return true;
	}
	return false;
}
