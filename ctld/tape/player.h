/* player.h - plays a tape: gives the recorded inputs to another core
 *
 * For each record the player makes the call that it stands for, on a core of its own. Some records
 * also hold a result (the rows of a seal, a hash of the state), and the player compares it with
 * that of its core. If all are equal, the core depends on nothing but its recorded inputs.
 */
#ifndef CTLD_TAPE_PLAYER_H
#define CTLD_TAPE_PLAYER_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/error.h"
#include "ctld/core/core.h"

struct player;

struct player_stats {
	uint64_t records, events, slices, seals, rows, marks, sections;
	uint64_t bytes;   /* of the file, up to the last record */
	uint64_t torn;    /* bytes of a record at its end that is cut short */
	bool ended;       /* the last section ended in an orderly way */
	uint64_t proved;  /* the record with the last hash that was equal; 0: none */
	usec_t span;      /* from the first to the last clock, over all sections */
	char version[64]; /* of the gctld that wrote the last section */
};

/* Each row that the core was loaded with or gives up, as it comes. */
typedef void player_row_fn(void *arg, const struct row *row);

/* `path` and `f` are borrowed. NULL with ERR_CONFIG, ERR_SYSTEM. */
struct player *player_new(FILE *f, const char *path, struct error *err);
void player_free(struct player *p); /* NULL is fine; also frees the core */
void player_rows(struct player *p, player_row_fn *fn, void *arg);

/* Play the next record. 1; 0: there are no more; -1: it cannot be read or makes no sense, or with
 * ERR_INTERNAL, the first record at which the core is another than it was. */
int player_next(struct player *p, struct error *err);

/* Emits what the core still has to emit. For programs that collect rows; nothing can be played
 * after that. */
void player_finish(struct player *p);

const struct core *player_core(const struct player *p); /* NULL: between sections */
void player_stats(const struct player *p, struct player_stats *s);

#endif
