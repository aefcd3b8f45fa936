/* limit_reason.c - limits as words: the reason of a wait, and amounts
 *
 * The reason is Slurm's word where it has one: AssocGrpCpuLimit, QOSMaxJobsPerUserLimit.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "ctld/core/limits/limits_impl.h"

/* --- reasons --------------------------------------------------------------------------------- */

static const char *const reasons[SCOPES][LIMIT_PARTS][CONF_LIMIT_KINDS] = {
#define ALL(s)                                                                          \
	{ s "GrpGRES", s "GrpGRES", s "GrpCpuLimit", s "GrpMemLimit", s "GrpNodeLimit", \
		s "GrpJobsLimit", s "GrpSubmitJobsLimit", s "GrpGRESMinutes" }
#define PER_JOB(s)                                                                          \
	{ s "MaxGRESPerJob", s "MaxGRESPerJob", s "MaxCpuPerJobLimit", s "MaxMemoryPerJob", \
		s "MaxNodePerJobLimit", s "MaxJobsLimit", s "MaxSubmitJobLimit",            \
		s "MaxGRESMinutesPerJob" }
#define PER_USER(s)                                                                             \
	{ s "MaxGRESPerUser", s "MaxGRESPerUser", s "MaxCpuPerUserLimit", s "MaxMemoryPerUser", \
		s "MaxNodePerUserLimit", s "MaxJobsPerUserLimit", s "MaxSubmitJobPerUserLimit", \
		s "MaxGRESMinutesPerUser" }
	[SCOPE_ACCOUNT] = { ALL("Assoc"), PER_USER("Assoc"), PER_JOB("Assoc") },
	[SCOPE_QOS] = { ALL("QOS"), PER_USER("QOS"), PER_JOB("QOS") },
	[SCOPE_PARTITION] = { ALL("Partition"), PER_USER("Partition"), PER_JOB("Partition") },
#undef ALL
#undef PER_JOB
#undef PER_USER
};

const char *limit_reason(enum limit_scope scope, enum limit_part part, enum limit_kind kind)
{
	return reasons[scope][part][kind];
}

/* --- amounts --------------------------------------------------------------------------------- */

/* "28", "0.25" */
static void milli_text(char buf[AMOUNT_TEXT], uint64_t milli)
{
	int n = snprintf(buf, AMOUNT_TEXT, "%llu.%03u", (unsigned long long)(milli / GPU_MILLI),
	        (unsigned)(milli % GPU_MILLI));

	while (buf[n - 1] == '0')
		n--;
	buf[buf[n - 1] == '.' ? n - 1 : n] = '\0';
}

char *amount_number(char buf[AMOUNT_TEXT], enum limit_kind kind, uint64_t amount)
{
	char size[UNITS_TEXT];

	if (kind == LIMIT_MEM || kind == LIMIT_GPU_MEM)
		snprintf(buf, AMOUNT_TEXT, "%s", size_format_mb(size, amount));
	else if (kind == LIMIT_GPUS || kind == LIMIT_GUARANTEE)
		milli_text(buf, amount);
	else
		snprintf(buf, AMOUNT_TEXT, "%llu", (unsigned long long)amount);
	return buf;
}

char *amount_text(char buf[AMOUNT_TEXT], const struct conf *conf, enum limit_kind kind,
        uint16_t type, uint64_t amount)
{
	static const char *const names[LIMIT_ALL_KINDS] = {
		[LIMIT_GPU_MEM] = "GPU memory",
		[LIMIT_CPUS] = "CPUs",
		[LIMIT_MEM] = "memory",
		[LIMIT_NODES] = "nodes",
		[LIMIT_RUNNING] = "running jobs",
		[LIMIT_QUEUED] = "jobs",
		[LIMIT_GPU_HOURS] = "GPU-hours",
		[LIMIT_LICENCE] = "licences",
	};
	char number[AMOUNT_TEXT];

	amount_number(number, kind, amount);
	if (kind == LIMIT_GPUS)
		snprintf(buf, AMOUNT_TEXT, "%.60s:%.30s",
		        type == CONF_ANY_TYPE ? "any" : conf->gpu_types[type].name, number);
	else
		snprintf(buf, AMOUNT_TEXT, "%.40s %.*s", number,
		        (int)strlen(names[kind]) -
		                (amount == 1 && kind != LIMIT_MEM && kind != LIMIT_GPU_MEM),
		        names[kind]);
	return buf;
}
