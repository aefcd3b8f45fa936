/* audit.h - which user changed what: rows of the event table until they are sealed
 *
 * Append only. The core never reads them; they are not part of core_hash().
 */
#ifndef CTLD_CORE_AUDIT_H
#define CTLD_CORE_AUDIT_H

#include "common/job/run.h"
#include "ctld/core/rows/row.h"

#define AUDIT_NOBODY (-1) /* the controller itself */

struct audit;
struct audit_entry {
	const char *kind; /* "job.submit" */
	int64_t uid;
	const char *host;
	uint64_t job;
	const char *node, *text;
};

struct audit *audit_new(void);
void audit_free(struct audit *a); /* NULL is fine */

/* `seq` is unique and grows. */
void audit_add(struct audit *a, uint64_t seq, usec_t wall, const struct audit_entry *entry);
/* The number of events since the previous call: each is a change. */
size_t audit_touched(struct audit *a);
/* Hands out the rows and forgets them; returns how many. */
size_t audit_seal(struct audit *a, core_row_sink *sink, void *arg);
size_t audit_bytes(const struct audit *a);

#endif
