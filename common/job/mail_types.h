/* mail_types.h - about what a job's owner wants mail, and the address
 *
 * As in sbatch: a list with commas of BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT,
 * ARRAY_TASKS, ALL (all of these but the last two) or NONE. END is any end; FAIL an end that is
 * neither COMPLETED nor a cancel. Mail about an array is about the array as a whole, or with
 * ARRAY_TASKS about each of its tasks.
 *
 * Pure.
 */
#ifndef COMMON_MAIL_TYPES_H
#define COMMON_MAIL_TYPES_H

#include <stdint.h>

#include "common/base/error.h"

/* X(symbol, word, part of ALL) */
#define MAIL_TYPES(X)                               \
	X(MAIL_BEGIN, "BEGIN", 1)                   \
	X(MAIL_END, "END", 1)                       \
	X(MAIL_FAIL, "FAIL", 1)                     \
	X(MAIL_REQUEUE, "REQUEUE", 1)               \
	X(MAIL_INVALID_DEPEND, "INVALID_DEPEND", 1) \
	X(MAIL_TIME_LIMIT, "TIME_LIMIT", 0)         \
	X(MAIL_ARRAY_TASKS, "ARRAY_TASKS", 0)

#define X(sym, word, all) sym##_BIT,
enum mail_bit { MAIL_TYPES(X) MAIL_BITS };
#undef X
#define X(sym, word, all) sym = 1 << sym##_BIT,
enum mail_type { MAIL_TYPES(X) MAIL_TYPE_END = 1 << MAIL_BITS };
#undef X
#define MAIL_ALL_BITS (MAIL_TYPE_END - 1)
/* Types that cannot be requested: the mail about an array's begin was sent; a job leaves its GPUs
 * idle. */
#define MAIL_BEGUN ((uint32_t)MAIL_TYPE_END)
#define MAIL_IDLE  ((uint32_t)MAIL_TYPE_END << 1)

#define MAIL_ADDRESS_MAX 254
#define MAIL_TEXT_MAX    80

int mail_types_parse(const char *text, uint32_t *types, struct error *err);
/* "BEGIN,END"; "" none. Returns `buf`. */
char *mail_types_format(char buf[MAIL_TEXT_MAX], uint32_t types);

/* What may stand for an address on a command line: letters, digits and . _ + - %, at most one '@'
 * between, a letter, digit or '_' first. "" is none. */
int mail_address_check(const char *address, struct error *err);

#endif
