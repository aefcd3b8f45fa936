/* begin.h - moments as people write them: --begin, --deadline
 *
 *	now  now+90  now+1hour  now+2days
 *	    seconds (where nothing is said), minutes, hours, days, weeks
 *	16:00  4:30pm  16:00:30
 *	    the next time that it is so late
 *	midnight  noon  teatime
 *	    likewise; teatime is 16:00
 *	today  tomorrow
 *	    at 0:00
 *	2027-01-31  2027-01-31T16:00[:30][Z]
 *	    Z: UTC
 *	01/31  01/31/27  0131  013127  31.01.2027
 *
 * All in local time but where it says Z. A date that has a time may have it behind a blank or a
 * 'T', before or after. A date without a year that has passed is next year's.
 */
#ifndef CMDS_BEGIN_H
#define CMDS_BEGIN_H

#include <stdint.h>

#include "common/base/error.h"

/* To microseconds of UTC, `now` being the present. -1 (ERR_USAGE): what would be right. */
int begin_parse(const char *text, int64_t now_us, int64_t *us, struct error *err);

/* The length of time behind "now+": "90", "1hour", "2 days"; in seconds. -1 (ERR_USAGE) */
int begin_parse_span(const char *text, int64_t *s, struct error *err);

#endif
