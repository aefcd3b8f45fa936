/* sum.c - see sum.h */
#include "ctld/store/sum.h"

#include <errno.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/xalloc.h"

#define SLICE  ((size_t)1 << 20) /* whole pages: digits never lie in two */
#define DIGITS (SUM_TEXT - 1)

struct sum {
	int fd;
	char digits[SUM_TEXT];
	crypto_generichash_state state;
	off_t at, place;
	unsigned times;
	char buf[SLICE];
};

static void as_text(char text[SUM_TEXT], const uint8_t hash[crypto_generichash_BYTES])
{
	sodium_bin2hex(text, SUM_TEXT, hash, crypto_generichash_BYTES);
}

void sum_placeholder(char digits[SUM_TEXT])
{
	uint8_t chance[crypto_generichash_BYTES];

	randombytes_buf(chance, sizeof(chance));
	as_text(digits, chance);
}

struct sum *sum_new(int fd, const char digits[SUM_TEXT])
{
	struct sum *sum = xcalloc(1, sizeof(*sum));

	sum->fd = fd;
	memcpy(sum->digits, digits, SUM_TEXT);
	crypto_generichash_init(&sum->state, NULL, 0, crypto_generichash_BYTES);
	return sum;
}

void sum_free(struct sum *sum)
{
	free(sum);
}

static void blank(struct sum *sum, size_t n)
{
	char *from = sum->buf, *found;

	while ((found = memmem(from, n - (size_t)(from - sum->buf), sum->digits, DIGITS))) {
		memset(found, '0', DIGITS);
		sum->place = sum->at + (found - sum->buf);
		sum->times++;
		from = found + DIGITS;
	}
}

int sum_step(struct sum *sum, struct error *err)
{
	size_t n = 0;

	while (n < SLICE) {
		ssize_t got = pread(sum->fd, sum->buf + n, SLICE - n, sum->at + (off_t)n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, ERR_SYSTEM, "read: %s", strerror(errno));
		if (got == 0)
			break;
		n += (size_t)got;
	}
	blank(sum, n);
	crypto_generichash_update(&sum->state, (const uint8_t *)sum->buf, n);
	sum->at += (off_t)n;
	return n == SLICE;
}

void sum_result(const struct sum *sum, char text[SUM_TEXT], off_t *place, unsigned *times)
{
	crypto_generichash_state state = sum->state;
	uint8_t hash[crypto_generichash_BYTES];

	crypto_generichash_final(&state, hash, sizeof(hash));
	as_text(text, hash);
	*place = sum->place;
	*times = sum->times;
}
