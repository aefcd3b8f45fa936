/* parse_time.h - moments as people write them, of the past (--since) and to come (--begin)
 *
 *	now                                         this moment
 *	now+90  now+1hour  now+2 days               to come; seconds, minutes, hours, days, weeks
 *	now-2h  now-7d  today-1w  now-2hours        of the past; units as in durations (units.h), or
 *	                                            words
 *	16:00  4:30pm  16:00:30                     of today; to come: the next time of day like it
 *	midnight  noon  teatime                     likewise; teatime is 16:00
 *	yesterday  today  tomorrow                  at 0:00
 *	2027-01-31  2027-01-31T16:00[:30][Z]        Z: UTC
 *	01/31  01/31/27  0131  013127  31.01.2027   without a year: the last there was, or the next
 *
 * All in local time but where it says Z. A date that has a time may have it behind a blank, a 'T'
 * or a '-', before or after.
 */
#ifndef CMDS_PARSE_TIME_H
#define CMDS_PARSE_TIME_H

#include <stdint.h>

#include "common/base/error.h"

/* `text` in microseconds of UTC, where it is `now` now. ERR_USAGE says what would be right; the
 * caller puts the option before it. */
int parse_time(const char *text, int64_t now, int64_t *us, struct error *err);      /* past */
int parse_time_next(const char *text, int64_t now, int64_t *us, struct error *err); /* to come */

int64_t parse_time_now(void);
int64_t parse_time_today(int64_t now); /* when the present day began */

#endif
