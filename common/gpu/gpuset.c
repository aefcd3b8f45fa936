/* gpuset.c - see gpuset.h */
#include "common/gpu/gpuset.h"

#include <stdlib.h>
#include <string.h>

static int number_read(const char **text, unsigned *n, struct error *err)
{
	size_t len = strspn(*text, "0123456789");

	if (!len)
		return error_set(err, ERR_CONFIG, "must be numbers of GPUs, as in \"0-3,6\"");
	*n = len > 4 ? GPUSET_MAX : (unsigned)strtoul(*text, NULL, 10);
	if (*n >= GPUSET_MAX)
		return error_set(err, ERR_CONFIG, "GPUs have the numbers 0 to %d",
		        GPUSET_MAX - 1);
	*text += len;
	return 0;
}

int gpuset_read(const char *text, uint64_t *set, struct error *err)
{
	unsigned first, last;

	for (*set = 0;; text++) {
		if (number_read(&text, &first, err) < 0)
			return -1;
		last = first;
		if (*text == '-' && (text++, number_read(&text, &last, err) < 0))
			return -1;
		if (last < first)
			return error_set(
			        err, ERR_CONFIG, "%u-%u: must be %u-%u", first, last, last, first);
		for (; first <= last; first++) {
			if (*set >> first & 1)
				return error_set(err, ERR_CONFIG, "GPU %u is there twice", first);
			*set |= 1ULL << first;
		}
		if (!*text)
			return 0;
		if (*text != ',')
			return error_set(
			        err, ERR_CONFIG, "must be numbers of GPUs, as in \"0-3,6\"");
	}
}

void gpuset_print(uint64_t set, struct strbuf *out)
{
	const char *before = "";

	for (unsigned first = 0, last; first < 64; first = last + 1, before = ",") {
		while (first < 64 && !(set >> first & 1))
			first++;
		if (first == 64)
			return;
		for (last = first; last < 63 && set >> (last + 1) & 1;)
			last++;
		strbuf_addf(out, first == last ? "%s%u" : "%s%u-%u", before, first, last);
	}
}
