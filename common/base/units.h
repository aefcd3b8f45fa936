/* units.h - sizes, durations and percentages as people write them
 *
 * Sizes:      "512M" "80G" "2T"; K M G T (either case, "B" or "iB" may follow) are powers of 1024.
 * Durations:  "250ms" "90s" "20m" "2h" "30d" "1w", or a clock as sbatch has it: "M:S" "H:M:S" "D-H"
 *             "D-H:M" "D-H:M:S", or "infinite" or "unlimited" (either case).
 * Percent:    "25%", 0 to 100.
 *
 * Only whole numbers, never negative, checked for overflow. What a bare number means is the
 * caller's to say: nothing (a unit is needed), or a unit. Parsers leave the output alone on
 * failure (ERR_USAGE); the error's text says what would be right and the caller puts the option or
 * key and the value before it: error_wrap(err, "--time=%s", arg) makes "--time=5x: the units ...".
 * Formatters return `buf`.
 */
#ifndef COMMON_UNITS_H
#define COMMON_UNITS_H

#include <stdint.h>

#include "common/base/error.h"

#define DURATION_FOREVER UINT64_MAX /* of "infinite" and "unlimited", in any unit */
#define UNITS_TEXT       40         /* enough for every formatter here */

/* What a number without a unit is taken for. */
enum size_bare { SIZE_BARE_REFUSED = 0, SIZE_BARE_MB = 'M' };
enum duration_bare { DURATION_BARE_REFUSED = 0, DURATION_BARE_S = 1, DURATION_BARE_MINUTES = 60 };

/* "80G" in bytes; "0" never needs a unit. */
int size_parse(const char *text, enum size_bare bare, uint64_t *bytes, struct error *err);

/* The same in MiB, rounded up. */
int size_parse_mb(const char *text, enum size_bare bare, uint64_t *mb, struct error *err);

/* "2-00:00:00" in seconds or DURATION_FOREVER; milliseconds that are no whole second are refused.
 * sbatch's --time is DURATION_BARE_MINUTES. */
int duration_parse(const char *text, enum duration_bare bare, uint64_t *s, struct error *err);

/* The same in milliseconds. */
int duration_parse_ms(const char *text, enum duration_bare bare, uint64_t *ms, struct error *err);

/* "25%" as 25; the sign is needed. */
int percent_parse(const char *text, uint32_t *percent, struct error *err);

/* A count: digits alone, `min` to `max`. */
int count_parse(const char *text, uint64_t min, uint64_t max, uint64_t *count, struct error *err);

/* For tables: "24G", "1.7T", "512M", "0"; rounded to the nearest, one decimal below 10. */
char *size_format(char buf[UNITS_TEXT], uint64_t bytes);
char *size_format_mb(char buf[UNITS_TEXT], uint64_t mb);

/* What is left or available: rounded down, so that a request for the displayed amount succeeds. */
char *size_format_left(char buf[UNITS_TEXT], uint64_t mb);

/* The requested size and the largest available one (rounded down); in MiB if both would read the
 * same after rounding. */
void size_format_two(
        char asked[UNITS_TEXT], char most[UNITS_TEXT], uint64_t asked_mb, uint64_t most_mb);

/* A share of a GPU, requested or given, in MiB and thousandths: "20G", "25%", "20G,12.5%"; 0 and
 * 0: "". */
char *share_format(char buf[UNITS_TEXT], uint64_t mb, uint32_t milli);

/* For files that are read again: the largest unit that divides it ("1536G"); bytes that are no
 * whole K stay a number without a unit. */
char *size_format_exact(char buf[UNITS_TEXT], uint64_t bytes);

/* For tables, as squeue has it: "0:41", "7:06:50", "2-00:00:00", "UNLIMITED". */
char *duration_format(char buf[UNITS_TEXT], uint64_t s);

/* For files that are read again: "250ms", "90s", "20m", from one hour a clock: "4:00:00",
 * "2-00:00:00"; "unlimited". */
char *duration_format_exact(char buf[UNITS_TEXT], uint64_t ms);

#endif
