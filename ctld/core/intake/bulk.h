/* bulk.h - EV_BULK: many jobs in slices, all of them or none
 *
 * A bulk is too large for one event and one commit, so it goes in steps, a slice with each event;
 * the world says which (enum bulk_step) and has one bulk at a time:
 *
 *	CHECK	each job is checked as any submit is, and made. It is nowhere yet: nobody finds it,
 *		it has no id and no row. It counts for the limits of queued jobs, and its nonce
 *		is taken.
 *	MAKE	the jobs get their ids, which follow one another, and rows. The range of ids is in
 *		the meta rows meanwhile: rows within it are of jobs that nobody was promised. With
 *		the last slice that range goes: from that commit on all jobs are there.
 *	SHOW	they take their places: found, counted, in their classes.
 *	UNDO	instead of MAKE, when one was refused.
 *
 * A start that finds an open range deletes what is in it, so a crash at any moment leaves all jobs
 * or none. From MAKE on nothing can fail, and who asks for the same jobs meanwhile (another
 * session, the same nonces) is told to come again.
 */
#ifndef CTLD_CORE_BULK_H
#define CTLD_CORE_BULK_H

#include "ctld/core/internal.h"

void bulk_apply(struct core *core, const struct core_event *event);

/* Jobs that were made and are in no table yet. Start with *cursor 0; NULL: no more. */
const struct job *bulk_next(const struct core *core, size_t *cursor);
size_t bulk_count(const struct core *core);
/* Of the rows of those that are promised. */
uint64_t bulk_hash(const struct core *core);

/* A job's row at a start: is it of an open range? Then it is forgotten. */
bool bulk_left_over(struct core *core, const struct row *row);
void bulk_start(struct core *core); /* all rows are in: delete those */

void bulk_free(struct core *core); /* before the jobs go */

#endif
