/* partition.c - see partition.h
 *
 * The four states are two questions: does the partition take jobs, and does it start them?
 *
 * 	up		takes and starts
 * 	drain		starts what it has, takes no more
 * 	down		takes, starts nothing
 * 	inactive	neither
 *
 * A state that an operator has set is a text of epoch_and_ids.h and outlives restarts; one that
 * equals the configuration's is forgotten, so that a later change of the configuration takes
 * effect. */
#include "ctld/core/records/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define KEY_SIZE 300 /* META_PARTITION and a name */

struct partitions {
	struct meta *meta;
	const struct conf *conf;
	uint8_t *state; /* enum conf_partition_state, by index */
};

static const char *const names[] = {
	[CONF_PARTITION_UP] = "up",
	[CONF_PARTITION_DRAIN] = "drain",
	[CONF_PARTITION_DOWN] = "down",
	[CONF_PARTITION_INACTIVE] = "inactive",
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

const char *partition_state_name(enum conf_partition_state state)
{
	return names[state];
}

struct partitions *partitions_new(struct meta *meta)
{
	struct partitions *ps = xcalloc(1, sizeof(*ps));

	ps->meta = meta;
	return ps;
}

void partitions_free(struct partitions *ps)
{
	if (!ps)
		return;
	free(ps->state);
	free(ps);
}

static const char *key_of(const struct conf_partition *p, char key[KEY_SIZE])
{
	snprintf(key, KEY_SIZE, META_PARTITION "%.255s", p->name);
	return key;
}

void partitions_configure(struct partitions *ps, const struct conf *conf)
{
	char key[KEY_SIZE];

	ps->conf = conf;
	free(ps->state);
	ps->state = xcalloc(conf->n_partitions, sizeof(*ps->state));
	for (size_t p = 0; p < conf->n_partitions; p++) {
		const char *said = meta_text(ps->meta, key_of(&conf->partitions[p], key));

		ps->state[p] = (uint8_t)conf->partitions[p].state;
		for (size_t n = 0; n < N_NAMES; n++) {
			if (!strcmp(said, names[n]))
				ps->state[p] = (uint8_t)n;
		}
	}
}

enum conf_partition_state partition_state(const struct partitions *ps, uint32_t p)
{
	return ps->state[p];
}

bool partition_takes(const struct partitions *ps, uint32_t p)
{
	return ps->state[p] == CONF_PARTITION_UP || ps->state[p] == CONF_PARTITION_DOWN;
}

bool partition_starts(const struct partitions *ps, uint32_t p)
{
	return ps->state[p] == CONF_PARTITION_UP || ps->state[p] == CONF_PARTITION_DRAIN;
}

void partition_set_state(struct partitions *ps, uint32_t p, enum conf_partition_state state)
{
	const struct conf_partition *conf = &ps->conf->partitions[p];
	char key[KEY_SIZE];

	ps->state[p] = (uint8_t)state;
	meta_set_text(ps->meta, key_of(conf, key), state == conf->state ? "" : names[state]);
}
