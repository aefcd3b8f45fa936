/* gpu_memory_limit.c - see gpu_memory_limit.h */
#include "noded/usage/gpu_memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "noded/usage/usage_per_run.h"

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

uint64_t overmem_allowed(uint64_t share_mb, uint64_t burst_mb, uint64_t gpu_mb, uint64_t others_mb)
{
	uint64_t left;

	if (burst_mb <= share_mb)
		return share_mb;
	if (!gpu_mb)
		return burst_mb;
	left = gpu_mb > others_mb ? gpu_mb - others_mb : 0;
	return left < share_mb ? share_mb : left < burst_mb ? left : burst_mb;
}

static uint64_t beyond(const struct used_gpu *gpu)
{
	if (!gpu->allowed_mb || gpu->own_mb <= gpu->allowed_mb || gpu->asked_back)
		return 0;
	return gpu->own_mb - gpu->allowed_mb;
}

int overmem_find(const struct used_gpu *gpus, size_t n)
{
	int worst = -1;

	for (size_t i = 0; i < n; i++) {
		if (beyond(&gpus[i]) && (worst < 0 || beyond(&gpus[i]) > beyond(&gpus[worst])))
			worst = (int)i;
	}
	return worst;
}

/* Always with one decimal: 20.1G of 20G must not read as 20G of 20G. */
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

void overmem_text(char out[OVERMEM_TEXT], const struct used_gpu *gpu, uint64_t burst_mb)
{
	char used[SIZE_TEXT], allowed[SIZE_TEXT], burst[SIZE_TEXT];
	size_t n;

	size_text(used, gpu->own_mb);
	size_text(allowed, gpu->allowed_mb);
	if (strcmp(used, allowed) == 0) {
		snprintf(used, sizeof(used), "%" PRIu64 "M", gpu->own_mb);
		snprintf(allowed, sizeof(allowed), "%" PRIu64 "M", gpu->allowed_mb);
	}
	n = (size_t)snprintf(
	        out, OVERMEM_TEXT, "used %s of %s of GPU %" PRIu32, used, allowed, gpu->index);
	if (gpu->allowed_mb < burst_mb && n < OVERMEM_TEXT)
		snprintf(out + n, OVERMEM_TEXT - n, "; others have the rest of its burst of %s",
		        size_text(burst, burst_mb));
}
