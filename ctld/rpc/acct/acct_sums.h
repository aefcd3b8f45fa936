/* acct_sums.h - what jobs used and how long they waited, added up in groups
 *
 * Use is that of runs, cut to a window and, by day, to days (acct_per_day.h). Pure but for the local
 * time zone, by which days are cut.
 */
#ifndef CTLD_RPC_ACCT_SUMS_H
#define CTLD_RPC_ACCT_SUMS_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/gpusched.pb-c.h"

#define SUMS_BY_MAX     4
#define SUMS_GROUPS_MAX 20000

struct sums;

/* `by` as in Report.by. `since`, `until`: 0 is open. Copies what it needs of `conf`: the tree of
 * accounts, and how long jobs of each QOS may wait. ERR_USAGE. */
struct sums *sums_new(char *const *by, size_t n, int64_t since, int64_t until,
        const struct conf *conf, struct error *err);
void sums_free(struct sums *s); /* NULL is fine */

void sums_add(struct sums *s, const Gpusched__Acct *job);

/* The groups in order, those of accounts as the tree has them, and then all together. -1: there
 * were too many. */
int sums_lines(struct sums *s, struct arena *arena, Gpusched__ReportLine ***lines, size_t *n,
        struct error *err);

/* How many GPUs there were from `time` on, "h100:128,l40s:32". In order of time. */
void sums_capacity(struct sums *s, int64_t time, const char *text);

/* What was given of each type, of what there was, to the end of the window or to `now` (0: to
 * the last that is known). After all jobs. */
void sums_types(
        struct sums *s, int64_t now, struct arena *arena, Gpusched__ReportType ***types, size_t *n);

#endif
