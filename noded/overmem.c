/* overmem.c - see overmem.h */
#include "noded/overmem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "noded/used.h"

#define SIZE_TEXT 32

static const char *const words[] = {
	[OVERMEM_NOTE] = "note",
	[OVERMEM_WARN] = "warn",
	[OVERMEM_END] = "end",
};

int overmem_parse(const char *word, enum overmem_policy *out, struct error *err)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(words[i], word) == 0) {
			*out = (enum overmem_policy)i;
			return 0;
		}
	}
	return error_set(err, ERR_USAGE, "'%.40s' is none of " OVERMEM_WORDS, word);
}

int overmem_find(const struct used_gpu *gpus, size_t n, uint64_t allowed_mb)
{
	int worst = -1;

	for (size_t i = 0; allowed_mb && i < n; i++) {
		if (gpus[i].own_mb > allowed_mb &&
		        (worst < 0 || gpus[i].own_mb > gpus[worst].own_mb))
			worst = (int)i;
	}
	return worst;
}

/* To the tenth always: 20.1G of 20G must not read as 20G of 20G. */
static const char *size_text(char out[SIZE_TEXT], uint64_t mb)
{
	uint64_t tenths = (mb * 10 + 512) / 1024;

	if (mb < 1024)
		snprintf(out, SIZE_TEXT, "%" PRIu64 "M", mb);
	else if (tenths % 10)
		snprintf(out, SIZE_TEXT, "%" PRIu64 ".%" PRIu64 "G", tenths / 10, tenths % 10);
	else
		snprintf(out, SIZE_TEXT, "%" PRIu64 "G", tenths / 10);
	return out;
}

void overmem_text(char out[OVERMEM_TEXT], const struct used_gpu *gpu, uint64_t allowed_mb)
{
	char used[SIZE_TEXT], allowed[SIZE_TEXT];

	size_text(used, gpu->own_mb);
	size_text(allowed, allowed_mb);
	if (strcmp(used, allowed) == 0) {
		snprintf(used, sizeof(used), "%" PRIu64 "M", gpu->own_mb);
		snprintf(allowed, sizeof(allowed), "%" PRIu64 "M", allowed_mb);
	}
	snprintf(out, OVERMEM_TEXT, "used %s of %s of GPU %" PRIu32, used, allowed, gpu->index);
}
