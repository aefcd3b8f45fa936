/* state_codes.c - see state_codes.h */
#include "cmds/slurm_commands/state_codes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/xalloc.h"

#define SIGNAL_OUT_OF_MEMORY 125

static const struct slurm_state states[] = {
	{ "PENDING", "PD", "PENDING" },
	{ "RUNNING", "R", "RUNNING" },
	{ "SUSPENDED", "S", "SUSPENDED" },
	{ "COMPLETED", "CD", "COMPLETED" },
	{ "CANCELLED", "CA", "CANCELLED" },
	{ "FAILED", "F", "FAILED" },
	{ "TIMEOUT", "TO", "TIMEOUT" },
	{ "NODE_FAIL", "NF", "NODE_FAIL" },
	{ "PREEMPTED", "PR", "PREEMPTED" },
	{ "BOOT_FAIL", "BF", NULL },
	{ "DEADLINE", "DL", "DEADLINE" },
	{ "OUT_OF_MEMORY", "OOM", "OUT_OF_MEMORY" },
	{ "COMPLETING", "CG", "COMPLETING" },
	{ "CONFIGURING", "CF", "CONFIGURING" },
	{ "RESIZING", "RS", NULL },
	{ "RESV_DEL_HOLD", "RD", NULL },
	{ "REQUEUED", "RQ", NULL },
	{ "REQUEUE_FED", "RF", NULL },
	{ "REQUEUE_HOLD", "RH", NULL },
	{ "REVOKED", "RV", NULL },
	{ "SIGNALING", "SI", NULL },
	{ "SPECIAL_EXIT", "SE", NULL },
	{ "STAGE_OUT", "SO", NULL },
	{ "STOPPED", "ST", NULL },
};
#define N_STATES (sizeof(states) / sizeof(states[0]))

const struct slurm_state *slurm_state(const char *name)
{
	for (size_t i = 0; i < N_STATES; i++)
		if (!strcasecmp(states[i].name, name) || !strcasecmp(states[i].code, name))
			return &states[i];
	return NULL;
}

const char *slurm_base_state(const char *state)
{
	bool runs = !strcmp(state, "CONFIGURING") || !strcmp(state, "COMPLETING");

	return runs ? "RUNNING" : state;
}

struct slurm_exit slurm_exit(const char *state, uint32_t code, uint32_t signal)
{
	if (!strcmp(state, "OUT_OF_MEMORY"))
		return (struct slurm_exit){ 0, SIGNAL_OUT_OF_MEMORY };
	return (struct slurm_exit){ code, signal };
}

void slurm_state_names(char *buf, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < N_STATES && used < size; i++)
		used += (size_t)snprintf(
		        buf + used, size - used, "%s%s", i ? "," : "", states[i].name);
}

int slurm_filter_states(
        struct filter *f, const char *value, bool *none, bool *all, struct error *err)
{
	char *list = xstrdup(value), *at = list, *one;
	int rc = 0;

	*none = true;
	*all = false;
	while (rc == 0 && (one = strsep(&at, ","))) {
		const struct slurm_state *s = slurm_state(one);

		if (!strcasecmp(one, "all"))
			*all = true;
		else if (!s)
			rc = error_set(err, ERR_USAGE, "%s", one);
		else if (s->ours)
			rc = filter_add(f, FILTER_STATES, "--states", s->ours, err);
		*none = *none && !*all && !(s && s->ours);
	}
	free(list);
	if (*all)
		cmd_list_clear(&f->lists[FILTER_STATES]);
	f->ended = f->ended || *all;
	return rc;
}

int slurm_filter_every_state(struct filter *f, struct error *err)
{
	for (size_t i = 0; i < N_STATES; i++)
		if (states[i].ours &&
		        filter_add(f, FILTER_STATES, "--state", states[i].ours, err) < 0)
			return -1;
	return 0;
}
