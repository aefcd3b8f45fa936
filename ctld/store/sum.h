/* sum.h - the sum of a file that holds its own sum
 *
 * A backup says in a row of its own (sql_sum_get) what its bytes add up to, so that one bit that
 * has fallen over anywhere in it is found, which no check of SQLite's does. The sum is BLAKE2b-256
 * of the whole file, as hex digits, taken with '0' in place of these digits themselves. They lie
 * within one page, as a short row does.
 */
#ifndef CTLD_STORE_SUM_H
#define CTLD_STORE_SUM_H

#include <sys/types.h>

#include "common/error.h"

#define SUM_TEXT 65 /* hex digits, and the NUL */

struct sum;

/* Digits that stand nowhere in the file yet. */
void sum_placeholder(char digits[SUM_TEXT]);

/* Of the file that is open, from its beginning, with the places where `digits` stand as if they
 * were '0'. `fd` is borrowed. */
struct sum *sum_new(int fd, const char digits[SUM_TEXT]);
void sum_free(struct sum *sum); /* NULL is fine */

/* Read the next MiB. 1: there is more; 0: that was all; -1. */
int sum_step(struct sum *sum, struct error *err);

/* At the end: the sum; where the digits stood last, and how often they did. */
void sum_result(const struct sum *sum, char text[SUM_TEXT], off_t *place, unsigned *times);

#endif
