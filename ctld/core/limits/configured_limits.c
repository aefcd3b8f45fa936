/* configured_limits.c - what can be limited, and where the configuration has the limits
 *
 * To limit something new: a kind in limits_impl.h, a line in conf_limit_at() and need_amount()
 * here, in `reasons` and amount_text() of limit_reason.c, an error code in limits_submit.c, the key
 * in common/conf/conf_keys.c.
 */
#include "ctld/core/limits/limits_impl.h"

static bool given(uint64_t value, uint64_t none, uint8_t kind, struct conf_limit *limit)
{
	*limit = (struct conf_limit){ .kind = kind, .value = value };
	return value != none;
}

bool conf_limit_at(const struct conf_limits *l, size_t i, struct conf_limit *limit)
{
	struct conf_limit v[CONF_LIMIT_KINDS];
	size_t n = 0;

	if (i < l->gpus.n) {
		*limit = (struct conf_limit){ LIMIT_GPUS, l->gpus.v[i].type,
			(uint64_t)l->gpus.v[i].count * GPU_MILLI };
		return true;
	}
	n += given(l->gpu_mem_mb, UINT64_MAX, LIMIT_GPU_MEM, &v[n]);
	n += given(l->cpus, CONF_NONE, LIMIT_CPUS, &v[n]);
	n += given(l->mem_mb, UINT64_MAX, LIMIT_MEM, &v[n]);
	n += given(l->nodes, CONF_NONE, LIMIT_NODES, &v[n]);
	n += given(l->running, CONF_NONE, LIMIT_RUNNING, &v[n]);
	n += given(l->queued, CONF_NONE, LIMIT_QUEUED, &v[n]);
	n += given(l->gpu_hours, UINT64_MAX, LIMIT_GPU_HOURS, &v[n]);
	if (i - l->gpus.n >= n)
		return false;
	*limit = v[i - l->gpus.n];
	return true;
}

uint64_t need_amount(const struct need *need, enum limit_kind kind, uint16_t type)
{
	switch (kind) {
	case LIMIT_GPUS:
		return type == CONF_ANY_TYPE || type == need->type ? need_milli(need) : 0;
	case LIMIT_GPU_MEM:
		return need->gpu_mem_mb;
	case LIMIT_CPUS:
		return need->cpus;
	case LIMIT_MEM:
		return need->mem_mb;
	case LIMIT_NODES:
		return need->nodes;
	case LIMIT_RUNNING:
		return 1;
	case LIMIT_GPU_HOURS:
		return need->gpus > 0;
	case LIMIT_QUEUED:
	case LIMIT_LICENCE:
	case LIMIT_GUARANTEE:
	case LIMIT_ALL_KINDS:
		break;
	}
	return 0;
}

static const struct conf_limits *group_of(
        const struct conf *conf, enum limit_scope scope, uint32_t index, enum limit_part part)
{
#define PART(it)                                            \
	(part == LIMITS_ALL               ? &(it)->limits   \
	        : part == LIMITS_PER_USER ? &(it)->per_user \
	                                  : &(it)->per_job)
	if (scope == SCOPE_ACCOUNT)
		return PART(&conf->accounts[index]);
	if (scope == SCOPE_QOS)
		return PART(&conf->qos[index]);
	return PART(&conf->partitions[index]);
#undef PART
}

/* The i-th limit of a group. The hard limits of a quota count as limits of the account, before the
 * others. */
bool scope_limit(const struct conf *conf, enum limit_scope scope, uint32_t index,
        enum limit_part part, size_t i, struct conf_limit *limit)
{
	size_t n_quota = 0;

	if (scope == SCOPE_ACCOUNT && part == LIMITS_ALL) {
		const struct conf_gpu_amounts *quota = &conf->accounts[index].quota.limit;

		n_quota = quota->n;
		if (i < n_quota) {
			*limit = (struct conf_limit){ LIMIT_GPUS, quota->v[i].type,
				(uint64_t)quota->v[i].count * GPU_MILLI };
			return true;
		}
	}
	return conf_limit_at(group_of(conf, scope, index, part), i - n_quota, limit);
}

uint32_t scope_time_s(
        const struct conf *conf, enum limit_scope scope, uint32_t index, enum limit_part part)
{
	return group_of(conf, scope, index, part)->time_s;
}

uint32_t scope_hours_s(
        const struct conf *conf, enum limit_scope scope, uint32_t index, enum limit_part part)
{
	return group_of(conf, scope, index, part)->gpu_hours_window_s;
}

const char *scope_name(const struct conf *conf, enum limit_scope scope, uint32_t index)
{
	return scope == SCOPE_ACCOUNT ? conf->accounts[index].name
	       : scope == SCOPE_QOS   ? conf->qos[index].name
	                              : conf->partitions[index].name;
}

bool scope_counts_queued(const struct conf *conf, enum limit_scope scope, uint32_t index)
{
	return group_of(conf, scope, index, LIMITS_ALL)->queued != CONF_NONE ||
	       group_of(conf, scope, index, LIMITS_PER_USER)->queued != CONF_NONE;
}

/* The account, then the accounts above it one after another; then the QOS; then the partition. */
bool scope_next(struct scope_walk *walk, enum limit_scope *scope, uint32_t *index)
{
	while (walk->at < SCOPES && walk->index[walk->at] == CONF_NONE)
		walk->at++;
	if (walk->at == SCOPES)
		return false;
	*scope = (enum limit_scope)walk->at;
	*index = walk->index[walk->at];
	walk->index[walk->at] =
	        *scope == SCOPE_ACCOUNT ? walk->conf->accounts[*index].parent : CONF_NONE;
	return true;
}
