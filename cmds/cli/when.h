/* when.h - moments of the past as people write them
 *
 *	2026-11-21  2026-11-21T09:30  2026-11-21T09:30:15     in the local time zone
 *	11/21  11/21/26  11/21/2026  11/21-09:30              as Slurm has them, MM/DD: without a year
 *	                                                      the last there was
 *	09:30  09:30:15                                       of today
 *	today  midnight  yesterday  noon  now
 *	now-2h  now-30m  now-7d  today-1w  now-2hours         units as durations have them (units.h),
 *	                                                      and in words (begin.h)
 */
#ifndef CMDS_WHEN_H
#define CMDS_WHEN_H

#include <stdint.h>

#include "common/base/error.h"

/* `text` in microseconds of UTC, where it is `now` now. ERR_USAGE; the caller puts the option
 * before it. */
int when_parse(const char *text, int64_t now, int64_t *us, struct error *err);

int64_t when_now(void);
int64_t when_today(int64_t now); /* when the present day began */

#endif
