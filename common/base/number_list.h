/* number_list.h - lists of numbers for people: "2,3,6,7", "0-41,44" */
#ifndef COMMON_NUMBER_LIST_H
#define COMMON_NUMBER_LIST_H

#include <stddef.h>
#include <stdint.h>

#define NUMBERS_TEXT 256 /* for up to 64 numbers below 64 */

/* Ascending ones; three and more in a row become a range. Returns `text`, which is cut at `size`.
 */
char *numbers_format(char *text, size_t size, const uint32_t *v, size_t n);

/* The same of a set of bits. */
char *numbers_format_set(char *text, size_t size, uint64_t set);

#endif
