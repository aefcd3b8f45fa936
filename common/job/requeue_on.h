/* requeue_on.h - after which ends a job is to run again: --requeue-on
 *
 *	exit:75  exit:80-90  signal:KILL  signal:9	with commas between
 *
 * Exit codes 1 to 255, signals by name (with or without SIG) or number. Pure.
 */
#ifndef COMMON_REQUEUE_ON_H
#define COMMON_REQUEUE_ON_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

#define REQUEUE_ON_TEXT_MAX 255

/* "" is none. -1: ERR_USAGE, what would be right. */
int requeue_on_check(const char *text, struct error *err);
/* Is that one of the ends? The text was checked. */
bool requeue_on_wanted(const char *text, uint32_t exit_code, uint32_t exit_signal);

#endif
