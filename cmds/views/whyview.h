/* whyview.h - why a job waits, and what would start it, for people
 *
 *	Job 4812 embed (ana, account vision, partition batch) has waited 11:40.
 *	It asks for 8 h100 on one node, 112 CPUs and 1.7T memory, for up to 8:00:00.
 *
 *	HELD BY                                                CLEARS
 *	1 AssocGrpGRES  vision: limit h100:32, holds 28, +8    12:40, 4690 must end
 *	PLANNED START   13:05 on h07 or earlier; no backfilled job can delay it
 *
 *	WOULD START IT NOW, each tried on the scheduler, smallest change first:
 *	  --gpus=h100:4                     on h07, within the limit (32 of 32)
 *	Tried without success: shorter --time.
 *
 * Texts are wrapped to the width; below WHY_NARROW columns what clears a reason stands below it.
 */
#ifndef CMDS_WHYVIEW_H
#define CMDS_WHYVIEW_H

#include <stdint.h>
#include <stdio.h>

#include "common/gpusched.pb-c.h"

#define WHY_NARROW 60
#define WHY_WIDE   120 /* lines do not grow beyond */

/* `width` 0: WHY_WIDE. */
void why_print(const Gpusched__WhyResult *result, FILE *out, unsigned width);

/* From HELD BY on; `now` in microseconds of UTC: times of another day are told with it. */
void why_print_list(const Gpusched__Why *why, int64_t now, FILE *out, unsigned width);

/* Parts of it as texts, for callers with a layout of their own; the caller frees them. The request
 * of the job, as a sentence; its planned start, and the reason why it is not sooner, or ""; the
 * event that ends a reason, with *hang the width of the time that it begins with. */
char *why_say_request(const Gpusched__Job *job);
char *why_say_plan(const Gpusched__Why *why, int64_t now);
char *why_say_clears(const Gpusched__Blocker *b, int64_t now, unsigned *hang);

/* "13:05", "11-22 13:05": local time, with the day if it is not that of `now`. Returns `buf`. */
#define WHY_TIME_TEXT 24
char *why_time(char buf[WHY_TIME_TEXT], int64_t us, int64_t now);

#endif
