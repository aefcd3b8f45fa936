/* accounts.c - see accounts.h */
#include "cmds/top/model/accounts.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"

#define DEPTH_MAX 64

static int compare(const void *left, const void *right)
{
	const struct account_line *const *a = left, *const *b = right;
	int c = strcmp((*a)->share->account, (*b)->share->account);

	return c ? c : strcmp((*a)->share->user, (*b)->share->user);
}

static struct account_line *find(
        struct account_line **sorted, size_t n, const char *account, const char *user)
{
	Gpusched__Share share = GPUSCHED__SHARE__INIT;
	struct account_line line = { .share = &share }, *key = &line, **found;

	share.account = (char *)account;
	share.user = (char *)user;
	found = bsearch(&key, sorted, n, sizeof(*sorted), compare);
	return found ? *found : NULL;
}

static void count(struct account_line *line, const struct top_job *job)
{
	line->running += job->pending ? 0 : job->tasks;
	line->waiting += job->pending ? job->tasks : 0;
	line->held += job->pending ? 0 : job->gpus;
}

/* Each line's own into the accounts above it: the lines stand depth first. */
static void sum_up(struct account_line *lines, size_t n)
{
	size_t above[DEPTH_MAX + 1]; /* the last account of each depth */

	for (size_t d = 0; d <= DEPTH_MAX; d++)
		above[d] = SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		struct account_line own = lines[i];
		uint32_t depth = own.share->depth < DEPTH_MAX ? own.share->depth : DEPTH_MAX;

		if (!*own.share->user) {
			lines[i].held = lines[i].running = lines[i].waiting = 0;
			above[depth] = i;
			depth++;
		}
		for (uint32_t d = 0; d < depth && d <= DEPTH_MAX; d++) {
			if (above[d] > i)
				continue;
			ADD_FIELDS(&lines[above[d]], &own, held, running, waiting);
		}
	}
}

struct account_line *accounts_make(const struct model *m)
{
	size_t n = m->shares.n;
	struct account_line *lines = xcalloc(n + 1, sizeof(*lines)),
	                    **sorted = xcalloc(n + 1, sizeof(*sorted));

	for (size_t i = 0; i < n; i++) {
		lines[i].share = (const Gpusched__Share *)m->shares.v[i];
		sorted[i] = &lines[i];
	}
	if (n)
		qsort(sorted, n, sizeof(*sorted), compare);
	JOBS_EACH (&m->jobs, i, job) {
		struct account_line *line =
		        n && !job->reserve ? find(sorted, n, job->account, job->user) : NULL;

		if (!line && n && !job->reserve)
			line = find(sorted, n, job->account, "");
		if (line)
			count(line, job);
	}
	sum_up(lines, n);
	free(sorted);
	return lines;
}

/* --- columns ---------------------------------------------------------------------------------- */

#define FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, struct account_line, member)

static const struct view_column columns[] = {
	FIELD("HELD", 5, 0, NUM, "GPUs that its jobs have now", NUMBER_OR_DASH, held),
	FIELD("RUN", 5, 0, NUM, "its jobs that run", NUMBER_OR_DASH, running),
	FIELD("WAIT", 6, 0, NUM, "its jobs that wait", NUMBER_OR_DASH, waiting),
};

const struct view_kind account_kind = {
	VIEW_COLUMNS(columns),
	.standard = "HELD,RUN,WAIT",
};
