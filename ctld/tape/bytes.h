/* bytes.h - numbers and texts as bytes, and back
 *
 * Numbers are written seven bits a byte, low bits first, the eighth saying that more follow; signed
 * ones with their sign in the lowest bit, so that what is near 0 is short. A text is its length
 * plus 1, its bytes and a NUL, so that it can be used where it lies; NULL is 0.
 *
 * A reader never reads past its end. What cannot be read makes it bad, for good: everything read
 * after that is 0, "" or NULL, and one look at `bad` at the end is enough.
 */
#ifndef CTLD_TAPE_BYTES_H
#define CTLD_TAPE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	uint8_t *v; /* owned */
	size_t n, size;
};

void bytes_raw(struct bytes *b, const void *p, size_t n);
void bytes_u64(struct bytes *b, uint64_t x);
void bytes_i64(struct bytes *b, int64_t x);
void bytes_text(struct bytes *b, const char *s); /* NULL is fine */
void bytes_free(struct bytes *b);

struct taker {
	const uint8_t *p, *end; /* borrowed */
	bool bad;
};

const void *take_raw(struct taker *t, size_t n); /* NULL: there is not so much */
uint64_t take_u64(struct taker *t);
uint64_t take_up_to(struct taker *t, uint64_t max); /* more is bad */
int64_t take_i64(struct taker *t);
const char *take_text(struct taker *t); /* borrowed from the bytes; NULL as it was, or bad */
size_t take_left(const struct taker *t);

#endif
