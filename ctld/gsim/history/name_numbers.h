/* name_numbers.h - texts by number: the users, accounts and partitions of a history
 *
 * The first text is 0, the next new one 1, and so on; none leaves.
 */
#ifndef GSIM_NAME_NUMBERS_H
#define GSIM_NAME_NUMBERS_H

#include <stdint.h>

struct names;

struct names *names_new(void);
void names_free(struct names *n); /* NULL is fine */

uint32_t names_number(struct names *n, const char *text); /* a new one if need be */
const char *names_text(const struct names *n, uint32_t number);

#endif
