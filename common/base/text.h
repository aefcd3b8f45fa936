/* text.h - text that people gave us, and where it may go
 *
 * Names, reasons and labels come from users and end up in logs, terminals and other people's
 * screens. What is stored is checked once, on its way in (text_check); what is shown is escaped
 * on its way out (text_escape), whether it was checked or not.
 *
 * Plain text is valid UTF-8 without anything that moves a cursor, ends a line or turns the reading
 * direction: no C0 or C1 control characters, no DEL, no line or paragraph separator (U+2028/9), no
 * bidirectional override or isolate (U+202A..E, U+2066..9).
 */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* The length of the longest plain beginning of the `n` bytes at `s`: `n` if all of it is plain. */
size_t text_plain_prefix(const char *s, size_t n);

/* Refuse `s` unless it is plain and has at most `max` bytes (the empty text is fine). `what` names
 * it in the error ("job name"); the value is shown escaped. ERR_USAGE. */
int text_check(const char *what, const char *s, size_t max, struct error *err);

/* Write the `n` bytes at `s` into `buf`, each byte that is not part of plain text as \xNN, cut
 * between characters so that it fits in `size` bytes with its NUL; what is cut ends in "...".
 * A backslash stays as it is. Returns the length written. size must be at least 8. */
size_t text_escape(char *buf, size_t size, const char *s, size_t n);

/* The same for a whole string of any length; the caller frees it. */
char *text_escape_dup(const char *s);

/* Take what stands between white space (the C locale's) off both ends, in place. */
char *text_trim(char *s);

/* The entry of `names` (NULL at its end) most like `word`, or NULL if none is like it: at most a
 * third of its letters to change, add, drop or swap. For "did you mean". */
const char *text_nearest(const char *word, const char *const *names);

/* Is `s` one of the `n` texts at `v`? */
bool text_among(const char *s, const char *const *v, size_t n);

/* Is the whole of `s` like the pattern: "*" is any number of characters, "?" any one of them? */
bool text_like(const char *pattern, const char *s);

#endif
