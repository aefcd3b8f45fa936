/* account_shares.c - see account_shares.h */
#include "ctld/gsim/account_shares.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"

#define US_PER_HOUR 3.6e9

struct sums {
	double gpu_us, wait;
	uint64_t jobs, waits;
};

static void add_use(struct sums *s, const struct account_use *use)
{
	s->gpu_us += (double)use->gpu_us;
	ADD_FIELDS(s, use, wait, jobs, waits);
}

static void fill(struct share *share, const struct sums *s, double total)
{
	share->received = total > 0 ? s->gpu_us / total : 0;
	share->gpu_hours = s->gpu_us / US_PER_HOUR;
	share->mean_wait_s = s->waits ? s->wait / (double)s->waits / 1e6 : 0;
	share->jobs = s->jobs;
}

/* Among its siblings. */
static double own_part(const struct conf *conf, uint32_t account)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < conf->n_accounts; i++) {
		if (conf->accounts[i].parent == conf->accounts[account].parent)
			all += conf->accounts[i].shares;
	}
	return all ? (double)conf->accounts[account].shares / (double)all : 0;
}

/* The tree below `parent`. */
static size_t walk(const struct conf *conf, const struct sums *sums, uint32_t parent, double part,
        double total, struct share *v)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < conf->n_accounts; i++) {
		double promised = part * own_part(conf, i);

		if (conf->accounts[i].parent != parent)
			continue;
		v[n] = (struct share){ .name = conf->accounts[i].name,
			.depth = conf->accounts[i].depth,
			.promised = promised };
		fill(&v[n++], &sums[i], total);
		n += walk(conf, sums, i, promised, total, v + n);
	}
	return n;
}

static int most_first(const void *x, const void *y)
{
	const struct share *a = x, *b = y;

	if (a->gpu_hours != b->gpu_hours)
		return a->gpu_hours > b->gpu_hours ? -1 : 1;
	return strcmp(a->name, b->name);
}

struct share *shares_make(const struct conf *conf, const struct measures *m, size_t *n)
{
	struct share *v = xcalloc(conf->n_accounts + m->n_use_of, sizeof(*v));
	struct sums *sums = xcalloc(conf->n_accounts, sizeof(*sums));
	double total = 0;
	size_t others;
	uint32_t i, a;

	for (i = 0; i < m->n_use_of; i++) {
		total += (double)m->use_of[i].gpu_us;
		a = CONF_FIND(conf, accounts, text_numbers_text(m->accounts, i));
		for (; a != CONF_NONE; a = conf->accounts[a].parent)
			add_use(&sums[a], &m->use_of[i]);
	}
	*n = others = walk(conf, sums, CONF_NONE, 1, total, v);
	for (i = 0; i < m->n_use_of; i++) {
		const char *name = text_numbers_text(m->accounts, i);
		struct sums own = { 0 };

		if (CONF_FIND(conf, accounts, name) != CONF_NONE)
			continue;
		add_use(&own, &m->use_of[i]);
		v[*n] = (struct share){ .name = name, .promised = -1 };
		fill(&v[(*n)++], &own, total);
	}
	qsort(v + others, *n - others, sizeof(*v), most_first);
	free(sums);
	return v;
}
