/* text_numbers.h - texts by number: the users, accounts and partitions of a history
 *
 * The first text is 0, the next new one 1, and so on; none leaves.
 */
#ifndef GSIM_TEXT_NUMBERS_H
#define GSIM_TEXT_NUMBERS_H

#include <stdint.h>

struct text_numbers;

struct text_numbers *text_numbers_new(void);
void text_numbers_free(struct text_numbers *n); /* NULL is fine */

uint32_t text_numbers_get(struct text_numbers *n, const char *text); /* a new one if need be */
const char *text_numbers_text(const struct text_numbers *n, uint32_t number);

#endif
