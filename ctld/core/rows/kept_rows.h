/* kept_rows.h - whole rows that no object in memory stands for, until they are sealed
 *
 * What has ended and goes to history without ever having been an object of this state: steps of
 * jobs (job_steps.h), jobs and runs that a restored state does not know (foreign.h). They are not
 * part of core_hash().
 */
#ifndef CTLD_CORE_KEPT_ROWS_H
#define CTLD_CORE_KEPT_ROWS_H

#include <stddef.h>

#include "ctld/core/rows/row.h"

struct kept_rows;

struct kept_rows *kept_rows_new(void);
void kept_rows_free(struct kept_rows *k); /* NULL is fine */

/* Copies the row with all it points to. The caller marks the change (dirty_touch()). */
void kept_rows_add(struct kept_rows *k, const struct row *row);

/* Hands out the rows and forgets them; call it before any other row of the seal. Returns how
 * many. */
size_t kept_rows_seal(struct kept_rows *k, core_row_sink *sink, void *arg);
size_t kept_rows_bytes(const struct kept_rows *k); /* approximate size of all of them */

#endif
