/* gpu_type.c - what GPUs are called: see gpus.h */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "noded/gpu/gpus.h"

/* NVIDIA's product names, the first that matches. To add one: a row, a line in test_gpus.c. */
static const struct {
	const char *pattern, *type;
} products[] = {
	{ "NVIDIA GB300*", "gb300" },
	{ "NVIDIA GB200*", "gb200" },
	{ "NVIDIA B300*", "b300" },
	{ "NVIDIA B200*", "b200" },
	{ "NVIDIA B100*", "b100" },
	{ "NVIDIA GH200*", "gh200" },
	{ "NVIDIA H200*", "h200" },
	{ "NVIDIA H100*", "h100" },
	{ "NVIDIA H800*", "h800" },
	{ "NVIDIA H20*", "h20" },
	{ "NVIDIA A100*", "a100" },
	{ "A100-*", "a100" },
	{ "NVIDIA A800*", "a800" },
	{ "NVIDIA A40*", "a40" },
	{ "NVIDIA A30*", "a30" },
	{ "NVIDIA A10G*", "a10g" },
	{ "NVIDIA A10*", "a10" },
	{ "NVIDIA A16*", "a16" },
	{ "NVIDIA A2", "a2" },
	{ "NVIDIA L40S*", "l40s" },
	{ "NVIDIA L40*", "l40" },
	{ "NVIDIA L20*", "l20" },
	{ "NVIDIA L4", "l4" },
	{ "NVIDIA RTX PRO 6000*", "rtxpro6000" },
	{ "NVIDIA RTX 6000 Ada*", "rtx6000ada" },
	{ "NVIDIA RTX A6000*", "rtxa6000" },
	{ "*Tesla V100*", "v100" },
	{ "*Tesla P100*", "p100" },
	{ "*Tesla T4*", "t4" },
};

/* Before a product's own name. */
static const char *const makers[] = { "NVIDIA ", "Tesla ", "GeForce " };

static const char *skip_makers(const char *product)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++) {
		if (strncmp(product, makers[i], strlen(makers[i])) == 0)
			product += strlen(makers[i]);
	}
	return product;
}

/* Letters, digits, "." and what is in `also` stay; whatever is between them becomes one "-". */
static void make_slug(const char *text, const char *also, char type[GPUS_TYPE])
{
	size_t n = 0;

	for (; *text && n < GPUS_TYPE - 1; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 128 && (isalnum(c) || (n && (c == '.' || strchr(also, c)))))
			type[n++] = (char)tolower(c);
		else if (n && type[n - 1] != '-')
			type[n++] = '-';
	}
	while (n && strchr("-.+", type[n - 1]))
		n--;
	type[n] = '\0';
}

void gpu_type_of(const char *product, char type[GPUS_TYPE])
{
	char slug[GPUS_TYPE];

	for (size_t i = 0; i < sizeof(products) / sizeof(*products); i++) {
		if (fnmatch(products[i].pattern, product, 0) == 0) {
			snprintf(type, GPUS_TYPE, "%s", products[i].type);
			return;
		}
	}
	make_slug(skip_makers(product), "", slug);
	/* Digits alone mean a number of GPUs, "any" any type. */
	if (*slug && (gpus_by_type_check(slug, NULL) < 0))
		snprintf(type, GPUS_TYPE, "gpu-%.*s", GPUS_TYPE - 5, slug);
	else
		snprintf(type, GPUS_TYPE, "%s", slug);
}

void gpu_type_of_mig(const char *product, uint32_t slices, uint32_t compute_slices, uint64_t mem_mb,
        char type[GPUS_TYPE])
{
	const char *profile = strstr(product, " MIG ");
	unsigned gb = (unsigned)((mem_mb + 1023) / 1024); /* 9856 MiB are sold as 10 GB */

	if (profile)
		make_slug(profile + 5, "+", type); /* 1g.24gb+me is not 1g.24gb-me */
	else if (!slices || !mem_mb)
		type[0] = '\0';
	else if (compute_slices && compute_slices != slices)
		snprintf(type, GPUS_TYPE, "%uc.%ug.%ugb", compute_slices, slices, gb);
	else
		snprintf(type, GPUS_TYPE, "%ug.%ugb", slices, gb);
}
