/* partition_choices.c - see partition_choices.h */
#include "ctld/core/intake/partition_choices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/each.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "ctld/core/rows/effects.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"

/* Always -1, with the partitions as a hint. */
static int hint_partitions(const struct conf *conf, struct error *err)
{
	char list[200] = "";
	size_t used = 0;

	for (size_t p = 0; p < conf->n_partitions && used < sizeof(list); p++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", p ? ", " : "",
		        conf->partitions[p].name);
	return error_hint(err, "partitions here: %s", list);
}

static int no_partition(const struct core *core, const char *name, struct error *err)
{
	char escaped[80];

	text_escape(escaped, sizeof(escaped), name, strlen(name));
	error_set(err, ERR_NO_PARTITION, "--partition=%s: there is no such partition", escaped);
	return hint_partitions(core->conf, err);
}

static void add_choice(const struct core *core, struct intake *t, uint32_t partition)
{
	struct intake_choice *c = &t->choices[t->n_choices++];
	const char *name = core->conf->partitions[partition].name;

	c->partition = partition;
	memcpy(c->has.partition, name, strnlen(name, sizeof(c->has.partition) - 1));
}

/* Add a name of the list, once. A job that waits loses those of its partitions that are gone. */
static int add_partition(
        const struct core *core, struct intake *t, const char *name, struct error *err)
{
	uint32_t partition = sched_partition(core->sched, name), k;

	if (partition == CONF_NONE) {
		if (t->updated && *t->updated->partitions && job_may_choose(t->updated, name))
			return 0;
		return no_partition(core, name, err);
	}
	for (k = 0; k < t->n_choices; k++) {
		if (t->choices[k].partition == partition)
			return 0;
	}
	if (t->n_choices == JOB_CHOICES_MAX)
		return error_set(err, ERR_JOB_SPEC,
		        "--partition: a list of more than %d partitions", JOB_CHOICES_MAX);
	add_choice(core, t, partition);
	return 0;
}

int partition_choices_find(const struct core *core, struct intake *t, struct error *err)
{
	const char *list = t->in->partition, *name;
	uint32_t partition = core->conf->default_partition;
	char *copy;
	size_t n;
	int rc = 0;

	t->choices = xcalloc(strchr(list, ',') ? JOB_CHOICES_MAX : 1,
	        sizeof(*t->choices));
	if (!*list && partition == UINT32_MAX)
		return error_set(err, ERR_NO_PARTITION,
		        "no partition was given, and none is the default");
	if (!*list) {
		add_choice(core, t, partition);
		return 0;
	}
	while (rc == 0 && (name = partition_list_next(&list, &n))) {
		copy = xstrndup(name, n);
		rc = add_partition(core, t, copy, err);
		free(copy);
	}
	return rc < 0 || t->n_choices ? rc : no_partition(core, t->in->partition, err);
}

void intake_choose(struct intake *t, uint32_t k)
{
	const struct intake_choice *c = &t->choices[k];

	t->partition = c->partition;
	COPY_FIELDS(&t->info, &c->has, cpus, mem_mb, time_limit_s);
}

const char *intake_left_out(struct core *core, const struct intake *t)
{
	char text[sizeof(t->left_out->text) + 16];

	if (!t->left_out || !t->n_choices)
		return NULL;
	snprintf(text, sizeof(text), "left out: %s", t->left_out->text);
	return effects_text(core->effects, text);
}

static void keep_choice(struct intake *t, uint32_t k)
{
	struct job_choice *has = &t->choices[k].has;

	COPY_FIELDS(has, &t->info, cpus, mem_mb, time_limit_s);
}

int partition_choices_check(partition_check *check, struct core *core, const struct caller *caller,
        struct intake *t, struct error *err)
{
	uint32_t k, n = 0;

	for (k = 0; k < t->n_choices; k++) {
		intake_choose(t, k);
		if (check(core, caller, t, err) >= 0) {
			keep_choice(t, k);
			t->choices[n++] = t->choices[k];
			continue;
		}
		if (t->n_choices == 1 && !t->left_out)
			return -1;
		error_wrap(err, "partition %s", t->choices[k].has.partition);
		if (!t->left_out)
			t->left_out = xcalloc(1, sizeof(*t->left_out));
		error_also(t->left_out, err);
	}
	t->n_choices = n;
	if (n)
		return 0;
	*err = *t->left_out;
	return -1;
}

void partition_choices_keep(const struct core *core, struct intake *t)
{
	struct job_choice v[JOB_CHOICES_MAX];

	intake_choose(t, 0);
	t->info.partition = core->conf->partitions[t->partition].name;
	t->info.partitions = t->info.partition_needs = "";
	if (t->n_choices < 2)
		return;
	for (uint32_t k = 0; k < t->n_choices; k++)
		v[k] = t->choices[k].has;
	t->info.partitions = t->partitions = xcalloc(1, JOB_PARTITIONS_SIZE);
	t->info.partition_needs = t->needs = xcalloc(1, JOB_NEEDS_SIZE);
	job_choices_write(v, t->n_choices, t->partitions, t->needs);
}
