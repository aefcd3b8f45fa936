/* bulk.h - EV_BULK: many jobs in slices, all of them or none
 *
 * A bulk is too large for one event and one commit. So it goes in steps, with a slice in each
 * event; the world names the step (enum bulk_step) and has one bulk at a time:
 *
 *	CHECK	each job is checked like any submit, and created. It is in no table yet, and has
 *		no id and no row. It counts for the limits of queued jobs, and its nonce is
 *		taken.
 *	MAKE	the jobs get consecutive ids, and rows. Meanwhile the range of ids is in the
 *		meta rows: no client has been promised the jobs of the rows within it. The last
 *		slice removes the range: from that commit on all jobs exist.
 *	SHOW	the jobs enter the tables and their classes, and are counted.
 *	UNDO	instead of MAKE, if a job was refused.
 *
 * A start that finds an open range deletes the rows in it, so a crash at any moment leaves all
 * jobs or none. From MAKE on nothing can fail. A request for the same jobs meanwhile (from another
 * session, with the same nonces) gets the reply to try again later.
 */
#ifndef CTLD_CORE_BULK_H
#define CTLD_CORE_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct core_event;
struct row;

void bulk_apply(struct core *core, const struct core_event *event);

/* Jobs that were created and are in no table yet. Start with *cursor 0; NULL: no more. */
const struct job *bulk_next(const struct core *core, size_t *cursor);
size_t bulk_count(const struct core *core);
uint64_t bulk_ids(const struct core *core); /* that they will take */
/* The hash of the rows of jobs whose acceptance is final. */
uint64_t bulk_hash(const struct core *core);

/* A job's row at a start: is it of an open range? Then the row is to be deleted. */
bool bulk_left_over(struct core *core, const struct row *row);
void bulk_start(struct core *core); /* all rows are in: delete those of the open range */

void bulk_free(struct core *core); /* before the jobs go */

#endif
