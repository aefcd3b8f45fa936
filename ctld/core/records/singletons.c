/* singletons.c - see singletons.h
 *
 * The jobs of a set are a list in order of id. New ids are larger than all others, so a job is
 * usually added at the end. Only the jobs of a bulk get ids before other jobs come in between and
 * are added after them; `late` remembers where the last of them went, so that a bulk of many jobs
 * of one name does not walk the list for each.
 */
#include "ctld/core/records/singletons.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct name_set {
	uint32_t uid;
	uint32_t active;
	const char *name; /* kept by its jobs */
	struct job *first, *last;
	struct job *late; /* the last that came after one of a higher id; NULL: none did */
};

struct singletons {
	struct table *sets;
};

static uint64_t hash_of(uint32_t uid, const char *name, uint64_t seed)
{
	return hash_u64((uintptr_t)name, hash_u64(uid, seed));
}

static uint64_t set_hash(const void *item, uint64_t seed)
{
	const struct name_set *s = item;

	return hash_of(s->uid, s->name, seed);
}

static bool set_equal(const void *item, const void *key)
{
	const struct name_set *s = item;
	const struct job_info *i = key;

	return s->uid == i->uid && s->name == i->name;
}

struct singletons *singletons_new(uint64_t seed)
{
	struct singletons *names = xcalloc(1, sizeof(*names));

	names->sets = table_new(set_hash, seed);
	return names;
}

void singletons_free(struct singletons *names)
{
	size_t cursor = 0;
	struct name_set *s;

	if (!names)
		return;
	while ((s = table_each(names->sets, &cursor)))
		free(s);
	table_free(names->sets);
	free(names);
}

/* Behind which it comes; NULL: it is the first. Only a bulk's come after ones of higher ids, in
 * order: each behind the one before. */
static struct job *place_of(const struct name_set *s, const struct job *job)
{
	struct job *at = s->last, *late = s->late;

	if (at && job_id(at) > job_id(job) && late && job_id(late) < job_id(job)) {
		for (at = late; job_id(job_link(at)->name_after) < job_id(job);)
			at = job_link(at)->name_after;
		return at;
	}
	while (at && job_id(at) > job_id(job))
		at = job_link(at)->name_before;
	return at;
}

/* Usually at the end, in O(1). */
void singletons_add(struct singletons *names, struct job *job)
{
	const struct job_info *i = job_info(job);
	struct job_link *l = job_link(job);
	struct name_set *s = table_find(
	        names->sets, hash_of(i->uid, i->name, table_seed(names->sets)), set_equal, i);

	if (!s) {
		s = xcalloc(1, sizeof(*s));
		s->uid = i->uid;
		s->name = i->name;
		table_add(names->sets, s);
	}
	l->singletons = s;
	l->name_before = place_of(s, job);
	l->name_after = l->name_before ? job_link(l->name_before)->name_after : s->first;
	*(l->name_before ? &job_link(l->name_before)->name_after : &s->first) = job;
	*(l->name_after ? &job_link(l->name_after)->name_before : &s->last) = job;
	if (l->name_after)
		s->late = job;
}

void singletons_remove(struct singletons *names, struct job *job)
{
	struct job_link *l = job_link(job);
	struct name_set *s = l->singletons;

	if (!s)
		return;
	if (l->name_before)
		job_link(l->name_before)->name_after = l->name_after;
	else
		s->first = l->name_after;
	if (l->name_after)
		job_link(l->name_after)->name_before = l->name_before;
	else
		s->last = l->name_before;
	if (s->late == job)
		s->late = l->name_before;
	l->singletons = NULL;
	l->name_before = l->name_after = NULL;
	if (s->first)
		return;
	table_remove(names->sets, s);
	free(s);
}

void singletons_active(struct job *job, int by)
{
	struct name_set *s = job_link(job)->singletons;

	if (s)
		s->active += (uint32_t)by;
}

bool singletons_first_and_idle(const struct job *job)
{
	const struct name_set *s = job_link_of(job)->singletons;

	return s && s->first == job && !s->active;
}

struct job *singletons_first(const struct job *job)
{
	const struct name_set *s = job_link_of(job)->singletons;

	return s ? s->first : NULL;
}

int singletons_check(const struct job *job, bool ended, bool active, struct error *err)
{
	const struct job_link *l = job_link_of(job);
	const struct name_set *s = l->singletons;

	if (ended != !s ||
	        (s && (s->name != job_info(job)->name || s->uid != job_info(job)->uid)) ||
	        (s && active && !s->active) ||
	        (l->name_after && job_id(l->name_after) <= job_id(job)))
		return error_set(err, ERR_INTERNAL, "job %llu is not among its namesakes",
		        (unsigned long long)job_id(job));
	return 0;
}
